import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Batcher } from './batcher.ts';
import type { BatchesOptions } from './batcher.ts';
import { DatabaseBusy, DatabaseOutage } from './errors.ts';

/** Batches whose flushes end when they are told to. */
function bench(options: Partial<BatchesOptions<string, string>> = {}) {
  const flushes: { key: string; items: readonly string[]; end: (error?: unknown) => void }[] = [];
  const batches = new Batcher<string, string>({
    bytesOf: (item) => item.length,
    flush: (key, items) => {
      const { promise, resolve, reject } = Promise.withResolvers<string[]>();
      const end = (error?: unknown) =>
        error === undefined ? resolve(items.map((item) => `${item}!`)) : reject(error as Error);
      flushes.push({ key, items, end });
      return promise;
    },
    ...options,
  });
  const began = async (count: number) => {
    await expect.poll(() => flushes.length).toBe(count);
    return flushes.map(({ key, items }) => `${key}:${items.join('')}`);
  };
  return { batches, flushes, began };
}

test('what is wanted in one tick is done at once, and what is wanted during that is done together after it', async () => {
  const { batches, flushes, began } = bench({ maxFlushesOfKey: 1 });
  const first = ['a', 'b', 'c'].map((item) => batches.add('k', item));
  expect(await began(1)).toEqual(['k:abc']);
  const second = ['d', 'e'].map((item) => batches.add('k', item));
  await delay(10);
  expect(flushes.length).toBe(1);
  flushes[0]?.end();
  expect(await Promise.all(first)).toEqual(['a!', 'b!', 'c!']);
  expect(await began(2)).toEqual(['k:abc', 'k:de']);
  flushes[1]?.end();
  expect(await Promise.all(second)).toEqual(['d!', 'e!']);
});

test('what fails a batch fails alone: the others are done', async () => {
  const { batches } = bench({
    flush: async (_key, items) => {
      if (items.includes('poison')) throw new Error(`refused ${items.length}`);
      return items.map((item) => `${item}!`);
    },
  });
  const results = await Promise.allSettled(['a', 'poison', 'b'].map((item) => batches.add('k', item)));
  expect(results).toMatchObject([{ value: 'a!' }, { reason: { message: 'refused 1' } }, { value: 'b!' }]);
});

test('an outage is told to all at once, and nothing is tried item by item', async () => {
  let flushes = 0;
  const { batches } = bench({
    flush: async () => {
      flushes += 1;
      throw new DatabaseOutage('away', undefined);
    },
  });
  const results = await Promise.allSettled(['a', 'b', 'c'].map((item) => batches.add('k', item)));
  expect(results.map((result) => (result as { reason: Error }).reason.message)).toEqual(['away', 'away', 'away']);
  expect(flushes).toBe(1);
});

test('what waits for a lock keeps no other from being done, and is waited for itself as long as any transaction does', async () => {
  const waits: [string, number | undefined][] = [];
  let isFree = false;
  const { batches } = bench({
    flush: async (_key, items, { lockTimeoutMs }) => {
      waits.push([items.join(''), lockTimeoutMs]);
      isFree ||= lockTimeoutMs === undefined;
      if (!isFree && ['x', 'y'].some((locked) => items.includes(locked))) throw new DatabaseBusy('locked', undefined);
      return items.map((item) => `${item}!`);
    },
  });
  const done: string[] = [];
  await Promise.all([...'abxcdyef'].map(async (item) => done.push(await batches.add('k', item))));
  expect(done.toSorted()).toEqual([...'abcdefxy'].map((item) => `${item}!`));
  expect(done.slice(-2)).toEqual(['x!', 'y!']);
  expect(waits.filter(([, lockTimeoutMs]) => lockTimeoutMs === undefined)).toEqual([['xy', undefined]]);
});

test.each([
  ['a lock', 1_000, 7],
  ['a slow answer', 30_000, 2],
])(
  'a database that keeps all of a batch waiting, for %s, is not waited for once for each of it',
  async (_what, tookMs, atMost) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      let flushes = 0;
      const { batches } = bench({
        flush: async () => {
          flushes += 1;
          vi.advanceTimersByTime(tookMs);
          throw new DatabaseBusy('slow', undefined);
        },
      });
      const results = await Promise.allSettled(
        Array.from({ length: 64 }, (_unused, index) => batches.add('k', `${index}`)),
      );
      expect(new Set(results.map((result) => (result as { reason: Error }).reason.message))).toEqual(new Set(['slow']));
      expect(flushes).toBeLessThan(atMost);
    } finally {
      vi.useRealTimers();
    }
  },
);

test('keys take turns, however much one of them wants, and never share a batch', async () => {
  const { batches, flushes, began } = bench({ maxItems: 2, maxFlushesOfKey: 2, maxFlushes: 2 });
  const all = [...'abcdefgh'].map((item) => batches.add('greedy', item));
  all.push(batches.add('modest', 'x'));
  await began(2);
  for (let index = 0; index < 5; index += 1) {
    await began(Math.min(index + 2, 5));
    flushes[index]?.end();
  }
  await Promise.all(all);
  expect(flushes.findIndex(({ key }) => key === 'modest')).toBeLessThan(3);
  expect(flushes.every(({ key, items }) => items.every((item) => (item === 'x') === (key === 'modest')))).toBe(true);
});

test('a batch holds so many bytes and no more, but one item of any size', async () => {
  const { batches, flushes, began } = bench({ maxBytes: 10, maxFlushesOfKey: 1 });
  const all = ['aaaa', 'bbbb', 'cccc', 'd'.repeat(50)].map((item) => batches.add('k', item));
  for (let index = 0; index < 3; index += 1) {
    await began(index + 1);
    flushes[index]?.end();
  }
  await Promise.all(all);
  expect(flushes.map(({ items }) => items.map((item) => item.length))).toEqual([[4, 4], [4], [50]]);
});

test('beyond its bound it refuses, and takes again once there is room', async () => {
  const { batches, flushes, began } = bench({ maxWaiting: 2, maxFlushesOfKey: 1 });
  const taken = [batches.add('k', 'a'), batches.add('k', 'b')];
  await expect(batches.add('k', 'c')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
  await began(1);
  taken.push(batches.add('k', 'd'));
  flushes[0]?.end();
  await began(2);
  flushes[1]?.end();
  expect(await Promise.all(taken)).toEqual(['a!', 'b!', 'd!']);
});

test('whoever fills it keeps no other out, up to twice its bound', async () => {
  const { batches, flushes, began } = bench({ maxWaiting: 2, maxFlushes: 1, maxFlushesOfKey: 1 });
  const refused = { code: 'unavailable' };
  const taken = [batches.add('k', 'a'), batches.add('k', 'b')];
  await expect(batches.add('k', 'c')).rejects.toMatchObject(refused);
  taken.push(batches.add('one', 'x'));
  await expect(batches.add('one', 'y')).rejects.toMatchObject(refused);
  taken.push(batches.add('other', 'x'));
  await expect(batches.add('third', 'x')).rejects.toMatchObject(refused);
  for (let turn = 1; turn <= 3; turn += 1) {
    await began(turn);
    flushes[turn - 1]?.end();
  }
  expect(await Promise.all(taken)).toEqual(['a!', 'b!', 'x!', 'x!']);
});

test('whoever fills it with a few large items keeps no other out, and gets no more than its bound', async () => {
  const { batches, flushes, began } = bench({ maxWaitingBytes: 4, maxFlushes: 1, maxFlushesOfKey: 1 });
  const taken = [batches.add('k', 'aaaa')];
  await expect(batches.add('k', 'b')).rejects.toMatchObject({ code: 'unavailable' });
  taken.push(batches.add('one', 'x'));
  for (let turn = 1; turn <= 2; turn += 1) {
    await began(turn);
    flushes[turn - 1]?.end();
  }
  expect(await Promise.all(taken)).toEqual(['aaaa!', 'x!']);
});

test('what is done for many goes on in the context of none', async () => {
  const context = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const { batches } = bench({
    flush: async (_key, items) => {
      seen.push(context.getStore());
      return [...items];
    },
  });
  await context.run('caller', () => batches.add('k', 'a'));
  expect(seen).toEqual([undefined]);
});

test('what may wait is done together with what comes in that time', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { batches, flushes, began } = bench({ gatherMs: 50 });
  const first = batches.add('k', 'a');
  await new Promise((done) => setImmediate(done));
  vi.advanceTimersByTime(49);
  const second = batches.add('k', 'b');
  vi.advanceTimersByTime(1);
  expect(await began(1)).toEqual(['k:ab']);
  flushes[0]?.end();
  expect(await Promise.all([first, second])).toEqual(['a!', 'b!']);
});
