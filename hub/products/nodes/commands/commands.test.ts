import { Client } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { commands as catalog } from '../../../../shared/commands/catalog.ts';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { Database, DatabaseOutage } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { NodeCommands } from './commands.ts';
import { extendLeases } from './lease-commands.ts';
import { recordReachable } from './reachability.ts';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 4, applicationName: 'test', onError: () => undefined });
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

test.each([3_600_000, -3_600_000])(
  'the remaining time of a command follows the clock of the database when the clock of the process differs by %i ms',
  async (offsetMs) => {
    const [tenantId, nodeId, runId, id] = [newId(), newId(), newId(), newId()];
    await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1::uuid, $1::text, '{}')`, [tenantId]);
    await database.query(
      `INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser) VALUES ($1, $2, 'n', false, false)`,
      [nodeId, tenantId],
    );
    await database.query(
      `INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at) VALUES ($1, $2, $1, 1, $1, 'running', '{}', 'live', 1, now())`,
      [runId, tenantId],
    );
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offsetMs });
    onTestFinished(() => void vi.useRealTimers());
    const commands = new NodeCommands({ db });
    await db.workspace(tenantId, (tx) =>
      commands.dispatch(tx, {
        id,
        tenantId,
        nodeId,
        runId,
        stepIndex: 0,
        attempt: 1,
        call: 0,
        command: catalog['node.ping'],
        input: {},
        waitMs: 30_000,
        deadlineInSeconds: 20,
        approval: null,
        origin: { step: { index: 0, name: null }, approvedBy: null, reason: null },
      }),
    );
    const result = await commands.leaseCommands(
      { tenantId, nodeId },
      { max: 1, running: [], isRunningComplete: false },
      new AbortController().signal,
    );
    const endsInMs = result?.response.commands[0]?.endsInMs ?? 0;
    expect(endsInMs).toBeGreaterThan(10_000);
    expect(endsInMs).toBeLessThanOrEqual(20_000);
  },
);

test('a command that its node does not allow fails with denied_by_policy, and is not marked as leased when the hub crashes in between', async () => {
  const [tenantId, nodeId, workflowId, runId] = [newId(), newId(), newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'commands', '{}')`, [tenantId]);
  await database.query(
    `INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser) VALUES ($1, $2, 'n', false, false)`,
    [nodeId, tenantId],
  );
  await database.query(
    `INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at) VALUES ($1, $2, $3, 1, $3, 'running', '{}', 'live', 1, now())`,
    [runId, tenantId, workflowId],
  );
  const add = async (type: string, acts: boolean, call: number) => {
    const id = newId();
    await database.query(
      `INSERT INTO node_commands (id, tenant_id, node_id, run_id, step_index, attempt, call, type, acts, input, status, timeout_ms, expires_at)
       VALUES ($1, $2, $3, $4, 0, 1, $5, $6, $7, '{}', 'pending', 1000, now() + interval '1 hour')`,
      [id, tenantId, nodeId, runId, call, type, acts],
    );
    return id;
  };
  const [refused, ping] = [await add('browser.click', true, 1), await add('node.ping', false, 2)];
  const stateOf = async (id: string) =>
    (
      await database.query<{ status: string; code: string | null }>(
        `SELECT status, error->>'code' AS code FROM node_commands WHERE id = $1`,
        [id],
      )
    )[0];
  let transactions = 0;
  const failingDatabase = {
    workspace: async (...given: Parameters<Database['workspace']>) => {
      transactions += 1;
      if (transactions > 1)
        throw new DatabaseOutage('The database is out of reach; try again shortly.', new Error('gone'));
      return db.workspace(...given);
    },
  } as unknown as Database;
  const query = (targetDb: Database) =>
    new NodeCommands({ db: targetDb }).leaseCommands(
      { tenantId, nodeId },
      { max: 2, running: [], isRunningComplete: false },
      new AbortController().signal,
    );
  expect((await query(failingDatabase))?.response.commands.map(({ id }) => id)).toEqual([ping]);
  expect(await stateOf(refused)).toEqual({ status: 'pending', code: null });
  expect((await query(db))?.response.commands).toEqual([]);
  expect(await stateOf(refused)).toEqual({ status: 'failed', code: 'denied_by_policy' });
  expect(await stateOf(ping)).toEqual({ status: 'leased', code: null });
});

test('one sweep ends all expired commands of several batches, except those whose run is locked', async () => {
  await database.query('DELETE FROM node_commands');
  await recordReachable(db);
  // No hub runs here that records this again while the sweeps last.
  await database.query(`UPDATE hub_settings SET updated_at = now() + interval '1 hour' WHERE key = 'devices_served'`);
  const [tenantId, nodeId, workflowId] = [newId(), newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'sweep', '{}')`, [tenantId]);
  await database.query(
    `INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser) VALUES ($1, $2, 'n', false, false)`,
    [nodeId, tenantId],
  );
  const count = 250;
  await database.query(
    `WITH waiting AS (
       INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at)
       SELECT gen_random_uuid(), $1, $3, 1, gen_random_uuid(), 'running', '{}', 'live', 1, now() FROM generate_series(1, $4::int) RETURNING id
     )
     INSERT INTO node_commands (id, tenant_id, node_id, run_id, step_index, attempt, call, type, acts, input, status, timeout_ms, expires_at)
     SELECT gen_random_uuid(), $1, $2, id, 0, 1, 0, 'node.ping', false, '{}', 'pending', 1000, now() - interval '1 second' FROM waiting`,
    [tenantId, nodeId, workflowId, count],
  );
  const woken = new Set<string>();
  db.onDue((tenantIds) => tenantIds.forEach((id) => woken.add(id)));
  const commands = new NodeCommands({ db });
  const statuses = () =>
    database.query(
      `SELECT status, error->>'code' AS code, count(*)::int AS count FROM node_commands GROUP BY status, code ORDER BY status`,
    );
  // A command of the first batch whose run is locked does not end the sweep.
  await db.workspace(tenantId, async (tx) => {
    await tx.query(
      'lock_first_run',
      'SELECT FROM runs WHERE id = (SELECT run_id FROM node_commands ORDER BY id LIMIT 1) FOR UPDATE',
      [],
    );
    expect(await commands.sweep()).toBe(count - 1);
  });
  expect(await statuses()).toEqual([
    { status: 'failed', code: 'node_offline', count: count - 1 },
    { status: 'pending', code: null, count: 1 },
  ]);
  expect(await commands.sweep()).toBe(1);
  expect(await statuses()).toEqual([{ status: 'failed', code: 'node_offline', count }]);
  const due = await database.query('SELECT 1 FROM runs WHERE tenant_id = $1 AND wake_at <= now()', [tenantId]);
  expect(due).toHaveLength(count);
  expect([...woken]).toEqual([tenantId]);
});

test('a device continues a command that expires while another transaction has it locked', async () => {
  const [tenantId, nodeId, workflowId] = [newId(), newId(), newId()];
  const [expired, renewed, ended] = [newId(), newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1::uuid, $1::text, '{}')`, [tenantId]);
  await database.query(
    `INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser) VALUES ($1, $2, 'n', false, false)`,
    [nodeId, tenantId],
  );
  await database.query(
    `WITH run AS (
       INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at)
       SELECT id, $1, $3, 1, id, 'running', '{}', 'live', 1, now() FROM unnest($4::uuid[]) AS id
     ), step AS (
       INSERT INTO run_steps (run_id, index, tenant_id, status, attempts) SELECT id, 0, $1, 'running', 1 FROM unnest($4::uuid[]) AS id
     )
     INSERT INTO node_commands (id, tenant_id, node_id, run_id, step_index, attempt, call, type, acts, input, status, timeout_ms, expires_at)
     SELECT id, $1, $2, id, 0, 1, 0, 'node.ping', false, '{}', 'leased', 1000, now() FROM unnest($4::uuid[]) AS id`,
    [tenantId, nodeId, workflowId, [expired, renewed, ended]],
  );
  const other = new Client(database.url);
  await other.connect();
  try {
    await other.query('BEGIN');
    await other.query(`UPDATE node_commands SET status = 'failed', overdue = true WHERE id = $1`, [expired]);
    await other.query(`UPDATE node_commands SET expires_at = now() WHERE id = $1`, [renewed]);
    await other.query(`UPDATE node_commands SET status = 'failed' WHERE id = $1`, [ended]);
    const withdrawn = db.workspace(tenantId, (tx) => extendLeases(tx, nodeId, [expired, renewed, ended]));
    await expect
      .poll(() =>
        database.query(
          `SELECT 1 AS waits FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        ),
      )
      .toEqual([{ waits: 1 }]);
    await other.query('COMMIT');
    expect(await withdrawn).toEqual([ended]);
  } finally {
    await other.end();
  }
});
