import { expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { explainAll, planRulesOf, StatementRecorder } from '../../../test/fixtures/statement-plans.ts';
import { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids.ts';
import { claimDueRuns, listDueWorkspaces } from './claim-runs.ts';

async function addWorkflow(database: TestDatabase, tenantId: string, workflowId: string): Promise<void> {
  await database.query(
    `INSERT INTO workflows (id, tenant_id, name, active, version, trigger, steps) VALUES ($1, $2, 'w', true, 1, '{"type":"manual","schemaVersion":1}', '[]')`,
    [workflowId, tenantId],
  );
  await database.query(
    `INSERT INTO workflow_versions (workflow_id, version, tenant_id, name, steps) VALUES ($1, 1, $2, 'w', '[]')`,
    [workflowId, tenantId],
  );
}

test('claiming and listing due runs uses an index, also for a workspace with many runs', async () => {
  await using database = await acquireDatabase();
  await using db = new Database({
    url: database.url,
    maxConnections: 4,
    applicationName: 'test',
    onError: () => undefined,
  });
  const [tenantId, workflowId] = [newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'due', '{}')`, [tenantId]);
  await addWorkflow(database, tenantId, workflowId);
  // A third of the runs have ended, a third are due, and a third become due later.
  await database.query(
    `INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at, finished_at, wake_at)
     SELECT gen_random_uuid(), $1, $2, 1, gen_random_uuid(), CASE n % 3 WHEN 0 THEN 'succeeded' ELSE 'queued' END, '{}', 'live', 1, now(),
       CASE n % 3 WHEN 0 THEN now() END, CASE n % 3 WHEN 1 THEN now() - n * interval '10 milliseconds' WHEN 2 THEN now() + n * interval '1 second' END
     FROM generate_series(1, 30000) n`,
    [tenantId, workflowId],
  );
  await database.query('ANALYZE runs');
  using recorder = new StatementRecorder();
  for (const onlyRecent of [true, false]) {
    const [claimed] = await claimDueRuns(db, [{ tenantId, most: 20, onlyRecent }], newId());
    expect(claimed?.runs).toHaveLength(20);
  }
  await listDueWorkspaces(db, null);
  const found = await explainAll(database, recorder.statements, await planRulesOf(database, 3_000, 2_000));
  expect(found.map(({ statement, problems }) => ({ problems, text: statement.text }))).toEqual([]);
});

test('concurrent claims of the same runs by many workers do not crash PostgreSQL', async () => {
  await using database = await acquireDatabase();
  const open = () =>
    new Database({ url: database.url, maxConnections: 3, applicationName: 'test', onError: () => undefined });
  await using stack = new AsyncDisposableStack();
  const dbs = Array.from({ length: 12 }, () => stack.use(open()));
  const [tenantId, workflowId] = [newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'due', '{}')`, [tenantId]);
  await addWorkflow(database, tenantId, workflowId);
  await database.query(
    `INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at, wake_at)
     SELECT gen_random_uuid(), $1, $2, 1, gen_random_uuid(), 'queued', '{}', 'live', 1, now(), now() FROM generate_series(1, 100)`,
    [tenantId, workflowId],
  );
  let hasEnded = false;
  // The runs are released during the claims, so that claims find rows that have changed since the statement started.
  const releases = [1, 2, 3].map(async () => {
    while (!hasEnded)
      await database.query(
        `UPDATE runs SET holder_id = NULL, status = 'queued', started_at = NULL, wake_at = now() WHERE id = ANY(ARRAY(SELECT id FROM runs WHERE holder_id IS NOT NULL ORDER BY random() LIMIT 20 FOR UPDATE SKIP LOCKED))`,
      );
  });
  const claimed = await Promise.all(
    dbs.map(async (db, index) => {
      let count = 0;
      for (let turn = 0; turn < 150; turn += 1) {
        const [own] = await claimDueRuns(
          db,
          [{ tenantId, most: 1 + (turn % 20), onlyRecent: index % 2 === 0 }],
          newId(),
        );
        count += own?.runs.length ?? 0;
      }
      return count;
    }),
  ).finally(() => (hasEnded = true));
  await Promise.all(releases);
  expect(claimed.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(100);
});
