import { expect, test } from 'vitest';
import { questionOf as termsAsQuestion, termsOf, wordsOf as wordsOfText } from './words.ts';

const tenant = '01890000-0000-7000-8000-0123456789ab';
const wordsOf = (tenantId: string, text: string) => wordsOfText(tenantId, text, { isNote: false });
const questionOf = (tenantId: string, query: string) => termsAsQuestion(tenantId, termsOf(query), { notesOnly: false });
const bare = (words: string[]) => words.map((word) => word.replace('23456789ab:', ''));

test('words are without case and marks, and begin with their workspace', () => {
  expect(wordsOf(tenant, 'Ärger, ÄRGER!')).toEqual(['23456789ab:arger']);
  expect(bare(wordsOf(tenant, 'Order A-1024 of O’Brien'))).toEqual(['order', 'a', '1024', 'of', 'o', 'brien']);
});

test('scripts without spaces are kept as characters and pairs, also in the midst of others', () => {
  expect(bare(wordsOf(tenant, '東京都'))).toEqual(['東', '京', '都', '東京', '京都']);
  expect(bare(wordsOf(tenant, 'iPhone対応'))).toEqual(['iphone', '対', '応', '対応']);
  expect(bare(wordsOf(tenant, 'สวัสดี'))).toContain('สว');
});

test('a question asks for every word, and for the beginning of the last', () => {
  expect(questionOf(tenant, 'Late Deliv')).toBe("'23456789ab:late' & '23456789ab:deliv':*");
  expect(questionOf(tenant, '京都')).toBe("'23456789ab:京都'");
  expect(questionOf(tenant, ' ?! ')).toBeNull();
});

test('nothing that is typed leaves its quotes', () => {
  const question = questionOf(tenant, `a' | 'b & !c:* \\ \\' <-> d`) as string;
  expect(question.replaceAll(/'23456789ab:[a-z]+'(:\*)?/g, '')).toBe(' &  &  & ');
});

test('a text of one word without end, and one of many words, are kept up to a bound', () => {
  expect(bare(wordsOf(tenant, 'x'.repeat(10_000)))).toEqual(['x'.repeat(40)]);
  expect(wordsOf(tenant, Array.from({ length: 9_000 }, (_, index) => `w${index}`).join(' '))).toHaveLength(2_000);
});

test('letters that are written in two ways are one word', () => {
  expect(wordsOf(tenant, 'ΟΔΟΣ')).toEqual(wordsOf(tenant, 'οδος'));
  expect(wordsOf(tenant, 'Straße')).toEqual(wordsOf(tenant, 'STRASSE'));
});

test('notes have a word that no text has, by which they alone are asked for', () => {
  expect(bare(wordsOfText(tenant, '!note', { isNote: true }))).toEqual(['!note', 'note']);
  expect(termsAsQuestion(tenant, termsOf('late'), { notesOnly: true })).toBe(
    "'23456789ab:late':* & '23456789ab:!note'",
  );
});
