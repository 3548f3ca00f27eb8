import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { newIdAt } from '../ids.ts';
import { followRows } from './follow-rows.ts';

test('a row is sent once, also when it becomes older than late rows while its pages are read again', async () => {
  const startedAt = Date.now();
  // The rows are 9.8 s old at the first pass, and older than 10 s during the second.
  const ids = Array.from({ length: 250 }, () => newIdAt(new Date(startedAt - 9_800))).toSorted();
  const stop = new AbortController();
  const sent: string[] = [];
  let passes = 0;
  await followRows(
    {
      signal: stop.signal,
      send: (_event, _data, id) => {
        sent.push(id as string);
        return Promise.resolve();
      },
    },
    () => ({
      async next() {
        passes += 1;
        if (passes === 2) stop.abort();
        await delay(Math.max(0, startedAt + 150 - Date.now()));
      },
      [Symbol.dispose]: () => undefined,
    }),
    newIdAt(new Date(startedAt - 9_900)),
    'row',
    async (after, limit) => {
      if (passes === 1) await delay(100);
      return ids
        .filter((id) => id > after)
        .slice(0, limit)
        .map((id) => ({ id }));
    },
    (row) => row,
  );
  expect(sent).toEqual(ids);
});
