import { expect, test } from 'vitest';
import { chooseLocale, createLanguage, loadWords } from './locale.ts';
import type { OtherWords } from './locale.ts';

test('a page uses the configured language, else the first available language of the reader, else English', () => {
  expect(chooseLocale('ja', ['fr'])).toBe('ja');
  expect(chooseLocale(null, ['pt', 'fr-CA', 'de'])).toBe('fr');
  expect(chooseLocale(null, ['pt'])).toBe('en');
});

test("numbers in a text use the format of the reader's region, and a missing value is empty", () => {
  const { format, variant, direction } = createLanguage('es', {}, ['en', 'es-MX']);
  expect([variant, direction]).toEqual(['es-MX', 'ltr']);
  expect(format('{count} de {name}{missing}', { count: 1_234, name: '{count}' })).toBe('1,234 de {count}');
  expect(createLanguage('ar', {}, []).direction).toBe('rtl');
});

test('a language whose texts do not load is replaced by English', async () => {
  const load = (text: string) => () => Promise.resolve(text);
  const others: OtherWords<string> = {
    de: load('hallo'),
    fr: () => Promise.reject(new Error('offline')),
    es: load('hola'),
    ar: load('مرحبا'),
    ja: load('こんにちは'),
  };
  expect(await loadWords('de', 'hello', others)).toEqual(['de', 'hallo']);
  expect(await loadWords('fr', 'hello', others)).toEqual(['en', 'hello']);
});
