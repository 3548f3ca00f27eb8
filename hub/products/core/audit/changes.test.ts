import { expect, test } from 'vitest';
import { changesOf, fieldsOf } from './changes.ts';

test('changes have the old and the new value of each field that differs, whatever the order of keys', () => {
  expect(
    changesOf(
      { name: 'a', hours: { from: '22:00', to: '06:00' }, tags: ['x'], removed: 1, same: null },
      { name: 'b', hours: { to: '06:00', from: '22:00' }, tags: ['x', 'y'], added: true },
    ),
  ).toEqual({
    name: { from: 'a', to: 'b' },
    tags: { from: ['x'], to: ['x', 'y'] },
    removed: { from: 1, to: null },
    added: { from: null, to: true },
  });
});

test('only fields that the body sets are compared', () => {
  expect(fieldsOf({ id: 'n', name: 'a', allowSystem: true }, { name: 'b' })).toEqual({ name: 'a' });
});
