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
  tries = 0;
  readonly queue: Queue = {
    add: async (jobs) => {
      this.tries += 1;
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

test('a process without a worker adds a job immediately, and then one job for many commits', async () => {
  const recorded = new RecordedQueue();
  const wakeUps = wakeUpsWith(recorded);
  const [a, b, c] = [newId(), newId(), newId()];
  wakeUps.wake([a]);
  wakeUps.wake([b, a]);
  await expect.poll(() => recorded.data, { interval: 1 }).toEqual([{ tenantIds: [a, b], hops: 0 }]);
  for (let commit = 0; commit < 20; commit += 1) wakeUps.wake([c]);
  await expect.poll(() => recorded.jobs.length).toBe(2);
  expect(recorded.data[1]).toEqual({ tenantIds: [c], hops: 0 });
  // The queue ignores the id of a job that it has.
  expect(new Set(recorded.jobs.map(({ id }) => id)).size).toBe(2);
});

test('few wake-ups lead to a job every 25 ms, and many to fewer jobs', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const recorded = new RecordedQueue();
  const wakeUps = wakeUpsWith(recorded);
  const jobsWithin = async (ms: number, commitsEach5Ms: number) => {
    const before = recorded.jobs.length;
    for (let passed = 0; passed < ms; passed += 5) {
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

test('a process with a worker wakes others only for workspaces that its worker has no room for', async () => {
  const recorded = new RecordedQueue();
  const wakeUps = wakeUpsWith(recorded);
  let hasRoom = true;
  const woken: string[] = [];
  await wakeUps.receive({
    wake: (tenantIds) => {
      woken.push(...tenantIds);
      return hasRoom;
    },
    list: async () => undefined,
  });
  const [a, b] = [newId(), newId()];
  wakeUps.wake([a]);
  hasRoom = false;
  wakeUps.wake([b]);
  await expect.poll(() => recorded.data).toEqual([{ tenantIds: [b], hops: 0 }]);
  expect(woken).toEqual([a, b]);
});

test('a worker without room passes a wake-up on three times', async () => {
  const recorded = new RecordedQueue();
  await wakeUpsWith(recorded).receive({ wake: () => false, list: async () => undefined });
  recorded.jobs.push({ name: 'wake', id: 'first', data: { tenantIds: [newId()], hops: 0 } });
  for (let index = 0; index < recorded.jobs.length; index += 1)
    await recorded.handler?.(recorded.jobs[index] as QueueJob);
  expect(recorded.jobs).toHaveLength(4);
});

test('for many workspaces, and for a job of an earlier version, a worker looks through all', async () => {
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

test('while the queue is unavailable, nothing is kept, and later wake-ups are sent', async () => {
  const recorded = new RecordedQueue();
  const wakeUps = wakeUpsWith(recorded);
  recorded.isAvailable = false;
  wakeUps.wake([newId()]);
  await expect.poll(() => recorded.tries).toBe(1);
  recorded.isAvailable = true;
  const later = newId();
  wakeUps.wake([later]);
  await expect.poll(() => recorded.data).toEqual([{ tenantIds: [later], hops: 0 }]);
});
