import fc from 'fast-check';
import { expect, test } from 'vitest';
import { foldText } from '../../../platform/words.ts';
import { highlightsOf, maxPlaces } from './highlights.ts';
import { termsOf } from './words.ts';

const slices = (text: string, query: string) =>
  highlightsOf(text, termsOf(query)).map(({ start, end }) => text.slice(start, end));

test.each([
  ['Your Order, the order of ORDERS.', 'order', ['Order', 'order', 'ORDERS']],
  ['reorder the order', 'the order', ['the', 'order']],
  ['the order of orders', 'order the', ['the', 'order']],
  ['Ärger über die Straße in Köln', 'strasse ueber', ['Straße']],
  ['Ärger über die Straße in Köln', 'uber ARGER koln', ['Ärger', 'über', 'Köln']],
  ['A\u0308rger mit zerlegten U\u0308bungen', 'ärger übungen', ['A\u0308rger', 'U\u0308bungen']],
  ['un cafe\u0301 noir', 'café', ['cafe\u0301']],
  ['ﬁnal ﬁle №5 😀 ﬁnal', 'final', ['ﬁnal', 'ﬁnal']],
  ['😀😀 after 😀 emoji', 'after emoji', ['after', 'emoji']],
  ['我想退款，订单还没到', '订单', ['订单']],
  ['東京都の京都', '京都', ['京都', '京都']],
  ['iPhone対応のケース', '対応', ['対応']],
  ['สวัสดีครับ ขอคืนเงิน', 'คืนเงิน', ['คืนเงิน']],
  ['أريد استرداد المَبْلَغ', 'المبلغ', ['المَبْلَغ']],
  ['한국어 주문이 늦어요', '주문', ['주문이']],
  ['ΟΔΟΣ οδός', 'οδος', ['ΟΔΟΣ', 'οδός']],
  ['nothing here', 'absent', []],
  ['half of a pair 京', '京都', []],
])('in %j, %j is %j', (text, query, expected) => {
  expect(slices(text, query)).toEqual(expected);
});

test('highlights are in order, do not overlap, and lie within any text', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.string({ unit: 'binary', maxLength: 10 }),
      (text, query) => {
        let end = 0;
        for (const place of highlightsOf(text, termsOf(query))) {
          expect(place.start).toBeGreaterThanOrEqual(end);
          expect(place.end).toBeGreaterThan(place.start);
          end = place.end;
        }
        expect(end).toBeLessThanOrEqual(text.length);
      },
    ),
  );
});

test('highlightsOf finds a word between arbitrary other words', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      fc.constantFrom('Übergröße', '退款', 'คืนเงิน', 'استرداد', '주문', 'ﬁnal'),
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      (before, word, after) => {
        const text = `${before} ${word} ${after}`;
        const at = before.length + 1;
        expect(highlightsOf(text, termsOf(word))).toContainEqual({ start: at, end: at + word.length });
      },
    ),
  );
});

test('folding a text in parts equals folding the whole text', () => {
  const whole = fc.string({ unit: 'binary', maxLength: 40 });
  fc.assert(
    fc.property(whole, (text) => {
      const folded = foldText(text);
      for (const { 0: word } of folded.matchAll(/[\p{L}\p{M}\p{N}]+/gu))
        expect(highlightsOf(text, termsOf(word)).length, `${word} of ${JSON.stringify(text)}`).toBeGreaterThan(0);
    }),
    { numRuns: 500 },
  );
});

test('highlightsOf returns the first highlights of a frequent word', () => {
  expect(highlightsOf('a '.repeat(5_000), termsOf('a'))).toHaveLength(maxPlaces);
});
