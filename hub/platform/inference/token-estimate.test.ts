import fc from 'fast-check';
import { expect, test } from 'vitest';
import { estimateTokens } from './token-estimate.ts';

const chinese = '我们的商店周一至周五上午九点到下午六点营业，退货须在三十天内提出，请附上发票。';

/** The larger of the token counts by cl100k_base and o200k_base. */
test.each([
  ['Chinese', chinese, 42],
  ['Japanese', '営業時間は月曜日から金曜日の午前九時から午後六時までです。', 31],
  ['Korean', '영업시간은 월요일부터 금요일까지 오전 아홉시부터 오후 여섯시까지입니다.', 40],
  ['Thai', 'ร้านของเราเปิดวันจันทร์ถึงวันศุกร์', 31],
  ['emoji', '😀🎉👨‍👩‍👧‍👦🏴‍☠️🇩🇪👍🏽✨', 45],
  ['code', 'for (const [key, value] of Object.entries(x ?? {})) if (value !== null) yield { key, value };', 27],
  ['English', 'We open at nine in the morning and close at six, from Monday to Friday.', 17],
  ['German', 'Rückgaben müssen binnen dreißig Tagen nach Erhalt schriftlich erklärt werden.', 20],
  ['digits', '4111 1111 1111 1111 2026-11-22T17:03:55Z', 25],
])('the estimate for %s is at least its token count and less than four times as large', (_what, text, tokens) => {
  expect(estimateTokens(text)).toBeGreaterThanOrEqual(tokens);
  // A larger estimate would leave much of a context window unused.
  expect(estimateTokens(text)).toBeLessThan(4 * tokens);
});

test('the estimate of a concatenation is within one token of the bounds of its parts', () => {
  const any = fc.string({ unit: 'binary', maxLength: 30 });
  fc.assert(
    fc.property(any, any, (text, more) => {
      expect(estimateTokens(text + more)).toBeGreaterThanOrEqual(estimateTokens(text) - 1);
      expect(estimateTokens(text + more)).toBeLessThanOrEqual(estimateTokens(text) + estimateTokens(more) + 1);
    }),
  );
});
