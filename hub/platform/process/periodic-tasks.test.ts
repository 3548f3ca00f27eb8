import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { Leadership } from '../db/leadership.ts';
import { PeriodicTasks } from './periodic-tasks.ts';

const logger = pino({ level: 'silent' });
let database: TestDatabase;
beforeAll(async () => {
  database = await acquireDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** Simulates a process of an installation that counts the runs of its tasks. */
function startProcess(
  run: (name: string, stopping: AbortSignal) => Promise<void> = async () => undefined,
  stopDeadlineMs = 10_000,
) {
  // A stall of this process must not change the leader.
  const leadership = new Leadership({
    url: database.url,
    name: 'periodic tasks',
    logger,
    beatMs: 25,
    silenceMs: 60_000,
  });
  const counts: Record<string, number> = {};
  const task = (name: string, everyMs: number) => ({
    name,
    everyMs,
    run: async (stopping: AbortSignal) => {
      counts[name] = (counts[name] ?? 0) + 1;
      await run(name, stopping);
    },
  });
  const tasks = new PeriodicTasks({
    logger,
    leadership,
    tasks: [task('often', 20), task('seldom', 600_000)],
    stopDeadlineMs,
  });
  const end = async () => {
    await tasks[Symbol.asyncDispose]();
    await leadership[Symbol.asyncDispose]();
  };
  return { leadership, counts, tasks, [Symbol.asyncDispose]: end };
}

test('one of several processes runs the tasks, and another runs all of them when the first one stops', async () => {
  await using first = startProcess();
  await expect.poll(() => first.counts['often'] ?? 0).toBeGreaterThan(2);
  await using second = startProcess();
  await using third = startProcess();
  const before = first.counts['often'] as number;
  await expect.poll(() => first.counts['often'] ?? 0).toBeGreaterThan(before + 10);
  expect([second.counts, third.counts]).toEqual([{}, {}]);
  await first[Symbol.asyncDispose]();
  // A task with an interval of ten minutes also runs when the leader changes.
  await expect.poll(() => (second.counts['seldom'] ?? 0) + (third.counts['seldom'] ?? 0)).toBe(1);
  const ended = first.counts['often'];
  await expect.poll(() => (second.counts['often'] ?? 0) + (third.counts['often'] ?? 0)).toBeGreaterThan(2);
  expect(first.counts['often']).toBe(ended);
});

test('a task never overlaps itself, and a failed task runs again', async () => {
  let running = 0;
  let most = 0;
  const blocker = Promise.withResolvers<void>();
  await using only = startProcess(async (name) => {
    if (name !== 'often') return;
    running += 1;
    most = Math.max(most, running);
    await blocker.promise;
    running -= 1;
    throw new Error('as it may happen');
  });
  await expect.poll(() => running).toBe(1);
  blocker.resolve();
  await expect.poll(() => only.counts['often'] ?? 0).toBeGreaterThan(3);
  expect(most).toBe(1);
});

test('a running task gets an abort signal when its process stops', async () => {
  const stopped = Promise.withResolvers<void>();
  await using only = startProcess(async (name, stopping) => {
    if (name !== 'seldom') return;
    stopping.addEventListener('abort', () => stopped.resolve());
    await stopped.promise;
  });
  await expect.poll(() => only.counts['seldom']).toBe(1);
  await expect(only[Symbol.asyncDispose]()).resolves.toBeUndefined();
});

test('disposal does not wait for a task that never ends', async () => {
  await using only = startProcess((name) => (name === 'seldom' ? new Promise(() => undefined) : Promise.resolve()), 50);
  await expect.poll(() => only.counts['seldom']).toBe(1);
  await expect(only[Symbol.asyncDispose]()).resolves.toBeUndefined();
});
