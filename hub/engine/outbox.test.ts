import { pino } from 'pino';
import { expect, test } from 'vitest';
import { acquireDatabase } from '../../test/fixtures/postgres.ts';
import { explainAll, planRulesOf, StatementRecorder } from '../../test/fixtures/statement-plans.ts';
import { Database } from '../platform/db/database.ts';
import { newId } from '../platform/ids.ts';
import type { OutboxJob, Queue } from '../platform/queue/queue.ts';
import { Outbox } from './outbox.ts';

const promised = (outboxId: number): OutboxJob => ({
  outboxId,
  name: 'run',
  id: `job-${outboxId}`,
  data: { runId: newId(), tenantId: newId() },
  notBefore: null,
});

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
  const db = {
    systemStatement: async (_name: string, _text: string, values: unknown[]) => (forgotten.push(...values), []),
  } as unknown as Database;
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

test('beside a worker that has no room the queue gets few jobs of a workspace, and one that says that there are more', async () => {
  const added: string[] = [];
  const add: Queue['add'] = async (jobs) => void added.push(...jobs.map(({ id }) => id));
  const forgotten: unknown[] = [];
  const db = {
    systemStatement: async (_name: string, _text: string, [ids]: unknown[][]) => (forgotten.push(...(ids ?? [])), []),
  } as unknown as Database;
  await using outbox = new Outbox({ db, queue: { add } as Queue, logger: pino({ level: 'silent' }) });
  outbox.preferLocal(() => false);
  const tenantId = newId();
  const soon = new Date(Date.now() + 1_000);
  const jobs = Array.from({ length: 100 }, (_unused, id) => ({ ...promised(id), data: { runId: newId(), tenantId } }));
  outbox.offer(jobs.map((job, index) => (index < 50 ? job : { ...job, notBefore: soon })));
  await expect.poll(() => forgotten.length).toBe(100);
  const numbers = added.flatMap((id) => (id.startsWith('job-') ? [Number(id.slice(4))] : []));
  expect(numbers.filter((id) => id < 50).length).toBeLessThan(20);
  expect(added.some((id) => id.startsWith('more-'))).toBe(true);
  // Of one that begins later nobody would hear in time.
  expect(numbers.filter((id) => id >= 50).length).toBe(50);
});

test('what waits longest is found by an index, however much was promised while the queue was away', async () => {
  await using database = await acquireDatabase();
  await using db = new Database({
    url: database.url,
    maxConnections: 4,
    applicationName: 'test',
    onError: () => undefined,
  });
  const tenantId = newId();
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'outbox', '{}')`, [tenantId]);
  await database.query(
    `INSERT INTO outbox (tenant_id, job, job_id, data, created_at) SELECT $1, 'run', 'job-' || n, jsonb_build_object('runId', gen_random_uuid(), 'tenantId', $1::uuid), now() - interval '1 hour' - n * interval '1 millisecond' FROM generate_series(1, 20000) n`,
    [tenantId],
  );
  await database.query('ANALYZE outbox');
  const added: string[] = [];
  const add: Queue['add'] = (jobs) => {
    added.push(...jobs.map(({ id }) => id));
    return Promise.reject(new Error('the queue is away'));
  };
  using recorder = new StatementRecorder();
  await using outbox = new Outbox({ db, queue: { add } as Queue, logger: pino({ level: 'silent' }) });
  await expect(outbox.sweep()).rejects.toThrow('away');
  expect(added.slice(0, 2)).toEqual(['job-20000', 'job-19999']);
  const found = await explainAll(database, recorder.statements, await planRulesOf(database, 3_000, 2_000));
  expect(found.map(({ statement, problems }) => ({ problems, text: statement.text }))).toEqual([]);
});
