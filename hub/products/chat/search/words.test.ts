import { expect, test } from 'vitest';
import { questionOf as termsAsQuestion, termsOf, wordsOf as wordsOfText } from './words.ts';

const tenant = '01890000-0000-7000-8000-0123456789ab';
const wordsOf = (tenantId: string, text: string) => wordsOfText(tenantId, text, { isNote: false });
const questionOf = (tenantId: string, query: string) => termsAsQuestion(tenantId, termsOf(query), { notesOnly: false });
const bare = (words: string[]) => words.map((word) => word.replace('23456789ab:', ''));

test('wordsOf removes case and diacritics, and adds the prefix of the workspace', () => {
  expect(wordsOf(tenant, 'Ärger, ÄRGER!')).toEqual(['23456789ab:arger']);
  expect(bare(wordsOf(tenant, 'Order A-1024 of O’Brien'))).toEqual(['order', 'a', '1024', 'of', 'o', 'brien']);
});

test('wordsOf splits scripts without spaces into characters and pairs, also in mixed text', () => {
  expect(bare(wordsOf(tenant, '東京都'))).toEqual(['東', '京', '都', '東京', '京都']);
  expect(bare(wordsOf(tenant, 'iPhone対応'))).toEqual(['iphone', '対', '応', '対応']);
  expect(bare(wordsOf(tenant, 'สวัสดี'))).toContain('สว');
});

test('a query requires every word, and matches the last word as a prefix', () => {
  expect(questionOf(tenant, 'Late Deliv')).toBe("'23456789ab:late' & '23456789ab:deliv':*");
  expect(questionOf(tenant, '京都')).toBe("'23456789ab:京都'");
  expect(questionOf(tenant, ' ?! ')).toBeNull();
});

test('a query escapes quotes and operators of tsquery', () => {
  const question = questionOf(tenant, `a' | 'b & !c:* \\ \\' <-> d`) as string;
  expect(question.replaceAll(/'23456789ab:[a-z]+'(:\*)?/g, '')).toBe(' &  &  & ');
});

test('wordsOf limits the length of a word and the number of words', () => {
  expect(bare(wordsOf(tenant, 'x'.repeat(10_000)))).toEqual(['x'.repeat(40)]);
  expect(wordsOf(tenant, Array.from({ length: 9_000 }, (_, index) => `w${index}`).join(' '))).toHaveLength(2_000);
});

test('wordsOf maps different encodings of a letter to the same word', () => {
  expect(wordsOf(tenant, 'ΟΔΟΣ')).toEqual(wordsOf(tenant, 'οδος'));
  expect(wordsOf(tenant, 'Straße')).toEqual(wordsOf(tenant, 'STRASSE'));
});

test('notes have a word that no text produces, so that a query can select notes only', () => {
  expect(bare(wordsOfText(tenant, '!note', { isNote: true }))).toEqual(['!note', 'note']);
  expect(termsAsQuestion(tenant, termsOf('late'), { notesOnly: true })).toBe(
    "'23456789ab:late':* & '23456789ab:!note'",
  );
});
