import { existsSync } from 'node:fs';
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { engineRetention } from '../../../engine/queue/upkeep.ts';
import { createFileBlobs } from '../../../platform/blobs/blobs.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import { Database } from '../../../platform/db/database.ts';
import { MonthlyPartitions } from '../../../platform/db/monthly-partitions.ts';
import { removeAged, removeExpired } from '../../../platform/db/row-retention.ts';
import { idempotencyRetention } from '../../../platform/http/routing/idempotency.ts';
import { idBefore, newId } from '../../../platform/ids.ts';
import { coreRetention } from '../../core/product.ts';
import { removeOrphanBlobs } from '../../nodes/artifacts/orphan-blobs.ts';
import { nodesRetention } from '../../nodes/product.ts';
import { automationsRetention } from '../product.ts';
import { RunRetention } from './retention.ts';

const logger = pino({ level: 'silent' });
const forEver = { logs: 0, messages: 0, sessionMessages: 0, commands: 0, artifacts: 0, audit: 0 };
const workspaces = { plain: newId(), own: newId() };
const workflowId = newId();
let database: TestDatabase;
let db: Database;
let folder: string;
let blobs: Blobs;
let months: MonthlyPartitions;

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 6, applicationName: 'test', onError: () => undefined });
  months = new MonthlyPartitions({ url: database.url, logger });
  folder = await mkdtemp(join(tmpdir(), 'outrigger-retention-'));
  blobs = await createFileBlobs(folder);
  for (const [name, id] of Object.entries(workspaces))
    await database.query(`insert into tenants (id, name, entitlements) values ($1, $2, '{}')`, [id, name]);
  await database.query(
    `insert into automation_policies (tenant_id, standing_orders, approvals_required_for, retention) values ($1, '', '{}', '{"maxAgeDays": 1000}')`,
    [workspaces.own],
  );
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** The retention rules of the whole hub. */
const retentions = (days: typeof forEver) => [
  automationsRetention(days),
  coreRetention(days),
  engineRetention,
  idempotencyRetention,
  nodesRetention(days, blobs),
];
const agedTables = (days: typeof forEver) => retentions(days).flatMap(({ aged = [] }) => aged);
const expiringTables = () => retentions(forEver).flatMap(({ expiring = [] }) => expiring);

/** An id with the time of `daysAgo` days ago. */
const idOf = (daysAgo: number) =>
  `${idBefore(new Date(Date.now() - daysAgo * 86_400_000)).slice(0, 24)}${newId().slice(24)}`;

/** A run with a step, a log line, a message, a command and an artifact; `ended` false for a run in progress. */
async function makeRun(tenantId: string, daysAgo: number, ended = true): Promise<{ id: string; artifactId: string }> {
  const [id, nodeId, artifactId] = [idOf(daysAgo), newId(), idOf(daysAgo)];
  const at = `now() - interval '${daysAgo} days'`;
  await database.query(`insert into flows (id, tenant_id, workflow_id, revision) values ($1, $2, $3, 1)`, [
    id,
    tenantId,
    workflowId,
  ]);
  await database.query(
    `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at, started_at, finished_at) values ($1, $2, $3, 1, $1, $4, '{"type":"manual"}', 'live', 1, ${at}, ${at}, ${ended ? at : 'null'})`,
    [id, tenantId, workflowId, ended ? 'succeeded' : 'running'],
  );
  await database.query(
    `insert into run_steps (run_id, index, tenant_id, status, attempts) values ($1, 0, $2, 'succeeded', 1)`,
    [id, tenantId],
  );
  await database.query(
    `insert into run_logs (id, tenant_id, run_id, step_index, level, message) values ($1, $2, $3, 0, 'info', 'x')`,
    [idOf(daysAgo), tenantId, id],
  );
  await database.query(
    `insert into messages (id, tenant_id, run_id, channel, recipient, status, summary) values ($1, $2, $3, 'email', 'x', 'delivered', '{}')`,
    [idOf(daysAgo), tenantId, id],
  );
  await database.query(
    `insert into nodes (id, tenant_id, name, allow_system, allow_browser) values ($1, $2, 'n', true, true)`,
    [nodeId, tenantId],
  );
  await database.query(
    `insert into node_commands (id, tenant_id, node_id, run_id, step_index, attempt, type, input, status, acts, expires_at, timeout_ms) values ($1, $2, $3, $4, 0, 1, 'node.ping', '{}', $5, false, now(), 1)`,
    [idOf(daysAgo), tenantId, nodeId, id, ended ? 'succeeded' : 'leased'],
  );
  await database.query(
    `insert into artifacts (id, tenant_id, node_id, run_id, command_id, name, content_type, bytes, sha256) values ($1, $2, $3, $4, $3, 'a', 'text/plain', 1, 'x')`,
    [artifactId, tenantId, nodeId, id],
  );
  await database.query(
    `insert into audit_log (id, tenant_id, actor, action, target_type, target_id, details) values ($1, $2, 'cli', 'x', 'run', $3, '{}')`,
    [idOf(daysAgo), tenantId, id],
  );
  await blobs.put(`${tenantId}/${artifactId}`, Buffer.from('x'), { maxBytes: 1 });
  return { id, artifactId };
}

const countOf = async (table: string) =>
  (await database.query<{ n: number }>(`select count(*)::int as n from ${table}`))[0]?.n;
const counts = async (...tables: string[]) =>
  Object.fromEntries(await Promise.all(tables.map(async (table) => [table, await countOf(table)] as const)));
const runIds = async () => (await database.query<{ id: string }>('select id from runs')).map(({ id }) => id).toSorted();

test('ended runs and their data are removed by month when the whole month exceeds the retention days, except in workspaces with their own policy', async () => {
  const old = await makeRun(workspaces.plain, 122);
  const young = await makeRun(workspaces.plain, 89);
  const open = await makeRun(workspaces.plain, 122, false);
  const kept = await makeRun(workspaces.own, 122);
  const tables = ['flows', 'run_steps', 'run_logs', 'messages', 'node_commands', 'artifacts'];
  expect(await new RunRetention({ db, months, blobs, logger, days: 0 }).prune()).toBe(0);
  expect(await new RunRetention({ db, months, blobs, logger, days: 90 }).prune()).toBe(1);
  expect(await runIds()).toEqual([young.id, open.id, kept.id].toSorted());
  expect(await counts(...tables)).toEqual(Object.fromEntries(tables.map((table) => [table, 3])));
  expect(existsSync(join(folder, workspaces.plain, old.artifactId))).toBe(false);
  expect(existsSync(join(folder, workspaces.plain, young.artifactId))).toBe(true);
  await database.query('truncate runs, flows, messages, artifacts, audit_log cascade');
});

test.each([
  ['messages', 'messages', 0],
  ['commands', 'node_commands', 1],
  ['artifacts', 'artifacts', 0],
  ['audit', 'audit_log', 0],
] as const)(
  '%s are removed after their own retention days in every workspace; rows in use stay, and 0 keeps them for ever',
  async (kind, table, open) => {
    for (const tenantId of Object.values(workspaces)) {
      const runs = [await makeRun(tenantId, 31), await makeRun(tenantId, 29), await makeRun(tenantId, 31, false)];
      expect(runs.length).toBe(3);
    }
    expect(await removeAged({ db, logger }, agedTables(forEver))).toEqual({});
    const before = await countOf(table);
    const removed = await removeAged({ db, logger }, agedTables({ ...forEver, [kind]: 30 }));
    expect(removed).toEqual({ [table]: 2 * (2 - open) });
    expect(await countOf(table)).toBe((before ?? 0) - 2 * (2 - open));
    await database.query('truncate runs, flows, messages, artifacts, audit_log cascade');
  },
);

test('log lines are removed by month in every workspace when the whole month exceeds the retention days; 0 keeps them for ever', async () => {
  const monthly = (days: number) => automationsRetention({ ...forEver, logs: days }).monthly ?? [];
  const far = new Date(Date.now() + 1000 * 86_400_000);
  await makeRun(workspaces.plain, 1);
  await makeRun(workspaces.own, 1);
  expect(await months.dropOver(monthly(0), undefined, far)).toEqual([]);
  expect(await months.dropOver(monthly(1100), undefined, far)).toEqual([]);
  expect(await counts('run_logs', 'run_steps')).toEqual({ run_logs: 2, run_steps: 2 });
  expect(await months.dropOver(monthly(900), undefined, far)).toEqual(['run_logs_first']);
  expect(await counts('run_logs', 'run_steps')).toEqual({ run_logs: 0, run_steps: 2 });
  await database.query('truncate runs, flows, messages, artifacts, audit_log cascade');
});

test('one turn removes more than one batch of rows', async () => {
  await database.query(
    `insert into audit_log (id, tenant_id, actor, action, target_type, target_id, details) select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, 'cli', 'x', 'run', 'x', '{}' from generate_series(1, 2500) n`,
    [workspaces.plain],
  );
  expect(await removeAged({ db, logger }, agedTables({ ...forEver, audit: 365 }))).toEqual({ audit_log: 2500 });
});

test('a sweep skips locked rows and leaves them to the next sweep', async () => {
  const [locked, free] = [newId(), newId()];
  const fresh = await database.query<{ id: string }>('select id from audit_log');
  for (const id of [locked, free]) {
    await database.query(
      `insert into memory_entries (id, tenant_id, key, value, expires_at) values ($1, $2, $3, '1', now() - interval '2 hours')`,
      [id, workspaces.plain, id],
    );
    await database.query(
      `insert into audit_log (id, tenant_id, actor, action, target_type, target_id, details) values ($1, $2, 'cli', 'x', 'run', 'x', '{}')`,
      [id === locked ? idOf(31) : idOf(32), workspaces.plain],
    );
  }
  const left = async () => [
    (await database.query<{ id: string }>('select id from memory_entries where id = any($1)', [[locked, free]])).map(
      ({ id }) => id,
    ),
    ((await countOf('audit_log')) ?? 0) - fresh.length,
  ];
  const sweep = async () => {
    await removeExpired(db, expiringTables());
    await removeAged({ db, logger }, agedTables({ ...forEver, audit: 30 }));
  };
  const mayEnd = Promise.withResolvers<void>();
  const isLocked = Promise.withResolvers<void>();
  const holding = db.system(async (tx) => {
    await tx.query('hold_entry', 'SELECT 1 FROM memory_entries WHERE id = $1 FOR UPDATE', [locked]);
    await tx.query('hold_audit', 'SELECT 1 FROM audit_log ORDER BY id LIMIT 1 FOR UPDATE', []);
    isLocked.resolve();
    await mayEnd.promise;
  });
  await isLocked.promise;
  await sweep();
  expect(await left()).toEqual([[locked], 1]);
  mayEnd.resolve();
  await holding;
  await sweep();
  expect(await left()).toEqual([[], 0]);
});

test('a table whose expired rows cannot be removed does not block expired rows of other tables', async () => {
  const id = newId();
  await database.query(
    `insert into memory_entries (id, tenant_id, key, value, expires_at) values ($1, $2, $3, '1', now() - interval '2 hours')`,
    [id, workspaces.plain, id],
  );
  await expect(removeExpired(db, [{ table: 'no_such_table' }, ...expiringTables()])).rejects.toThrow('no_such_table');
  expect(await database.query('select id from memory_entries where id = $1', [id])).toEqual([]);
});

test('a turn ends after the current batch when the process stops', async () => {
  await database.query(
    `insert into audit_log (id, tenant_id, actor, action, target_type, target_id, details) select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, 'cli', 'x', 'run', 'x', '{}' from generate_series(1, 2500) n`,
    [workspaces.plain],
  );
  await Promise.all([makeRun(workspaces.plain, 100), makeRun(workspaces.plain, 100)]);
  await database.query(
    `insert into memory_entries (id, tenant_id, key, value, expires_at) values ($1, $2, 'k', '1', now() - interval '1 day')`,
    [newId(), workspaces.plain],
  );
  const before = await counts('audit_log', 'messages');
  const stopped = AbortSignal.abort();
  const stopping = new AbortController();
  const breaking = {
    systemStatement: (...given: Parameters<Database['systemStatement']>) => db.systemStatement(...given),
    system: async (...given: Parameters<Database['system']>) => db.system(...given).finally(() => stopping.abort()),
  } as unknown as Database;
  const removed = await removeAged(
    { db: breaking, logger },
    agedTables({ ...forEver, audit: 365, messages: 30 }),
    stopping.signal,
  );
  // The order of the tables is random.
  expect([{ messages: 2 }, { audit_log: 1_000 }]).toContainEqual(removed);
  expect(await new RunRetention({ db, months, blobs, logger, days: 90 }).prune(stopped)).toBe(0);
  await removeExpired(db, expiringTables(), stopped);
  expect(await counts('audit_log', 'messages', 'memory_entries')).toEqual({
    audit_log: (before['audit_log'] ?? 0) - (removed['audit_log'] ?? 0),
    messages: (before['messages'] ?? 0) - (removed['messages'] ?? 0),
    memory_entries: 1,
  });
  await database.query('truncate runs, flows, messages, artifacts, audit_log, memory_entries cascade');
});

test('a turn removes one batch of each table before the second batch of any, and starts with a random table', async () => {
  const tables = agedTables({ ...forEver, audit: 365, messages: 30 }).filter(({ days }) => days > 0);
  const firstTables = new Set<string>();
  for (let turn = 0; turn < 50 && firstTables.size < 2; turn += 1) {
    await makeRun(workspaces.plain, 100);
    await database.query(
      `insert into audit_log (id, tenant_id, actor, action, target_type, target_id, details) select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, 'cli', 'x', 'run', 'x', '{}' from generate_series(1, 1001) n`,
      [workspaces.plain],
    );
    const batches: string[] = [];
    const recorded = tables.map((table) => ({ ...table, onRemoved: async () => void batches.push(table.table) }));
    await removeAged({ db, logger }, recorded);
    expect(batches.slice(0, 2).toSorted()).toEqual(['audit_log', 'messages']);
    expect(batches.slice(2)).toEqual(['audit_log']);
    firstTables.add(batches[0] as string);
  }
  expect(firstTables.size).toBe(2);
  await database.query('truncate runs, flows, messages, artifacts, audit_log cascade');
});

test('a workspace whose runs cannot be removed does not block the pruning of other workspaces', async () => {
  const keeping = { db, months, blobs, logger, days: 90 };
  const broken = newId();
  await database.query(`insert into tenants (id, name, entitlements) values ($1, 'broken', '{}')`, [broken]);
  for (const id of [broken, workspaces.own])
    await database.query(
      `insert into automation_policies (tenant_id, standing_orders, approvals_required_for, retention) values ($1, '', '{}', '{"maxAgeDays": 1}')
       on conflict (tenant_id) do update set retention = excluded.retention`,
      [id],
    );
  const kept = await makeRun(broken, 10);
  await database.query(
    `create function refuse_removal() returns trigger language plpgsql as $$ begin if old.tenant_id = '${broken}' then raise exception 'this run cannot be removed'; end if; return old; end $$`,
  );
  await database.query(
    'create trigger refuse_removal before delete on runs for each row execute function refuse_removal()',
  );
  try {
    // The order is random: all five turns would have to start with working workspaces to hide the failure.
    for (let turn = 0; turn < 5; turn += 1) {
      await makeRun(workspaces.own, 10);
      const failure = await new RunRetention(keeping).prune().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(AggregateError);
      expect((failure as AggregateError).message).toContain(broken);
      expect(await runIds()).toEqual([kept.id]);
    }
  } finally {
    await database.query('drop function refuse_removal() cascade');
    await database.query('delete from automation_policies where tenant_id = $1', [broken]);
    await database.query(`update automation_policies set retention = '{"maxAgeDays": 1000}' where tenant_id = $1`, [
      workspaces.own,
    ]);
    await database.query('truncate runs, flows, messages, artifacts, audit_log cascade');
  }
});

test('a table whose rows cannot be removed does not block the pruning of other tables', async () => {
  await makeRun(workspaces.plain, 31);
  const broken = { table: 'no_such_table', days: 1 };
  for (let turn = 0; turn < 5; turn += 1) {
    await makeRun(workspaces.plain, 31);
    await expect(removeAged({ db, logger }, [broken, ...agedTables({ ...forEver, messages: 30 })])).rejects.toThrow(
      'no_such_table',
    );
    expect(await countOf('messages')).toBe(0);
  }
  await database.query('truncate runs, flows, messages, artifacts, audit_log cascade');
});

test('a policy with maxRuns keeps the newest runs, also when one statement does not count all of them', async () => {
  await database.query(`update automation_policies set retention = '{"maxRuns": 3}' where tenant_id = $1`, [
    workspaces.own,
  ]);
  const made = [];
  for (const daysAgo of [9, 8, 7, 6, 5, 4, 3, 2]) made.push((await makeRun(workspaces.own, daysAgo)).id);
  const retention = new RunRetention({ db, months, blobs, logger, days: 90, countBatch: 2 });
  expect(await retention.prune()).toBe(5);
  expect(await runIds()).toEqual(made.slice(5).toSorted());
  const newest = await makeRun(workspaces.own, 0);
  expect(await retention.prune()).toBe(1);
  expect(await runIds()).toEqual([...made.slice(6), newest.id].toSorted());
  await database.query(`update automation_policies set retention = '{"maxAgeDays": 1000}' where tenant_id = $1`, [
    workspaces.own,
  ]);
  await database.query('truncate runs, flows, messages, artifacts, audit_log cascade');
});

test('stored files without an artifact are removed after a day; files of artifacts and new files stay', async () => {
  const { artifactId } = await makeRun(workspaces.plain, 1);
  const [orphan, fresh] = [newId(), newId()];
  for (const id of [orphan, fresh]) await blobs.put(`${workspaces.plain}/${id}`, Buffer.from('x'), { maxBytes: 1 });
  const yesterday = new Date(Date.now() - 25 * 60 * 60 * 1000);
  for (const id of [orphan, artifactId]) await utimes(join(folder, workspaces.plain, id), yesterday, yesterday);
  expect(await removeOrphanBlobs({ db, blobs, logger })).toBe(1);
  expect([orphan, fresh, artifactId].map((id) => existsSync(join(folder, workspaces.plain, id)))).toEqual([
    false,
    true,
    true,
  ]);
  expect(await removeOrphanBlobs({ db, blobs, logger })).toBe(0);
});

test('stored files of a workspace that is not in this database stay, because another installation may share the folder', async () => {
  const [elsewhere, id] = [newId(), newId()];
  await blobs.put(`${elsewhere}/${id}`, Buffer.from('x'), { maxBytes: 1 });
  const yesterday = new Date(Date.now() - 25 * 60 * 60 * 1000);
  await utimes(join(folder, elsewhere, id), yesterday, yesterday);
  expect(await removeOrphanBlobs({ db, blobs, logger })).toBe(0);
  expect(existsSync(join(folder, elsewhere, id))).toBe(true);
});

test('reopening or retrying a run while old runs are removed keeps the data it needs', async () => {
  const [reopened, again] = [await makeRun(workspaces.plain, 70), await makeRun(workspaces.plain, 71)];
  const next = newId();
  const other = new Client({ connectionString: database.url });
  await other.connect();
  try {
    await other.query('begin');
    await other.query('update runs set finished_at = null where id = $1', [reopened.id]);
    await other.query('select 1 from flows where id = $1 for update', [again.id]);
    await other.query('update flows set revision = 2 where id = $1', [again.id]);
    await other.query(
      `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at) values ($1, $2, $3, 1, $4, 'queued', '{}', 'live', 2, now())`,
      [next, workspaces.plain, workflowId, again.id],
    );
    const pruned = new RunRetention({ db, months, blobs, logger, days: 30 }).prune();
    await expect
      .poll(
        async () =>
          (
            await database.query(
              `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
            )
          ).length,
      )
      .toBe(1);
    await other.query('commit');
    await pruned;
  } finally {
    await other.end();
  }
  expect(await database.query('select id from runs where id = any($1)', [[reopened.id, again.id, next]])).toEqual(
    expect.arrayContaining([{ id: reopened.id }, { id: next }]),
  );
  expect(await database.query('select 1 from artifacts where id = $1', [reopened.artifactId])).toHaveLength(1);
  expect(await database.query('select id from flows where id = $1', [again.id])).toEqual([{ id: again.id }]);
});
