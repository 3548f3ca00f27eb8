import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { Database } from '../../../platform/db/database.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { ArtifactQuota, foldArtifactUsage } from './artifact-quota.ts';

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

async function workspace(): Promise<string> {
  const tenantId = newId();
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, $2, '{}')`, [tenantId, tenantId]);
  return tenantId;
}

const addArtifacts = (tx: Transaction, tenantId: string, runId: string, sizes: number[]) =>
  tx.query(
    'add_artifacts',
    `INSERT INTO artifacts (id, tenant_id, node_id, run_id, command_id, name, content_type, bytes, sha256) SELECT gen_random_uuid(), $1, $2, $2, $2, 'a', 'image/png', bytes, 'x' FROM unnest($3::bigint[]) bytes`,
    [tenantId, runId, sizes],
  );

/** Bytes of each workspace: the sum over its artifacts and uploads, and the usage recorded in `artifact_usage`. */
const countAll = () =>
  database.query<{ id: string; rows: number; room: number }>(
    `SELECT t.id, (SELECT coalesce(sum(bytes), 0) FROM artifacts a WHERE a.tenant_id = t.id)::int + (SELECT coalesce(sum(bytes), 0) FROM artifact_uploads u WHERE u.tenant_id = t.id)::int AS rows,
       (SELECT coalesce(sum(bytes), 0) FROM artifact_usage r WHERE r.tenant_id = t.id)::int AS room FROM tenants t ORDER BY t.id`,
  );

test('recorded usage equals the stored bytes of each workspace while rows are added, deleted, rolled back and folded concurrently', async () => {
  const tenants = [await workspace(), await workspace(), await workspace()];
  const [nodeId, runId] = [newId(), newId()];
  await database.query(
    `INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser) VALUES ($1, $2, 'n', false, false)`,
    [nodeId, tenants[0]],
  );
  await database.query(
    `INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at) VALUES ($1, $2, $1, 1, $1, 'running', '{}', 'live', 1, now())`,
    [runId, tenants[0]],
  );
  const upload = async (tenantId: string, n: number) => {
    const commandId = newId();
    await db.workspace(tenantId, async (tx) => {
      await tx.query(
        'add_command',
        `INSERT INTO node_commands (id, tenant_id, node_id, run_id, step_index, attempt, type, acts, input, status, timeout_ms, expires_at) VALUES ($1, $2, $3, $4, $5, 1, 'node.ping', false, '{}', 'leased', 1000, now())`,
        [commandId, tenantId, nodeId, runId, n],
      );
      await tx.query(
        'add_upload',
        `INSERT INTO artifact_uploads (id, tenant_id, node_id, command_id, name, content_type, bytes, sha256) VALUES ($1, $2, $3, $4, 'a', 'image/png', 7, 'x')`,
        [newId(), tenantId, nodeId, commandId],
      );
    });
    // Deleting a command deletes its uploads.
    if (n % 2 === 0)
      await db.workspace(tenantId, (tx) =>
        tx.query('drop_command', 'DELETE FROM node_commands WHERE id = $1', [commandId]),
      );
    else
      await db.workspace(tenantId, (tx) =>
        tx.query('change_upload', 'UPDATE artifact_uploads SET bytes = 70 WHERE command_id = $1', [commandId]),
      );
  };
  const work = async (n: number) => {
    const tenantId = tenants[n % 3] as string;
    await db.workspace(tenantId, (tx) => addArtifacts(tx, tenantId, newId(), [n, 10 * n]));
    const rolledBack = db.workspace(tenantId, async (tx) => {
      await addArtifacts(tx, tenantId, newId(), [1_000]);
      throw new Error('broke off');
    });
    await expect(rolledBack).rejects.toThrow('broke off');
    await upload(tenantId, n);
    if (n % 4 === 0) await foldArtifactUsage(db);
    if (n % 5 === 0)
      await db.system((tx) =>
        tx.query(
          'retention',
          'DELETE FROM artifacts WHERE id = ANY(ARRAY(SELECT id FROM artifacts ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED))',
          [],
        ),
      );
  };
  await Promise.all(Array.from({ length: 30 }, (_unused, n) => work(n)));
  const counted = await countAll();
  expect(counted.filter(({ rows }) => rows > 0).map(({ id }) => id)).toEqual(tenants.toSorted());
  for (const { rows, room } of counted) expect(room).toBe(rows);
  await foldArtifactUsage(db);
  expect(await countAll()).toEqual(counted);
  expect(await database.query('SELECT count(*)::int AS n, bool_and(folded) AS folded FROM artifact_usage')).toEqual([
    { n: 3, folded: true },
  ]);
  await database.query('DELETE FROM tenants WHERE id = $1', [tenants[2]]);
  expect(await countAll()).toEqual(counted.filter(({ id }) => id !== tenants[2]));
});

test('checking the quota reads a few usage rows, regardless of the number of artifacts', async () => {
  const tenantId = await workspace();
  await db.workspace(tenantId, (tx) =>
    addArtifacts(
      tx,
      tenantId,
      newId(),
      Array.from({ length: 3_000 }, () => 1),
    ),
  );
  const quota = new ArtifactQuota(3_000);
  await expect(db.workspace(tenantId, (tx) => quota.assertFree(tx, tenantId, 1))).rejects.toMatchObject({
    code: 'storage_full',
  });
  await db.workspace(tenantId, (tx) => quota.assertFree(tx, tenantId, 0));
  expect(
    await database.query('SELECT count(*)::int AS n FROM artifact_usage WHERE tenant_id = $1', [tenantId]),
  ).toEqual([{ n: 1 }]);
});

test('a workspace transaction cannot change the recorded usage directly', async () => {
  const tenantId = await workspace();
  for (const change of [
    'INSERT INTO artifact_usage (tenant_id, bytes) VALUES ($1, -1000)',
    'UPDATE artifact_usage SET bytes = 0 WHERE tenant_id = $1',
    'DELETE FROM artifact_usage WHERE tenant_id = $1',
  ]) {
    await expect(db.workspace(tenantId, (tx) => tx.query(change, change, [tenantId]))).rejects.toThrow(
      'permission denied',
    );
  }
});
