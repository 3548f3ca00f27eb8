import { expect, test, vi } from 'vitest';
import { newIdAt } from '../../ids.ts';
import { followRows } from './follow-rows.ts';

/** Unlike `setTimeout` of node:timers/promises, it follows a fake clock. */
const delay = (ms: number) => new Promise<void>((done) => void setTimeout(done, ms));

test('a row is sent once, also when it becomes older than the limit for late commits while its pages are read again', async () => {
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
        return true;
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

/**
 * Follows rows of a table in memory, woken `wakes` times, `everyMs` apart or earlier when `next` is called with a
 * shorter limit.
 */
async function follow(table: string[], wakes: number, everyMs: number, each: (wake: number) => void, sendMs = 0) {
  const stop = new AbortController();
  const sent: string[] = [];
  let read = 0;
  let wake = 0;
  await followRows(
    {
      signal: stop.signal,
      send: async (_event, _data, id) => {
        sent.push(id as string);
        if (sendMs > 0) await delay(sendMs);
      },
    },
    () => ({
      async next(_signal, atMostMs = everyMs) {
        await delay(Math.min(atMostMs, everyMs));
        each(wake);
        wake += 1;
        if (wake > wakes) stop.abort();
        return true;
      },
      [Symbol.dispose]: () => undefined,
    }),
    newIdAt(new Date(Date.now() - 9_000)),
    'row',
    (after, limit) => {
      const rows = table
        .toSorted()
        .filter((id) => id > after)
        .slice(0, limit);
      read += rows.length;
      return Promise.resolve(rows.map((id) => ({ id })));
    },
    (row) => row,
  );
  return { sent, read };
}

test('frequent wake-ups do not read the rows of the last 10 s each time', async () => {
  using _ = useFakeTime();
  const table = Array.from({ length: 1_000 }, () => newIdAt(new Date(Date.now() - 5_000)));
  const before = table.toSorted();
  const written: string[] = [];
  const followed = follow(table, 20, 50, () => {
    written.push(newIdAt(new Date()));
    table.push(written.at(-1) as string);
  });
  await vi.advanceTimersByTimeAsync(60_000);
  const { sent, read } = await followed;
  // The last row is written when the stream ends.
  expect(sent).toEqual([...before, ...written.slice(0, -1)]);
  expect(read, 'rows that were read for 1,020 sent ones').toBeLessThan(2_000);
});

test('a row that commits seconds after later rows is sent', async () => {
  using _ = useFakeTime();
  const table = [newIdAt(new Date(Date.now() - 3_000))];
  const late = newIdAt(new Date(Date.now() - 4_000));
  const followed = follow(table, 14, 200, (wake) => {
    if (wake === 1) table.push(late);
  });
  await vi.advanceTimersByTimeAsync(60_000);
  const { sent } = await followed;
  expect(sent).toContain(late);
  expect(sent).toHaveLength(2);
});

test('rows written while a slow client receives one row for longer than the limit for late commits are sent', async () => {
  using _ = useFakeTime();
  const table = [newIdAt(new Date())];
  const written: string[] = [];
  const timer = setTimeout(() => {
    written.push(newIdAt(new Date()));
    table.push(...written);
  }, 1_000);
  const followed = follow(table, 2, 50, () => undefined, 15_000);
  await vi.advanceTimersByTimeAsync(60_000);
  clearTimeout(timer);
  expect((await followed).sent).toEqual([table[0], ...written]);
});

function useFakeTime(): Disposable {
  vi.useFakeTimers();
  return { [Symbol.dispose]: () => void vi.useRealTimers() };
}
