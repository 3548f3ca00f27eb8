import { describe, expect, test } from 'vitest';
import { toSpokenText } from '../../../../shared/spoken-text.ts';
import { hostileTexts } from '../../../../test/fixtures/hostile-texts.ts';
import { estimateTokens } from '../../../platform/inference/token-estimate.ts';
import { newApiKey } from '../../../platform/secrets/api-keys.ts';
import { buildPrompt, contextTokensOf, readAnswer } from './index.ts';
import type { PromptParts } from './index.ts';

const passage = (id: string, answer = 'Within 30 days.', url: string | null = null) => ({
  id,
  question: 'May I return it?',
  answer,
  url,
  score: 1,
});
const build = (parts: Partial<PromptParts>) =>
  buildPrompt({ task: 'Answer.', input: 'Why?', contextTokens: 8_192, ...parts });
const tokensOf = ({ instructions, messages }: ReturnType<typeof build>) =>
  estimateTokens(instructions) + messages.reduce((sum, { content }) => sum + estimateTokens(content), 0);

describe('a prompt', () => {
  test('ends with the question after all quotations and names the language', () => {
    const { instructions, messages, cut, passages } = build({
      locale: 'pt-BR',
      terms: 'We are a shop.',
      passages: [passage('returns')],
      facts: [{ what: 'the name of the visitor', text: 'Ada' }],
      context: 'Ordered on Monday.',
      turns: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
      ],
    });
    expect(instructions).toContain('Brazilian Portuguese (pt-BR)');
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    const asked = messages.at(-1)?.content.split('\n') ?? [];
    expect(asked.filter((line) => line.startsWith('| '))).toEqual([
      '| Ada',
      '| We are a shop.',
      '| May I return it?',
      '| Within 30 days.',
      '| Ordered on Monday.',
    ]);
    expect(asked.at(-1)).toBe('Why?');
    expect([cut, passages.map(({ id }) => id)]).toEqual([[], ['returns']]);
  });

  test.each(['context', 'terms', 'fact', 'passage'] as const)(
    'quotes every line of hostile text in the %s',
    (place) => {
      for (const { name, text } of hostileTexts) {
        const { messages, instructions } = build({
          contextTokens: 200_000,
          ...(place === 'context' ? { context: text } : {}),
          ...(place === 'terms' ? { terms: text } : {}),
          ...(place === 'fact' ? { facts: [{ what: 'the name of a file', text }] } : {}),
          ...(place === 'passage' ? { passages: [passage('p', text)] } : {}),
        });
        const lines = (messages[0]?.content ?? '').split('\n');
        const [mark] = /[0-9a-f]{24}/.exec(instructions) ?? [''];
        const loose = lines.filter((line) => !line.startsWith('| ') && !line.includes(mark) && line !== '');
        expect([name, loose]).toEqual([name, ['Why?']]);
        expect(lines.filter((line) => line.startsWith('end'))).toEqual([`end ${mark}`]);
      }
    },
  );

  test('cuts the context first, then passages and turns but never the question, and describes the cuts', () => {
    const long = 'Wir öffnen um neun. '.repeat(1_200);
    const one = build({ context: long });
    expect(one.cut).toEqual([expect.stringMatching(/^The context was cut after [\d,]+ of 24,000 characters\.$/)]);
    expect(one.messages[0]?.content).toContain('its end is missing');
    const many = build({
      context: long,
      passages: Array.from({ length: 8 }, (_, index) => passage(`p${index}`, long.slice(0, 5_000))),
      turns: Array.from({ length: 30 }, () => ({ role: 'user' as const, content: long.slice(0, 600) })),
      terms: long,
      input: long.slice(0, 4_000),
    });
    expect(many.cut.join(' ')).toMatch(
      /earlier messages .*The terms were cut .*passages of the knowledge .*The context was cut/,
    );
    expect(
      many.messages.at(-1)?.content.endsWith(long.slice(0, 4_000).trimEnd()) ||
        many.messages.at(-1)?.content.endsWith(long.slice(0, 4_000)),
    ).toBe(true);
    expect(many.passages.length).toBeLessThan(8);
  });

  test.each([
    ['English', 'We open at nine. '],
    ['Chinese', '我们九点开门，下午六点关门。'],
    ['emoji', '👩‍🚀🎉'],
    ['code', 'if(a[0]!==b){c=>{d??=e}}\n'],
    ['blank lines', '\n'],
    ['digits', '0123456789 '],
  ])('fits the context of the model when it is filled with %s', (_what, unit) => {
    const fill = (length: number) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
    for (const contextTokens of [4_096, 8_192, 128_000]) {
      const prompt = build({
        contextTokens,
        input: fill(4_000),
        context: fill(24_000),
        terms: fill(50_000),
        passages: Array.from({ length: 8 }, (_, index) => passage(`p${index}`, fill(3_000))),
        turns: Array.from({ length: 50 }, () => ({ role: 'user' as const, content: fill(2_000) })),
      });
      expect(tokensOf(prompt) + prompt.maxOutputTokens).toBeLessThanOrEqual(contextTokens);
      expect(prompt.messages.every(({ content }) => content.isWellFormed())).toBe(true);
    }
  });

  test('contains no pasted key of a hub, and the filtered answer contains none either', () => {
    const keys = [
      newApiKey('ai', 'live').key,
      newApiKey('chat', 'test').key,
      `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
      `cvt_${Buffer.alloc(32, 7).toString('base64url')}`,
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg',
    ];
    const text = keys.map((key) => `It is ${key}.`).join('\n');
    const prompt = build({ input: text, context: text, terms: text, passages: [passage('p', text)] });
    const all = JSON.stringify([prompt.instructions, prompt.messages]);
    for (const key of keys) {
      expect(all).not.toContain(key);
      expect(readAnswer(prompt, text)).not.toContain(key);
      const marked = `${key.slice(0, -9)}**${key.slice(-9)}**`;
      expect(toSpokenText(readAnswer(prompt, marked))).not.toContain(key);
    }
  });

  test('allows only addresses of the business and of the question in the answer', () => {
    const parts = {
      input: 'Is https://asked.example/x yours?',
      terms: 'See https://terms.example/t.',
      passages: [passage('p', 'At https://known.example/k', 'https://known.example/url')],
      context: 'https://stranger.example/s',
    };
    const answer =
      'https://asked.example/x https://terms.example/t https://known.example/url https://stranger.example/s';
    expect(readAnswer(build(parts), answer)).toBe(answer.replace('https://stranger.example/s', '[link removed]'));
    expect(readAnswer(build({ ...parts, trustsLinksOfContext: true }), answer)).toBe(answer);
  });
});

test.each([
  [['gpt-4o-mini'], 128_000],
  [['openai/gpt-5'], 128_000],
  [['claude-sonnet-4-5', 'gpt-4'], 8_192],
  [['llama3.2:3b'], 8_192],
  [[], 8_192],
])('the context size of %j is that of the smallest model', (models, tokens) => {
  expect(contextTokensOf(models)).toBe(tokens);
});
