import { expect, test } from 'vitest';
import { normalizeText } from './normalize.ts';

test('normalizing ordinary text equals String.prototype.normalize', () => {
  for (const text of ['Cafe\u0301', 'ﬁne', 'Việt Nam', 'हिन्दी', 'שָׁלוֹם', 'x\u0316\u0301', '👨‍👩‍👧'])
    for (const form of ['NFC', 'NFKC', 'NFKD'] as const) expect(normalizeText(text, form)).toBe(text.normalize(form));
});

test('a long run of combining marks is normalized in groups of 30, so that it takes linear time', () => {
  const marks = `a${'\u0301'.repeat(40)}${'\u0316'.repeat(40)}`;
  const normalized = normalizeText(marks, 'NFKD');
  expect(normalized.split('\u034F').map((group) => group.replace('a', '').length)).toEqual([30, 30, 20]);
  expect(normalized.replaceAll('\u034F', '')).toHaveLength(81);
});
