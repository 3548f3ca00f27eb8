import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { Resumption } from '../../../engine/index.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import { Database, DatabaseOutage } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { ArtifactQuota } from '../artifacts/artifact-quota.ts';
import { CommandResults } from './results.ts';

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

async function createNode() {
  const [tenantId, nodeId] = [newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, $2, '{}')`, [tenantId, tenantId]);
  await database.query(
    `INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser) VALUES ($1, $2, 'n', false, false)`,
    [nodeId, tenantId],
  );
  return { tenantId, nodeId };
}

/** Creates a leased command, in a new workspace unless `device` is given. */
async function createLeasedCommand(device?: { tenantId: string; nodeId: string }) {
  const { tenantId, nodeId } = device ?? (await createNode());
  const [workflowId, runId, commandId] = [newId(), newId(), newId()];
  await database.query(
    `INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at) VALUES ($1, $2, $3, 1, $3, 'running', '{}', 'live', 1, now())`,
    [runId, tenantId, workflowId],
  );
  await database.query(
    `INSERT INTO node_commands (id, tenant_id, node_id, run_id, step_index, attempt, type, acts, input, status, timeout_ms, expires_at, handed_out_at, lease_expires_at)
     VALUES ($1, $2, $3, $4, 0, 1, 'node.ping', false, '{}', 'leased', 1000, now() + interval '1 hour', now(), now() + interval '1 hour')`,
    [commandId, tenantId, nodeId, runId],
  );
  return { tenantId, nodeId, commandId };
}

/** Records the keys of stored blobs. Deleting a partial blob fails. */
function recordingBlobs() {
  const storedKeys = new Set<string>();
  const blobs = {
    put: async (key: string) => {
      storedKeys.add(key);
      return { bytes: 1, sha256: 'a'.repeat(64) };
    },
    delete: async (key: string) => void storedKeys.delete(key),
    partials: { delete: () => Promise.reject(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })) },
  } as unknown as Blobs;
  return { storedKeys, blobs };
}

const noCache = { cacheOutcome: () => undefined };
const resumption = () => new Resumption(null);
const pong = { status: 'succeeded' as const, output: { pong: true, latencyMs: 0, appVersion: '1' }, artifacts: [] };
const file = { name: 'a.png', contentType: 'image/png', bytes: 1, open: () => Readable.from(['x']) };

test('of two concurrent results, the one that exceeds the quota leaves no blob behind', async () => {
  const device = await createNode();
  const { tenantId } = device;
  const commands = [await createLeasedCommand(device), await createLeasedCommand(device)];
  const bothStored = Promise.withResolvers<void>();
  const { storedKeys, blobs } = recordingBlobs();
  const put = async (key: string) => {
    storedKeys.add(key);
    if (storedKeys.size === 2) bothStored.resolve();
    await bothStored.promise;
    return { bytes: 600, sha256: 'a'.repeat(64) };
  };
  const results = new CommandResults({
    commands: noCache,
    db,
    blobs: { ...blobs, put },
    quota: new ArtifactQuota(1_000),
    resumption,
  });
  const answers = await Promise.allSettled(
    commands.map(({ commandId }) => results.complete(device, commandId, pong as never, [{ ...file, bytes: 600 }])),
  );
  expect(
    answers.map((answer) =>
      answer.status === 'fulfilled' ? answer.value.recorded : (answer.reason as { code: string }).code,
    ),
  ).toEqual(expect.arrayContaining(['storage_full', true]));
  const rows = await database.query<{ id: string }>('SELECT id FROM artifacts WHERE tenant_id = $1', [tenantId]);
  expect([...storedKeys]).toEqual(rows.map(({ id }) => `${tenantId}/${id}`));
});

test('an artifact keeps its bytes when the connection breaks after the commit of its result', async () => {
  const { tenantId, nodeId, commandId } = await createLeasedCommand();
  let transactions = 0;
  const breaking = {
    read: (...given: Parameters<Database['read']>) => db.read(...given),
    workspace: async (...given: Parameters<Database['workspace']>) => {
      const result = await db.workspace(...given);
      transactions += 1;
      if (transactions === 1)
        throw new DatabaseOutage(
          'The database is out of reach; try again shortly.',
          new Error('Connection terminated unexpectedly'),
        );
      return result;
    },
  } as unknown as Database;
  const { storedKeys, blobs } = recordingBlobs();
  const results = new CommandResults({
    commands: noCache,
    db: breaking,
    blobs,
    quota: new ArtifactQuota(1_000),
    resumption,
  });
  await expect(results.complete({ tenantId, nodeId }, commandId, pong as never, [file])).rejects.toThrow(
    DatabaseOutage,
  );
  const rows = await database.query<{ id: string }>('SELECT id FROM artifacts WHERE command_id = $1', [commandId]);
  expect(rows).toHaveLength(1);
  expect([...storedKeys]).toEqual(rows.map(({ id }) => `${tenantId}/${id}`));
  // A device without a response sends the result again.
  expect(await results.complete({ tenantId, nodeId }, commandId, pong as never, [file])).toMatchObject({
    recorded: false,
    status: 'succeeded',
  });
});

test('an artifact keeps its bytes when deleting another upload of its command fails', async () => {
  const { tenantId, nodeId, commandId } = await createLeasedCommand();
  await database.query(
    `INSERT INTO artifact_uploads (id, tenant_id, node_id, command_id, name, content_type, bytes, sha256) VALUES ($1, $2, $3, $4, 'b.png', 'image/png', 1, $5)`,
    [newId(), tenantId, nodeId, commandId, 'b'.repeat(64)],
  );
  const { storedKeys, blobs } = recordingBlobs();
  const results = new CommandResults({
    commands: noCache,
    db,
    blobs,
    quota: new ArtifactQuota(1_000),
    resumption,
  });
  expect(await results.complete({ tenantId, nodeId }, commandId, pong as never, [file])).toMatchObject({
    recorded: true,
    status: 'succeeded',
  });
  const rows = await database.query<{ id: string }>('SELECT id FROM artifacts WHERE command_id = $1', [commandId]);
  expect(rows).toHaveLength(1);
  expect([...storedKeys]).toEqual(rows.map(({ id }) => `${tenantId}/${id}`));
});

test('a result whose upload is missing or changed fails with checksum_mismatch, so that the device uploads again', async () => {
  for (const found of [null, 'c'.repeat(64)]) {
    const { tenantId, nodeId, commandId } = await createLeasedCommand();
    await database.query(
      `INSERT INTO artifact_uploads (id, tenant_id, node_id, command_id, name, content_type, bytes, sha256, verified_at) VALUES ($1, $2, $3, $4, 'b.png', 'image/png', 1, $5, now())`,
      [newId(), tenantId, nodeId, commandId, 'b'.repeat(64)],
    );
    const removed: string[] = [];
    const put = () =>
      found === null
        ? Promise.reject(Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' }))
        : Promise.resolve({ bytes: 1, sha256: found });
    const blobs = {
      put,
      delete: async (key: string) => void removed.push(key),
      partials: { read: () => Readable.from([]), delete: async (id: string) => void removed.push(id) },
    } as unknown as Blobs;
    const results = new CommandResults({
      commands: noCache,
      db,
      blobs,
      quota: new ArtifactQuota(1_000),
      resumption,
    });
    await expect(
      results.complete({ tenantId, nodeId }, commandId, { ...pong, uploads: ['b.png'] } as never, []),
    ).rejects.toMatchObject({ code: 'checksum_mismatch' });
    expect(await database.query('SELECT 1 FROM artifact_uploads WHERE command_id = $1', [commandId])).toEqual([]);
    expect(removed).toHaveLength(found === null ? 1 : 2);
    expect(await database.query('SELECT status FROM node_commands WHERE id = $1', [commandId])).toEqual([
      { status: 'leased' },
    ]);
  }
});

/** Creates a slot for one run, and records the runs that begin in it. */
function oneSlot() {
  const startedRuns: { id: string; fence: string; next_step: number; steps: unknown[]; results: unknown[] }[] = [];
  let isOpen = true;
  const slot = {
    holderId: newId(),
    begin: (run: (typeof startedRuns)[number]) => void startedRuns.push(run),
    [Symbol.dispose]: () => void (isOpen = false),
  };
  const woken: string[] = [];
  db.onDue((tenantIds) => woken.push(...tenantIds));
  return {
    startedRuns,
    woken,
    isOpen: () => isOpen,
    resumption: () => new Resumption(slot),
  };
}

/**
 * Creates a leased command for which a run of a workflow waits. If `isLeased`, another worker has a lease on the run.
 */
async function createWaitingRun(isLeased: boolean) {
  const device = await createLeasedCommand();
  const { tenantId, commandId } = device;
  const [{ run_id: runId, workflow_id: workflowId }] = (await database.query<{ run_id: string; workflow_id: string }>(
    'SELECT c.run_id, r.workflow_id FROM node_commands c JOIN runs r ON r.id = c.run_id WHERE c.id = $1',
    [commandId],
  )) as [{ run_id: string; workflow_id: string }];
  const steps = JSON.stringify([{ type: 'skill', skillId: 'node.ping', input: {} }]);
  await database.query(
    `INSERT INTO workflows (id, tenant_id, name, steps, trigger, version, active) VALUES ($1, $2, 'w', $3, '{}', 1, true)`,
    [workflowId, tenantId, steps],
  );
  await database.query(
    `INSERT INTO workflow_versions (workflow_id, tenant_id, version, name, steps) VALUES ($1, $2, 1, 'w', $3)`,
    [workflowId, tenantId, steps],
  );
  await database.query(
    `UPDATE runs SET started_at = now(), fence = 4, wake_at = now() + interval '1 hour', holder_id = CASE WHEN $2 THEN gen_random_uuid() END WHERE id = $1`,
    [runId, isLeased],
  );
  await database.query(
    `INSERT INTO run_steps (run_id, index, tenant_id, status, attempts, wait, started_at) VALUES ($1, 0, $2, 'running', 1, $3, now())`,
    [runId, tenantId, JSON.stringify({ kind: 'node_command', commandId })],
  );
  const runNow = async () =>
    (
      await database.query(
        'SELECT fence::text, holder_id IS NOT NULL AS is_leased, wake_at <= now() AS is_due FROM runs WHERE id = $1',
        [runId],
      )
    )[0];
  return { ...device, runId, runNow };
}

test('the process that records a result leases the waiting run when it has a free slot, without a job', async () => {
  const { runId, runNow, commandId, ...device } = await createWaitingRun(false);
  const { startedRuns, woken, resumption: slotResumption } = oneSlot();
  const quota = new ArtifactQuota(1_000);
  const { blobs } = recordingBlobs();
  const results = new CommandResults({
    commands: noCache,
    db,
    blobs,
    quota,
    resumption: slotResumption,
  });
  expect(await results.complete(device, commandId, pong as never, [])).toMatchObject({ recorded: true });
  const { fence } = (await runNow()) as { fence: string };
  expect(fence).not.toBe('4');
  expect(await runNow()).toEqual({ fence, is_leased: true, is_due: true });
  expect(startedRuns).toMatchObject([{ id: runId, fence, next_step: 0, steps: [{}], results: [{ index: 0 }] }]);
  expect(woken).toEqual([]);
  // A device without a response sends the result again. The run does not begin twice.
  expect(await results.complete(device, commandId, pong as never, [])).toMatchObject({ recorded: false });
  expect(startedRuns).toHaveLength(1);
});

test('a result of a run that another worker has leased makes the run due', async () => {
  const { runNow, commandId, ...device } = await createWaitingRun(true);
  const { startedRuns, woken, isOpen, resumption: slotResumption } = oneSlot();
  const { blobs } = recordingBlobs();
  const results = new CommandResults({
    commands: noCache,
    db,
    blobs,
    quota: new ArtifactQuota(1_000),
    resumption: slotResumption,
  });
  expect(await results.complete(device, commandId, pong as never, [])).toMatchObject({ recorded: true });
  expect(await runNow()).toEqual({ fence: '4', is_leased: true, is_due: true });
  expect(startedRuns).toEqual([]);
  expect(woken).toHaveLength(1);
  expect(isOpen()).toBe(false);
});

test('a result that cannot be recorded leaves its run waiting and releases the reserved slot', async () => {
  const { runNow, commandId, ...device } = await createWaitingRun(false);
  const { startedRuns, woken, isOpen, resumption: slotResumption } = oneSlot();
  const { blobs } = recordingBlobs();
  const results = new CommandResults({
    commands: noCache,
    db,
    blobs,
    quota: new ArtifactQuota(1_000),
    resumption: slotResumption,
  });
  const unknown = Promise.reject(new Error('the device is revoked'));
  await expect(results.complete(device, commandId, pong as never, [], unknown)).rejects.toThrow('revoked');
  expect(await runNow()).toEqual({ fence: '4', is_leased: false, is_due: false });
  expect([startedRuns, woken, isOpen()]).toEqual([[], [], false]);
});
