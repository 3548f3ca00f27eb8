import { expect, test } from 'vitest';
import { idBefore, newId } from './ids.ts';

test('ids are UUIDv7, strictly ascending even within one millisecond, and contain their creation time', () => {
  const from = idBefore(new Date());
  const ids = Array.from({ length: 200_000 }, newId);
  const until = idBefore(new Date(Date.now() + 1));
  expect(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(
    true,
  );
  // Strictly ascending, so no id occurs twice.
  expect(ids.findIndex((id, index) => id <= (ids[index - 1] ?? from))).toBe(-1);
  expect((ids.at(-1) as string) < until).toBe(true);
});

test('the last 32 bits of an id are random', () => {
  const ends = new Set(Array.from({ length: 20_000 }, () => newId().slice(-8)));
  // With 32 random bits, two of 20,000 values collide in one run of twenty; 300 collisions are practically impossible.
  expect(ends.size).toBeGreaterThan(19_700);
});
