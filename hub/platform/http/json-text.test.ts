import { expect, test } from 'vitest';
import { parseJsonText } from './json-text.ts';

test('a text that names __proto__ is JSON like any other, as long as it is no key', () => {
  const value = { entries: [{ name: '__proto__' }, '"__proto__"', { text: '\u2026' }] };
  expect(parseJsonText(JSON.stringify(value))).toEqual(value);
});

test.each([
  '{"__proto__":1}',
  '[{"a":[{"__proto__":{}}]}]',
  '{"\\u005f_proto__":{"x":1}}',
  '{"a":{"__proto\\u005F\\u005f":1}}',
])('%s is refused, however the key is spelled', (text) =>
  expect(() => parseJsonText(text)).toThrow('the key __proto__ is not allowed'),
);

test('deep nesting is looked through without an end of the stack', () => {
  const text = `${'['.repeat(5_000)}"__proto__"${']'.repeat(5_000)}`;
  expect(() => parseJsonText(text)).not.toThrow();
});
