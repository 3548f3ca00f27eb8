import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../../shared/contract/automations/workflows.ts';
import { startHub } from '../../../test/fixtures/hub.ts';
import type { TestHub } from '../../../test/fixtures/hub.ts';
import { settledRun } from '../../../test/fixtures/settled-run.ts';
import { engineRetention } from '../../engine/queue/upkeep.ts';
import { callsRetention } from '../../products/calls/index.ts';
import { MonthlyPartitions } from './monthly-partitions.ts';
import { removeLeftovers, retentionTasks } from './row-retention.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

const retentions = [engineRetention, callsRetention(365)];
const lookedAfter = retentions.flatMap(({ ofWorkspaces }) => ofWorkspaces ?? []);

/** What there is of a workspace, by table. */
async function rowsOf(tenantId: string): Promise<Record<string, number>> {
  const tables = await hub.database.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace`,
  );
  const counts = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await hub.database.query<{ n: number }>(
        `select count(*)::int as n from ${name} where tenant_id = $1`,
        [tenantId],
      );
      return [name, row?.n ?? 0] as const;
    }),
  );
  return Object.fromEntries(counts.filter(([, n]) => n > 0));
}

async function* pieces(text: string) {
  yield text;
}

test('of a workspace that is removed nothing is left in any table, and nothing of another is missing', async () => {
  const [removed, kept] = [await hub.workspace(), await hub.workspace()];
  for (const { api, tenantId } of [removed, kept]) {
    const line =
      'callSid,state,direction,result,startedAt,endedAt\ncall-1,ended,inbound,missed,2026-01-01T00:00:00Z,2026-01-01T00:00:09Z\n';
    await hub.app.calls.importCsv(tenantId, pieces(line), 'twilio');
    const { id } = await api.call('createAutomationWorkflow', {
      body: { name: 'w', stepsJson: [{ type: 'log', message: 'x' }] },
    });
    const { nodeId } = await api.call('createAutomationNode', { body: {} });
    const ping = await api.call('createAutomationWorkflow', {
      body: { name: 'p', stepsJson: [{ type: 'skill', skillId: 'node.ping', input: { nodeId } }] },
    });
    for (const workflowId of [id, id, ping.id]) {
      const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id: workflowId }, body: {} }));
      // The node is not paired.
      expect(await settledRun(api, runId)).toMatchObject({ status: workflowId === ping.id ? 'failed' : 'succeeded' });
    }
  }
  const before = await rowsOf(kept.tenantId);
  expect(await rowsOf(removed.tenantId)).toMatchObject({
    runs: 3,
    flows: 3,
    run_logs: 2,
    run_steps: 3,
    calls: 1,
    call_day_sums: 1,
  });
  await hub.database.query('delete from tenants where id = $1', [removed.tenantId]);
  expect(await rowsOf(removed.tenantId)).toMatchObject({ runs: 3, removed_workspaces: 1 });
  await removeLeftovers(hub.app.db, lookedAfter);
  // What began before may still write for a while, so it is looked after a little longer.
  const { removed_workspaces: remembered, workspace_events: _events, ...left } = await rowsOf(removed.tenantId);
  expect([remembered, left]).toEqual([1, {}]);
  await hub.database.query("update removed_workspaces set removed_at = now() - interval '1 hour'");
  await removeLeftovers(hub.app.db, lookedAfter);
  expect((await rowsOf(removed.tenantId))['removed_workspaces']).toBeUndefined();
  expect(await rowsOf(kept.tenantId)).toMatchObject(before);
});

test('a removed workspace whose rows cannot be deleted does not keep the rows of the others', async () => {
  const { database, app } = hub;
  const workspaces = [await hub.workspace(), await hub.workspace(), await hub.workspace()];
  const ids = workspaces.map(({ tenantId }) => tenantId);
  for (const { api } of workspaces) {
    const { id } = await api.call('createAutomationWorkflow', {
      body: { name: 'w', stepsJson: [{ type: 'log', message: 'x' }] },
    });
    const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} }));
    await settledRun(api, runId);
  }
  await database.query(
    `CREATE FUNCTION refuse_removal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$`,
  );
  await database.query(
    `CREATE TRIGGER refuse_removal BEFORE DELETE ON flows FOR EACH ROW WHEN (old.tenant_id = '${ids[0]}') EXECUTE FUNCTION refuse_removal()`,
  );
  onTestFinished(async () => {
    await database.query('DROP TRIGGER refuse_removal ON flows');
  });
  for (const id of ids) await database.query('DELETE FROM tenants WHERE id = $1', [id]);
  // The first in the list.
  await database.query(
    `UPDATE removed_workspaces SET removed_at = now() - CASE WHEN tenant_id = $1 THEN interval '1 day' ELSE interval '1 hour' END`,
    [ids[0]],
  );
  await expect(removeLeftovers(app.db, lookedAfter)).rejects.toThrow(`failed for 1 of 3: ${ids[0] as string}`);
  const [refused, ...others] = await Promise.all(ids.map(rowsOf));
  expect(refused).toMatchObject({ flows: 1, removed_workspaces: 1 });
  for (const other of others) expect([other['flows'], other['removed_workspaces']]).toEqual([undefined, undefined]);
});

test('a workspace that is there loses nothing, whoever wrote it into the list of removed ones', async () => {
  const { api, tenantId } = await hub.workspace();
  const { id } = await api.call('createAutomationWorkflow', {
    body: { name: 'w', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  await api.call('runAutomationWorkflow', { params: { id }, body: {} });
  await hub.database.query(
    "insert into removed_workspaces (tenant_id, removed_at) values ($1, now() - interval '1 hour')",
    [tenantId],
  );
  await removeLeftovers(hub.app.db, lookedAfter);
  const { removed_workspaces: remembered, ...kept } = await rowsOf(tenantId);
  expect(remembered).toBeUndefined();
  expect(kept).toMatchObject({ runs: 1, flows: 1 });
});

test('every table that holds a workspace without referring to it is looked after when that is removed', async () => {
  const loose = await hub.database.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace and not exists (
       select 1 from pg_constraint f where f.conrelid = c.oid and f.contype = 'f' and f.confrelid = 'tenants'::regclass)
     order by 1`,
  );
  // Those that go with a run, a node, a conversation or a webhook, the list of bytes to be removed, which a workspace adds to as it goes, the log of events, which no row outlives, calls to be ended of workspaces that left, and the list of removed workspaces itself.
  const others = [
    'chat_messages',
    'chat_unused_blobs',
    'effects',
    'node_commands',
    'removed_workspaces',
    'run_logs',
    'run_steps',
    'sip_teardowns',
    'webhook_attempts',
    'webhook_deliveries',
    'workspace_events',
  ];
  expect(loose.map(({ name }) => name)).toEqual([...lookedAfter, ...others].toSorted());
  const logger = pino({ level: 'silent' });
  const months = new MonthlyPartitions({ url: hub.database.url, logger });
  const tasks = retentionTasks({ db: hub.app.db, logger, months }, retentions);
  expect(tasks.map(({ name }) => name)).toContain('removed workspaces');
});
