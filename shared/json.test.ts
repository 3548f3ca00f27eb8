import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { objectFrom, toStorableJson } from './json.ts';
import { renderTemplates } from './template.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('objectFrom returns the same object as Object.fromEntries', () => {
  const entries: [string, number][] = [
    ['b', 1],
    ['1023', 2],
    ['"', 3],
    ['7', 4],
    ['b', 5],
  ];
  expect(objectFrom(entries)).toEqual(Object.fromEntries(entries));
  expect(Object.keys(objectFrom(entries))).toEqual(Object.keys(Object.fromEntries(entries)));
});

test.each([
  ['storable', toStorableJson],
  ['rendered', (value: unknown) => renderTemplates(value as never, {} as never)],
])('a %s copy of objects with numeric keys uses little more memory than the objects', (_what, copy) => {
  const value = JSON.parse(`[${Array.from({ length: 10_000 }).fill('{"1023":0}').join(',')}]`) as unknown;
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const copied = copy(value);
  collectGarbage();
  expect((process.memoryUsage().heapUsed - before) / 10_000).toBeLessThan(1_000);
  expect(copied).toEqual(value);
});
