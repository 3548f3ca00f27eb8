import { expect, onTestFinished, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { reconnectSeconds } from './lease.ts';
import { recordReachable } from './reachability.ts';

test.each([
  [1, false],
  [5, true],
])(
  'after %i s without a reachable hub, the expiry of a pending command is extended by the reconnect time of devices: %s',
  async (outageSeconds, isExtended) => {
    const database = await acquireDatabase();
    const db = new Database({
      url: database.url,
      maxConnections: 2,
      applicationName: 'test',
      onError: () => undefined,
    });
    onTestFinished(async () => {
      await db[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    });
    const [tenantId, nodeId, workflowId, runId, id] = [newId(), newId(), newId(), newId(), newId()];
    await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'away', '{}')`, [tenantId]);
    await database.query(
      `INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser) VALUES ($1, $2, 'n', false, false)`,
      [nodeId, tenantId],
    );
    await database.query(
      `INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at) VALUES ($1, $2, $3, 1, $3, 'running', '{}', 'live', 1, now())`,
      [runId, tenantId, workflowId],
    );
    await database.query(
      `INSERT INTO node_commands (id, tenant_id, node_id, run_id, step_index, attempt, call, type, acts, input, status, timeout_ms, expires_at)
       VALUES ($1, $2, $3, $4, 0, 1, 0, 'node.ping', false, '{}', 'pending', 1000, now() + interval '20 seconds')`,
      [id, tenantId, nodeId, runId],
    );
    await recordReachable(db);
    await database.query(`UPDATE node_commands SET expires_at = now() + interval '20 seconds'`);
    await database.query(
      `UPDATE hub_settings SET updated_at = now() - make_interval(secs => $1) WHERE key = 'devices_served'`,
      [outageSeconds],
    );
    await recordReachable(db);
    const [row] = await database.query<{ left: number }>(
      'SELECT extract(epoch FROM expires_at - now())::float8 AS left FROM node_commands WHERE id = $1',
      [id],
    );
    if (isExtended) expect(row?.left).toBeGreaterThan(reconnectSeconds);
    else expect(row?.left).toBeLessThanOrEqual(20);
  },
);
