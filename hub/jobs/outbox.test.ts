import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { PromisedJob } from '../modules/runs/index.ts';
import type { Database } from '../platform/db/database.ts';
import { newId } from '../platform/ids.ts';
import type { Queue } from '../platform/queue/queue.ts';
import { Outbox } from './outbox.ts';

const promised = (outboxId: number): PromisedJob => ({ outboxId, job: 'run', jobId: `job-${outboxId}`, data: { runId: newId(), tenantId: newId() }, notBefore: null });

test('of jobs that are promised while the queue is away none is kept in memory, and the first one after it is handed over', async () => {
  const tries: PromiseWithResolvers<void>[] = [];
  const added: string[][] = [];
  const add: Queue['add'] = (jobs) => {
    added.push(jobs.map(({ id }) => id));
    const attempt = Promise.withResolvers<void>();
    tries.push(attempt);
    return attempt.promise;
  };
  const forgotten: unknown[] = [];
  const db = { systemStatement: async (_name: string, _text: string, values: unknown[]) => (forgotten.push(...values), []) } as unknown as Database;
  await using outbox = new Outbox({ db, queue: { add } as Queue, logger: pino({ level: 'silent' }) });
  outbox.offer([promised(0)]);
  await expect.poll(() => tries.length).toBe(1);
  for (let id = 1; id <= 5_000; id += 1) outbox.offer([promised(id)]);
  tries[0]?.reject(new Error('the queue is away'));
  await new Promise((resolve) => setImmediate(resolve));
  outbox.offer([promised(5_001)]);
  await expect.poll(() => tries.length).toBe(2);
  tries[1]?.resolve();
  await expect.poll(() => forgotten).toEqual([[5_001]]);
  expect(added).toEqual([['job-0'], ['job-5001']]);
});
