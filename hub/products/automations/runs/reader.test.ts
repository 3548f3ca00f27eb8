import { pino } from 'pino';
import { expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../../test/fixtures/secrets.ts';
import { until } from '../../../../test/fixtures/until.ts';
import { Database } from '../../../platform/db/database.ts';
import { PostgresEvents } from '../../../platform/events/postgres-events.ts';
import { newId } from '../../../platform/ids.ts';
import { MemoryBudget } from '../../../platform/process/memory-budget.ts';
import { RunReader } from './reader.ts';

test('a caller that waits for a run reads it again when the event connection was lost', async () => {
  await using database = await acquireDatabase();
  await using db = new Database({
    url: database.url,
    maxConnections: 4,
    applicationName: 'test',
    onError: () => undefined,
  });
  await using events = await PostgresEvents.connect(database.url, testSecrets, pino({ level: 'silent' }));
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
    `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, depth, requested_by, queued_at, started_at)
     values ($1, $2, $3, 1, $4, 'running', '{"type":"manual"}', 'live', 1, 0, '{}', now(), now())`,
    [runId, tenantId, workflowId, flowId],
  );
  let looks = 0;
  const counted: Pick<Database, 'read'> = {
    read: async (...request) => {
      try {
        return await db.read(...request);
      } finally {
        looks += 1;
      }
    },
  };
  const reader = new RunReader({
    db: counted as Database,
    events,
    answerMemory: new MemoryBudget({ limitBytes: 1024 * 1024, waitMs: 1_000 }),
    heartbeatSeconds: 30,
  });
  const read = reader.get(tenantId, runId, { waitSeconds: 120 });
  // The connection ends while the test reads no events, and before a new connection exists.
  const listening = async () =>
    (
      await database.query<{ pid: number }>(
        `select pid from pg_stat_activity where application_name = 'outrigger-events' and datname = current_database()`,
      )
    ).map(({ pid }) => pid);
  await until(
    () => looks === 1,
    () => 'the run was not read',
  );
  await database.query(`update runs set status = 'succeeded', finished_at = now() where id = $1`, [runId]);
  const before = await listening();
  for (const pid of before) await database.query('select pg_terminate_backend($1)', [pid]);
  expect((await read).status).toBe('succeeded');
});
