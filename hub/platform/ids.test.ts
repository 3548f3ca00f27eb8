import { expect, test } from 'vitest';
import { idBefore, newId } from './ids.ts';

test('Ids are UUIDv7, each greater than the one before, also those of one millisecond, and carry the time they were made', () => {
  const from = idBefore(new Date());
  const ids = Array.from({ length: 200_000 }, newId);
  const until = idBefore(new Date(Date.now() + 1));
  expect(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(
    true,
  );
  // Strictly ascending: none comes twice.
  expect(ids.findIndex((id, index) => id <= (ids[index - 1] ?? from))).toBe(-1);
  expect((ids.at(-1) as string) < until).toBe(true);
});

test('Nobody can tell the end of an id from those before it', () => {
  const ends = new Set(Array.from({ length: 20_000 }, () => newId().slice(-8)));
  // 32 random bits each: two of 20,000 are alike in one run of twenty, three hundred never.
  expect(ends.size).toBeGreaterThan(19_700);
});
