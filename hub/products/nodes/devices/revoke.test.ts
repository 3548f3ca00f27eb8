import { afterAll, beforeAll, expect, test } from 'vitest';
import { commands as catalog } from '../../../../shared/commands/catalog.ts';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { Database } from '../../../platform/db/database.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { NodeCommands } from '../commands/commands.ts';
import { nodePort } from '../engine-port.ts';
import { Nodes } from '../service.ts';
import type { NodesDependencies } from '../service.ts';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 6, applicationName: 'test', onError: () => undefined });
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** Creates a paired node and a run, and returns the two ways in which the engine writes a command for them. */
async function createScenario() {
  const [tenantId, nodeId, workflowId, runId, id] = [newId(), newId(), newId(), newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1::uuid, $1::text, '{}')`, [tenantId]);
  await database.query(
    `INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser, paired_at) VALUES ($1, $2, 'n', false, false, now())`,
    [nodeId, tenantId],
  );
  await database.query(
    `INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at) VALUES ($1, $2, $3, 1, $3, 'running', '{}', 'live', 1, now())`,
    [runId, tenantId, workflowId],
  );
  const commands = new NodeCommands({ db });
  const port = nodePort(commands, 15);
  const request = {
    id,
    tenantId,
    nodeId,
    runId,
    stepIndex: 0,
    attempt: 1,
    call: 0,
    command: catalog['node.ping'],
    input: {},
    waitMs: 600_000,
    deadlineInSeconds: null,
    approval: null,
    origin: { step: { index: 0, name: null }, approvedBy: null, reason: null },
  };
  const ways = {
    waiting: async (tx: Transaction) => void (await port.dispatch(tx, request)),
    pipelined: (tx: Transaction) => port.dispatchPipelined(tx, request),
  };
  const nodes = new Nodes({ db } as unknown as NodesDependencies);
  const command = async () =>
    (
      await database.query<{ status: string; code: string | null }>(
        `SELECT status, error->>'code' AS code FROM node_commands WHERE id = $1`,
        [id],
      )
    )[0];
  return { tenantId, nodeId, runId, ways, nodes, commands, command };
}

/** Returns once a statement waits for a lock, or once `work` is done without waiting. */
async function untilBlocked(work: Promise<unknown>): Promise<void> {
  let isDone = false;
  const done = () => {
    isDone = true;
  };
  work.then(done, done);
  await expect
    .poll(async () => {
      const waiting = await database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return isDone || waiting.length > 0;
    })
    .toBe(true);
}

test.each(['waiting', 'pipelined'] as const)(
  'a command whose transaction (%s) is open when its node is revoked ends with node_revoked',
  async (way) => {
    const { tenantId, nodeId, runId, ways, nodes, command } = await createScenario();
    const written = Promise.withResolvers<void>();
    const commit = Promise.withResolvers<void>();
    const writing = db.workspace(tenantId, async (tx) => {
      // The engine also locks the run before it writes a command.
      await tx.query('lock_run', 'SELECT FROM runs WHERE id = $1 FOR NO KEY UPDATE', [runId]);
      await ways[way](tx);
      written.resolve();
      await commit.promise;
    });
    await written.promise;
    const revoking = nodes.revoke(tenantId, nodeId, 'user:test');
    await untilBlocked(revoking);
    commit.resolve();
    await writing;
    await revoking;
    expect(await command()).toEqual({ status: 'failed', code: 'node_revoked' });
  },
);

test.each(['waiting', 'pipelined'] as const)(
  'no command is written (%s) for a node whose revocation commits first',
  async (way) => {
    const { tenantId, nodeId, ways, command } = await createScenario();
    const revoked = Promise.withResolvers<void>();
    const commit = Promise.withResolvers<void>();
    const revoking = db.workspace(tenantId, async (tx) => {
      await tx.query('lock_node', 'SELECT FROM nodes WHERE id = $1 FOR UPDATE', [nodeId]);
      await tx.query('revoke', 'UPDATE nodes SET revoked_at = now() WHERE id = $1', [nodeId]);
      revoked.resolve();
      await commit.promise;
    });
    await revoked.promise;
    const writing = db.workspace(tenantId, ways[way]).then(
      () => 'written',
      () => 'refused',
    );
    await untilBlocked(writing);
    commit.resolve();
    await revoking;
    expect(await writing).toBe('refused');
    expect(await command()).toBeUndefined();
  },
);

test('after a crash between the two transactions of a revocation, the next sweep ends open commands with node_revoked', async () => {
  const { tenantId, nodeId, ways, commands, command } = await createScenario();
  await database.query(
    `INSERT INTO hub_settings (key, value, updated_at) VALUES ('devices_served', 'true', now() + interval '1 hour') ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at`,
  );
  await db.workspace(tenantId, ways.waiting);
  await database.query('UPDATE nodes SET revoked_at = now() WHERE id = $1', [nodeId]);
  await database.query(`UPDATE node_commands SET expires_at = now() - interval '1 second' WHERE node_id = $1`, [
    nodeId,
  ]);
  await commands.sweep();
  expect(await command()).toEqual({ status: 'failed', code: 'node_revoked' });
});
