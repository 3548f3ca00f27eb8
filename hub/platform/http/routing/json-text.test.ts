import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { heapOfJson, parseJsonText } from './json-text.ts';

test('JSON that contains __proto__ is accepted unless it is a key', () => {
  const value = { entries: [{ name: '__proto__' }, '"__proto__"', { text: '\u2026' }] };
  expect(parseJsonText(JSON.stringify(value))).toEqual(value);
});

test.each([
  '{"__proto__":1}',
  '[{"a":[{"__proto__":{}}]}]',
  '{"\\u005f_proto__":{"x":1}}',
  '{"a":{"__proto\\u005F\\u005f":1}}',
])('%s is refused, whether or not the key is escaped', (text) =>
  expect(() => parseJsonText(text)).toThrow('the key __proto__ is not allowed'),
);

test('deeply nested JSON is checked without a stack overflow', () => {
  const text = `${'['.repeat(5_000)}"__proto__"${']'.repeat(5_000)}`;
  expect(() => parseJsonText(text)).not.toThrow();
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const list = (item: string, count: number) => `[${Array.from({ length: count }).fill(item).join(',')}]`;

test.each([
  ['empty objects', list('{}', 300_000)],
  ['empty lists', list('[]', 300_000)],
  ['small objects', list('{"a":1}', 200_000)],
  [
    'objects with different keys',
    `[${Array.from({ length: 60_000 }, (_unused, index) => `{"k${index}":1}`).join(',')}]`,
  ],
  ['fractions', list('1.5', 300_000)],
  ['short texts', `[${Array.from({ length: 100_000 }, (_unused, index) => `"t${index}"`).join(',')}]`],
  ['a long text', JSON.stringify(['x'.repeat(1_000_000)])],
])('the estimated heap of %s is at least the measured heap', (_what, text) => {
  const bytes = Buffer.from(text);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const value = parseJsonText(text);
  collectGarbage();
  const used = process.memoryUsage().heapUsed - before;
  expect(value).toBeDefined();
  expect(used).toBeLessThan(heapOfJson(bytes));
});
