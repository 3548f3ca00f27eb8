import { expect, test } from 'vitest';
import { pageLocaleOf } from './page-language.ts';

test.each([
  [undefined, 'en'],
  ['*', 'en'],
  ['de', 'de'],
  ['ar-EG,ar;q=0.9,en;q=0.8', 'ar'],
  ['fr-FR,fr;q=0.9,de;q=0.8,en;q=0.7', 'de'],
  ['en;q=0.5, DE-at;q=0.7', 'de'],
  ['de;q=0, ar;q=0.1', 'ar'],
  ['pt, ja', 'en'],
  [';;q=,,', 'en'],
])('Accept-Language %s shows the page in %s', (header, locale) => {
  expect(pageLocaleOf(header)).toBe(locale);
});
