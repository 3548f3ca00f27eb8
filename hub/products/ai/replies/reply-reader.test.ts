import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ReplyReader } from './reply-reader.ts';
import { parseAnswer } from './request-answer.ts';

const read = (pieces: readonly string[]) => {
  const reader = new ReplyReader();
  const seen: string[] = [];
  for (const piece of pieces) {
    reader.push(piece);
    seen.push(reader.reply);
  }
  return { reader, seen };
};

const reply = 'He said "hi" \\ / \b\f\n\r\t, {not: a key}, é 漢字 👩‍👩‍👧 𝒳, and "reply": "no"';
const answer = {
  action: 'answer',
  reason: 'a "reply": {',
  sources: ['a]', '}b', 'c\\"'],
  reply,
  more: [{ reply: 'x' }],
};
const escaped = (text: string) =>
  text.replaceAll(/[^\u0020-\u007e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
const texts = [
  JSON.stringify(answer),
  JSON.stringify(answer, null, 2),
  escaped(JSON.stringify(answer)),
  `Here it is:\n\`\`\`json\n${JSON.stringify(answer)}\n\`\`\``,
];

test.each(texts)('the reader returns the same reply wherever the stream is cut, and only received text: %#', (text) => {
  for (let first = 0; first <= text.length; first += 1) {
    const { reader, seen } = read([text.slice(0, first), text.slice(first)]);
    expect(reader.reply).toBe(reply);
    expect(reader.fields).toMatchObject({ action: 'answer', sources: answer.sources });
    expect(reply.startsWith(seen[0] as string)).toBe(true);
    // A reply never ends within a surrogate pair.
    expect((seen[0] as string).isWellFormed()).toBe(true);
  }
  const { seen } = read(text.split(''));
  expect(seen.at(-1)).toBe(reply);
  for (const [index, now] of seen.entries()) expect(now.startsWith(seen[index - 1] ?? '')).toBe(true);
});

test('the reader returns any reply unchanged, whatever the cuts', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.array(fc.nat(60), { maxLength: 12 }),
      fc.boolean(),
      (content, cuts, isEscaped) => {
        const whole = JSON.stringify({ action: 'answer', reply: content, sources: [] });
        const text = isEscaped ? escaped(whole) : whole;
        const offsets = [0, ...cuts.map((cut) => Math.min(cut, text.length)).toSorted((a, b) => a - b), text.length];
        const { reader } = read(offsets.slice(1).map((end, index) => text.slice(offsets[index], end)));
        expect(reader.reply).toBe(content);
        expect(reader.fields['action']).toBe('answer');
      },
    ),
  );
});

test('the reader accepts invalid input to its end without throwing', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('{', '}', '"', 'reply', ':', ',', '[', ']', '\\', 'u', 'a', ' ') }),
      (text) => {
        const { reader } = read(text.split(''));
        expect(typeof reader.reply).toBe('string');
        const parsed = parseAnswer(text);
        expect(parsed === null || typeof parsed.reply === 'string').toBe(true);
      },
    ),
  );
});

test('parseAnswer accepts an answer in a code fence and rejects other shapes', () => {
  expect(parseAnswer(texts[3] as string)).toMatchObject({ action: 'answer', reply });
  for (const rubbish of [
    '',
    'hello',
    '{}',
    '{"reply":"x"}',
    '{"action":"obey","reply":"x"}',
    '{"action":"answer","reply":" "}',
    '{"action":"answer","reply":"\\ud800"}',
    '{"action":"answer","reply":5}',
    '{"action":"answer","reply":"cut',
  ])
    expect(parseAnswer(rubbish), rubbish).toBeNull();
});

/** Counts the characters that `charAt` reads and those that `slice` copies. */
function countCharacterAccess(work: () => void) {
  const counted = { reads: 0, copied: 0 };
  const { charAt, slice } = String.prototype;
  const put = (methods: Pick<string, 'charAt' | 'slice'>) => void Object.assign(String.prototype, methods);
  put({
    charAt(this: string, at) {
      counted.reads += 1;
      return charAt.call(this, at);
    },
    slice(this: string, from, to) {
      const part = slice.call(this, from, to);
      counted.copied += part.length;
      return part;
    },
  });
  try {
    work();
  } finally {
    put({ charAt, slice });
  }
  return counted;
}

test('the reader reads each character once when the answer arrives one character at a time', () => {
  const size = 60_000;
  const long = 'read '.repeat(100);
  for (const [text, minReads] of [
    [`{"action":"answer","reason":"${'r'.repeat(size)}","reply":"${long}"}`, size],
    [`{"action":"answer","sources":[${'"s",'.repeat(size / 4)}"s"],"reply":"${long}"}`, size],
    [`{"${'k'.repeat(size)}":1,"reply":"${long}"}`, size],
    [`${' '.repeat(size)}{"reply":"${long}"}`, 0],
  ] as const) {
    const reader = new ReplyReader();
    const { reads, copied } = countCharacterAccess(() => {
      for (const character of text) reader.push(character);
    });
    expect(reader.reply).toMatch(/^read /);
    expect(reads).toBeGreaterThanOrEqual(minReads);
    expect(reads).toBeLessThan(1.5 * text.length);
    // Copying the whole text for each character would copy half of the squared length.
    expect(copied).toBeLessThan(text.length ** 2 / 5);
  }
});
