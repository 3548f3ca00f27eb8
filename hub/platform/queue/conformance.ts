import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { createBullMqQueue } from './bullmq-queue.ts';
import type { QueueBackend } from './bullmq-queue.ts';
import type { Queue, WorkOptions } from './queue.ts';

export interface ConformanceBackend {
  backend(): QueueBackend;
  /** Kills the store and starts it again. */
  restart(): Promise<void>;
}

/** Tests that every adapter of `Queue` must pass. */
export function queueConformance({ backend, restart }: ConformanceBackend): void {
  const opened: Queue[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((queue) => queue[Symbol.asyncDispose]()));
  });

  async function open(name: string = randomUUID()): Promise<Queue> {
    const queue = await createBullMqQueue({ backend: backend(), name, logger: pino({ level: 'silent' }) });
    opened.push(queue);
    return queue;
  }
  const jobs = (ids: string[]) => ids.map((id) => ({ name: 'run', id, data: { runId: id } }));

  test('every added job is handled with its name, id and data', async () => {
    const queue = await open();
    const ids = Array.from({ length: 1_000 }, (_value, index) => `job-${index}`);
    const handled: string[] = [];
    await queue.work({
      concurrency: 16,
      handler: async ({ name, id, data }) => {
        handled.push(`${name} ${id} ${String(data['runId'])}`);
      },
    });
    // Adding jobs has a time limit.
    for (let from = 0; from < ids.length; from += 100) await queue.add(jobs(ids.slice(from, from + 100)));
    await expect.poll(() => handled.length).toBe(1_000);
    expect(new Set(handled)).toEqual(new Set(ids.map((id) => `run ${id} ${id}`)));
  });

  test('the id of a waiting job cannot be added again, and the id of a finished job can', async () => {
    const queue = await open();
    const handled: string[] = [];
    await queue.add(jobs(['same', 'same']));
    await queue.add(jobs(['same']));
    await queue.work({ concurrency: 1, handler: async ({ id }) => void handled.push(id) });
    await expect.poll(() => handled.length).toBe(1);
    await queue.add(jobs(['after']));
    await expect.poll(() => handled.length).toBe(2);
    await expect
      .poll(async () => {
        await queue.add(jobs(['same']));
        return handled.filter((id) => id === 'same').length;
      })
      .toBeGreaterThanOrEqual(2);
  });

  test('a worker runs at most as many jobs concurrently as its limit', async () => {
    const queue = await open();
    let running = 0;
    let maxRunning = 0;
    let done = 0;
    const full = Promise.withResolvers<void>();
    await queue.work({
      concurrency: 3,
      handler: async () => {
        running += 1;
        maxRunning = Math.max(maxRunning, running);
        if (running === 3) full.resolve();
        // A busy machine can take longer to fetch a job than a job takes.
        await full.promise;
        await new Promise((resolve) => setTimeout(resolve, 20));
        running -= 1;
        done += 1;
      },
    });
    await queue.add(jobs(Array.from({ length: 30 }, (_value, index) => `c-${index}`)));
    await expect.poll(() => done).toBe(30);
    expect(maxRunning).toBe(3);
  });

  test('a failing job does not block the next jobs', async () => {
    const queue = await open();
    const handled: string[] = [];
    await queue.work({
      concurrency: 1,
      handler: async ({ id }) => {
        handled.push(id);
        if (id === 'bad') throw new Error('on purpose');
      },
    });
    await queue.add(jobs(['bad', 'good']));
    await expect.poll(() => handled).toEqual(['bad', 'good']);
  });

  test('a drain waits for active jobs and fetches no more jobs', async () => {
    const queue = await open();
    const [started, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const handled: string[] = [];
    const handler: WorkOptions['handler'] = async ({ id }) => {
      if (id === 'slow') {
        started.resolve();
        await release.promise;
      }
      handled.push(id);
    };
    const worker = await queue.work({ concurrency: 1, handler });
    await queue.add(jobs(['slow', 'next']));
    await started.promise;
    const drained = worker.drain(10_000);
    release.resolve();
    await drained;
    expect(handled).toEqual(['slow']);
    await queue.work({ concurrency: 1, handler });
    await expect.poll(() => handled).toEqual(['slow', 'next']);
  });

  test('a worker continues after the store was killed and restarted', async () => {
    const queue = await open();
    const handled = new Set<string>();
    await queue.work({ concurrency: 4, handler: async ({ id }) => void handled.add(id) });
    await queue.add(jobs(['before']));
    await expect.poll(() => handled.has('before')).toBe(true);
    await restart();
    await expect
      .poll(async () => {
        await queue.add(jobs(['after'])).catch(() => undefined);
        return handled.has('after');
      })
      .toBe(true);
  });
}
