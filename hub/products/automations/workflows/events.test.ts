import { expect, test } from 'vitest';
import type { JsonValue } from '../../../../shared/json.ts';
import { matchesFilter } from './events.ts';

test.each<[string, JsonValue, JsonValue, boolean]>([
  ['an equal text', 'a', 'a', true],
  ['another text', 'a', 'b', false],
  ['a number in a text', '1', 1, false],
  ['a text in a list', 'a', ['b', 'a'], true],
  ['a text that a list lacks', 'a', ['b', ['a']], false],
  ['null', null, null, true],
  ['null in a list', null, [1, null], true],
  ['an object with its fields in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ['an object in a list', { a: 1 }, [{ a: 2 }, { a: 1 }], true],
  ['a list as a whole', ['a', 'b'], ['a', 'b'], true],
  ['a list in a list', ['a'], [['b'], ['a']], true],
  ['an empty list and an empty object', [], {}, false],
])('a filter matches %s correctly', (_name, value, wanted, matches) => {
  expect(matchesFilter({ field: value }, { field: wanted })).toBe(matches);
});

test('matching reads a payload field once, for a filter that lists one object or 1,000 objects', () => {
  const readsFor = (listed: number): number => {
    let reads = 0;
    const field = {
      get content() {
        reads += 1;
        return 'x';
      },
    };
    const wanted = Array.from({ length: listed }, (_, content) => ({ content }));
    expect(matchesFilter({ field }, { field: wanted })).toBe(false);
    return reads;
  };
  expect(readsFor(1_000)).toBe(readsFor(1));
});

test('a stored filter with more values than the current limit still matches each of them', () => {
  const wanted = Array.from({ length: 5_000 }, (_, index) => `m${index}`);
  expect(matchesFilter({ content: 'm4999' }, { content: wanted })).toBe(true);
  expect(matchesFilter({ content: 'm5000' }, { content: wanted })).toBe(false);
});
