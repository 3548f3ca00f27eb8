import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { newId } from '../../platform/ids.ts';
import type { Queue, QueueJob, WorkOptions } from '../../platform/queue/queue.ts';
import { WakeUps } from './wake-ups.ts';

/** A queue that records its jobs. The tests pass them to the worker. */
class RecordedQueue {
  readonly jobs: QueueJob[] = [];
  handler: WorkOptions['handler'] | null = null;
  isAvailable = true;
  attempts = 0;
  readonly queue: Queue = {
    add: async (jobs) => {
      this.attempts += 1;
      if (!this.isAvailable) throw new Error('unavailable');
      this.jobs.push(...jobs);
    },
    work: async ({ handler }) => {
      this.handler = handler;
      return { drain: async () => undefined };
    },
    ping: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };

  get data(): unknown[] {
    return this.jobs.map(({ data }) => data);
  }
}

const open: AsyncDisposable[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((each) => each[Symbol.asyncDispose]()));
});
function wakeUpsWith(recorded: RecordedQueue): WakeUps {
  const wakeUps = new WakeUps(recorded.queue, pino({ level: 'silent' }));
  open.push(wakeUps);
  return wakeUps;
}

test('a process without a worker adds the first job immediately, and then one job for many commits', async () => {
  const recorded = new RecordedQueue();
  const wakeUps = wakeUpsWith(recorded);
  const [a, b, c] = [newId(), newId(), newId()];
  wakeUps.wake([a]);
  wakeUps.wake([b, a]);
  await expect.poll(() => recorded.data, { interval: 1 }).toEqual([{ tenantIds: [a, b], hops: 0 }]);
  for (let commit = 0; commit < 20; commit += 1) wakeUps.wake([c]);
  await expect.poll(() => recorded.jobs.length).toBe(2);
  expect(recorded.data[1]).toEqual({ tenantIds: [c], hops: 0 });
  // The queue ignores a job with an id that it already has.
  expect(new Set(recorded.jobs.map(({ id }) => id)).size).toBe(2);
});

test('jobs are added every 25 ms, and less often while there are many wake-ups', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const recorded = new RecordedQueue();
  const wakeUps = wakeUpsWith(recorded);
  const jobsWithin = async (ms: number, commitsEach5Ms: number) => {
    const before = recorded.jobs.length;
    for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 5) {
      for (let commit = 0; commit < commitsEach5Ms; commit += 1) wakeUps.wake([newId()]);
      await vi.advanceTimersByTimeAsync(5);
      await new Promise((done) => setImmediate(done));
    }
    return recorded.jobs.length - before;
  };
  expect(await jobsWithin(1_000, 1)).toBeGreaterThan(20);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await jobsWithin(2_000, 10)).toBeLessThan(20);
});

test('a process with a worker wakes other processes only when its worker has no capacity', async () => {
  const recorded = new RecordedQueue();
  const wakeUps = wakeUpsWith(recorded);
  let hasCapacity = true;
  const woken: string[] = [];
  await wakeUps.receive({
    wake: (tenantIds) => {
      woken.push(...tenantIds);
      return hasCapacity;
    },
    list: async () => undefined,
  });
  const [a, b] = [newId(), newId()];
  wakeUps.wake([a]);
  hasCapacity = false;
  wakeUps.wake([b]);
  await expect.poll(() => recorded.data).toEqual([{ tenantIds: [b], hops: 0 }]);
  expect(woken).toEqual([a, b]);
});

test('workers without capacity forward a wake-up three times', async () => {
  const recorded = new RecordedQueue();
  await wakeUpsWith(recorded).receive({ wake: () => false, list: async () => undefined });
  recorded.jobs.push({ name: 'wake', id: 'first', data: { tenantIds: [newId()], hops: 0 } });
  for (let index = 0; index < recorded.jobs.length; index += 1)
    await recorded.handler?.(recorded.jobs[index] as QueueJob);
  expect(recorded.jobs).toHaveLength(4);
});

test('a job for very many workspaces, or of an earlier version, makes the worker list all workspaces', async () => {
  const recorded = new RecordedQueue();
  const wakeUps = wakeUpsWith(recorded);
  wakeUps.wake(Array.from({ length: 300 }, () => newId()));
  await expect.poll(() => recorded.data).toEqual([{ tenantIds: [], hops: 0 }]);
  let lists = 0;
  await wakeUps.receive({ wake: () => true, list: async () => void (lists += 1) });
  for (const job of [recorded.jobs[0], { name: 'run', id: 'old', data: { runId: newId(), tenantId: newId() } }])
    await recorded.handler?.(job as QueueJob);
  expect(lists).toBe(2);
});

test('wake-ups are dropped while the queue is unavailable, and later ones are sent', async () => {
  const recorded = new RecordedQueue();
  const wakeUps = wakeUpsWith(recorded);
  recorded.isAvailable = false;
  wakeUps.wake([newId()]);
  await expect.poll(() => recorded.attempts).toBe(1);
  recorded.isAvailable = true;
  const later = newId();
  wakeUps.wake([later]);
  await expect.poll(() => recorded.data).toEqual([{ tenantIds: [later], hops: 0 }]);
});
