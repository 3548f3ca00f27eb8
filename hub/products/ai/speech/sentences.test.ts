import { expect, onTestFinished, test, vi } from 'vitest';
import { splitSentences, SentenceSplitter } from './sentences.ts';

test.each([
  ['en', 'It costs 3.50, Mr. Smith. See https://example.com/a?b=c.d for more! OK?', 3],
  ['de', 'Am 3. Oktober um 9.30 Uhr, z. B. für Dr. Müller. Kommen Sie? Ja!', 3],
  ['ja', '営業時間は九時からです。土曜日は休みです！ご質問は？', 3],
  ['zh', '我们九点开门。周六休息。', 2],
  ['ar', 'هل يمكنني المساعدة؟ نعم.', 2],
  ['hi', 'नमस्ते। हम नौ बजे खुलते हैं।', 2],
  ['th', 'ร้านเปิดเก้าโมง', 1],
  ['el', 'Είμαστε εδώ. Ελάτε!', 2],
  ['not a language', 'One. 😀 Two…\nThree', 3],
  [undefined, '... ! 😀', 1],
  [undefined, '', 0],
])('text in %s is split only at the ends of sentences, without loss: %s', (language, text, count) => {
  const pieces = splitSentences(text, language);
  expect(pieces.join('')).toBe(text);
  expect(pieces).toHaveLength(count);
  const splitter = new SentenceSplitter(language);
  const whole = [...text].flatMap((part) => splitter.push(part));
  expect([...whole, splitter.end()].filter((piece) => piece !== '')).toEqual(pieces);
});

test('a long sentence is split at clauses, else between words, and never within a character', () => {
  for (const [text, end] of [
    ['when it rains, '.repeat(40), /, $/],
    ['word '.repeat(200), / $/],
    ['長'.repeat(500), /長$/],
    ['🚣'.repeat(300), /🚣$/u],
    ['a'.repeat(1_000), /a$/],
  ] as const) {
    const pieces = splitSentences(text);
    expect(pieces.join('')).toBe(text);
    for (const piece of pieces) {
      expect(piece.trimEnd().length).toBeLessThanOrEqual(240);
      expect(piece.isWellFormed()).toBe(true);
      expect(piece).toMatch(end);
    }
    expect(pieces.length).toBeLessThanOrEqual(Math.ceil(text.length / 100));
  }
});

test.each(['\n\n\n\n', ' \n', '.', '! ', 'J. ', 'Hi.\n', 'a', '長'])(
  'an endless text is segmented a few hundred characters at a time, whatever it repeats: %j',
  (unit) => {
    let segmented = 0;
    const segment = Intl.Segmenter.prototype.segment;
    const spy = vi.spyOn(Intl.Segmenter.prototype, 'segment').mockImplementation(function (this: Intl.Segmenter, text) {
      segmented += text.length;
      return segment.call(this, text);
    });
    onTestFinished(() => spy.mockRestore());
    const parts = Array.from({ length: 1_000 }, () => unit);
    for (const input of [parts, [parts.join('')]]) {
      segmented = 0;
      const splitter = new SentenceSplitter();
      const pieces = ['Hi', ...input].flatMap((part) => splitter.push(part));
      expect([...pieces, splitter.end()].join('').replaceAll(/\s/g, '')).toBe(
        `Hi${parts.join('')}`.replaceAll(/\s/g, ''),
      );
      expect(segmented).toBeLessThan(input.length * 1_000 + 10_000);
    }
  },
);
