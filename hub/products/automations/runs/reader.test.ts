import { pino } from 'pino';
import { expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../../test/fixtures/secrets.ts';
import { until } from '../../../../test/fixtures/until.ts';
import { runTopic } from '../../../engine/index.ts';
import { Database } from '../../../platform/db/database.ts';
import { LiveTopics } from '../../../platform/events/live-topics.ts';
import { PostgresEvents } from '../../../platform/events/postgres-events.ts';
import { newId } from '../../../platform/ids.ts';
import { MemoryBudget } from '../../../platform/process/memory-budget.ts';
import { RunReader } from './reader.ts';
import type { RunParts } from './store.ts';

/** A running run with a reader of its own. */
async function openRun(stack: AsyncDisposableStack, payload: object | null = null) {
  const database = stack.use(await acquireDatabase());
  const db = stack.use(
    new Database({ url: database.url, maxConnections: 4, applicationName: 'test', onError: () => undefined }),
  );
  const events = stack.use(await PostgresEvents.connect(database.url, testSecrets, pino({ level: 'silent' })));
  const [tenantId, workflowId, flowId, runId] = [newId(), newId(), newId(), newId()];
  await database.query(`insert into tenants (id, name, entitlements) values ($1, 'w', '{}')`, [tenantId]);
  await database.query(
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps) values ($1, $2, 'w', true, 1, '{"type":"manual","schemaVersion":1}', '[]')`,
    [workflowId, tenantId],
  );
  await database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', '[]')`,
    [workflowId, tenantId],
  );
  await database.query('insert into flows (id, tenant_id, workflow_id, revision) values ($1, $2, $3, 1)', [
    flowId,
    tenantId,
    workflowId,
  ]);
  await database.query(
    `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, depth, requested_by, queued_at, started_at, payload)
     values ($1, $2, $3, 1, $4, 'running', '{"type":"manual"}', 'live', 1, 0, '{}', now(), now(), $5)`,
    [runId, tenantId, workflowId, flowId, payload],
  );
  const looks = { count: 0 };
  const counted: Pick<Database, 'read'> = {
    read: async (...request) => {
      try {
        return await db.read(...request);
      } finally {
        looks.count += 1;
      }
    },
  };
  const budget = new MemoryBudget({ limitBytes: 64 * 1024 * 1024, waitMs: 1_000 });
  const reader = new RunReader({
    db: counted as Database,
    events,
    live: stack.use(new LiveTopics(events)),
    answerMemory: budget,
    heartbeatSeconds: 30,
  });
  return { database, reader, budget, tenantId, runId, looks };
}

const whole: RunParts = { inputs: true, outputs: true, turns: 'none', indexes: null };
const first = { indexes: null, isFirst: true };

test.each([300_000, 2_000_000])(
  'a run with a payload of %s bytes is read within a memory reservation',
  async (bytes) => {
    await using stack = new AsyncDisposableStack();
    const { reader, budget, tenantId, runId } = await openRun(stack, { text: 'x'.repeat(bytes) });
    using memory = reader.openMemory(tenantId);
    await reader.get(tenantId, runId, { memory });
    expect(budget.counts.used).toBeGreaterThan(bytes);
    await reader.get(tenantId, runId, { memory, parts: { ...whole, inputs: false } });
    expect(budget.counts.used).toBe(0);
  },
);

test('streams of a run share its events and one memory reservation, until the last of them has sent', async () => {
  await using stack = new AsyncDisposableStack();
  const { reader, budget, tenantId, runId, looks } = await openRun(stack, { text: 'x'.repeat(300_000) });
  let turn = 0;
  const turns = new Set<number>();
  const count = () => {
    turn += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const all = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const events = await reader.events(tenantId, runId, whole, first);
      turns.add(turn);
      return events;
    }),
  );
  clearImmediate(counting);
  expect(looks.count).toBe(1);
  expect(new Set(all.map(({ value }) => value.run)).size).toBe(1);
  // The hub answers other requests between the streams.
  expect(turns.size).toBe(20);
  const shared = budget.counts.used;
  expect(shared).toBeLessThan(20 * 300_000);
  for (const events of all) {
    expect(budget.counts.used).toBe(shared);
    events[Symbol.dispose]();
  }
  expect(budget.counts.used).toBe(0);
});

test('a caller that waits for a run reads it again when the event connection was lost', async () => {
  await using stack = new AsyncDisposableStack();
  const { database, reader, tenantId, runId, looks } = await openRun(stack);
  const read = reader.get(tenantId, runId, { waitSeconds: 120 });
  // The connection ends while the test reads no events, and before a new connection exists.
  const listening = async () =>
    (
      await database.query<{ pid: number }>(
        `select pid from pg_stat_activity where application_name = 'outrigger-events' and datname = current_database()`,
      )
    ).map(({ pid }) => pid);
  // The second read covers the time until other processes know of the caller.
  await until(
    () => looks.count >= 2,
    () => 'the run was not read twice',
  );
  await database.query(`update runs set status = 'succeeded', finished_at = now() where id = $1`, [runId]);
  const before = await listening();
  for (const pid of before) await database.query('select pg_terminate_backend($1)', [pid]);
  expect((await read).status).toBe('succeeded');
});

test('a caller that waits for a run is woken when another process ends it', async () => {
  await using stack = new AsyncDisposableStack();
  const { database, reader, tenantId, runId, looks } = await openRun(stack);
  const elsewhere = stack.use(await PostgresEvents.connect(database.url, testSecrets, pino({ level: 'silent' })));
  const live = stack.use(new LiveTopics(elsewhere));
  const read = reader.get(tenantId, runId, { waitSeconds: 120 });
  await until(
    () => looks.count >= 2,
    () => 'the run was not read twice',
  );
  await database.query(`update runs set status = 'succeeded', finished_at = now() where id = $1`, [runId]);
  // On a busy machine the other process may not know of the caller yet.
  using telling = setInterval(() => live.changed(runTopic(runId)), 20);
  expect((await read).status).toBe('succeeded');
  expect(telling.hasRef()).toBe(true);
});
