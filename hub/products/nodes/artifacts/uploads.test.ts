import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { createFileBlobs } from '../../../platform/blobs/blobs.ts';
import { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { ArtifactQuota } from './artifact-quota.ts';
import { ArtifactUploads } from './uploads.ts';

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

test('an upload is marked as verified only after its bytes are synced to disk', async () => {
  const [tenantId, nodeId, runId, commandId] = [newId(), newId(), newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'uploads', '{}')`, [tenantId]);
  await database.query(
    `INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser) VALUES ($1, $2, 'n', false, false)`,
    [nodeId, tenantId],
  );
  await database.query(
    `INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at) VALUES ($1, $2, $1, 1, $1, 'running', '{}', 'live', 1, now())`,
    [runId, tenantId],
  );
  await database.query(
    `INSERT INTO node_commands (id, tenant_id, node_id, run_id, step_index, attempt, type, acts, input, status, timeout_ms, expires_at, handed_out_at, lease_expires_at)
     VALUES ($1, $2, $3, $4, 0, 1, 'node.ping', false, '{}', 'leased', 1000, now() + interval '1 hour', now(), now() + interval '1 hour')`,
    [commandId, tenantId, nodeId, runId],
  );
  const folder = await mkdtemp(join(tmpdir(), 'outrigger-uploads-'));
  const blobs = await createFileBlobs(folder);
  const verified = () =>
    database.query<{ verified: boolean }>(
      'SELECT verified_at IS NOT NULL AS verified FROM artifact_uploads WHERE command_id = $1',
      [commandId],
    );
  const seen: unknown[] = [];
  const { sync } = blobs.partials;
  const partials = { ...blobs.partials, sync: async (id: string) => void seen.push(await sync(id), await verified()) };
  const uploads = new ArtifactUploads({ db, blobs: { ...blobs, partials }, quota: new ArtifactQuota(1_000) });
  const content = Buffer.from('all of it');
  async function* body() {
    yield content;
  }
  const metadata = {
    offset: 0,
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    contentType: 'text/plain',
  };
  expect(
    await uploads.receive({ tenantId, nodeId }, commandId, 'a.txt', metadata, body(), async () => undefined),
  ).toMatchObject({
    complete: true,
  });
  expect(seen).toEqual([undefined, [{ verified: false }]]);
  expect(await verified()).toEqual([{ verified: true }]);
  await rm(folder, { recursive: true });
});
