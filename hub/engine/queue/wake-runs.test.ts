import { Client } from 'pg';
import { expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids.ts';
import { wakeRuns } from './wake-runs.ts';

test('a run is not woken for a child run if it stops waiting for it while another transaction has locked the run', async () => {
  await using database = await acquireDatabase();
  await using db = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'test',
    onError: () => undefined,
  });
  const [tenantId, child, stopped, waiting] = [newId(), newId(), newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'wake', '{}')`, [tenantId]);
  await database.query(
    `INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at)
     SELECT id, $1, $1, 1, id, 'running', '{}', 'live', 1, now() FROM unnest($2::uuid[]) AS id`,
    [tenantId, [stopped, waiting]],
  );
  await database.query(
    `INSERT INTO run_steps (run_id, index, tenant_id, status, attempts, wait)
     SELECT id, 0, $1, 'running', 1, jsonb_build_object('kind', 'run', 'runId', $3::text) FROM unnest($2::uuid[]) AS id`,
    [tenantId, [stopped, waiting], child],
  );
  const other = new Client(database.url);
  await other.connect();
  try {
    await other.query('BEGIN');
    await other.query('UPDATE runs SET lost_leases = 1 WHERE id = ANY($1)', [[stopped, waiting]]);
    await other.query(`UPDATE run_steps SET wait = '{"kind":"retry"}' WHERE run_id = $1`, [stopped]);
    const woken = db.workspace(tenantId, (tx) => wakeRuns(tx, [stopped, waiting], [child]));
    await expect
      .poll(() =>
        database.query(
          `SELECT 1 AS waits FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        ),
      )
      .toEqual([{ waits: 1 }]);
    await other.query('COMMIT');
    await woken;
  } finally {
    await other.end();
  }
  expect(await database.query('SELECT id FROM runs WHERE wake_at IS NOT NULL')).toEqual([{ id: waiting }]);
});
