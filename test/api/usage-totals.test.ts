import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { migrationsFolder } from '../../hub/platform/db/migrate.ts';
import { avoidPeriodEnd, dayMs } from '../fixtures/avoid-period-end.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { addUsage, countUsageAgain, forgeUsageSums, readUsageSums } from '../fixtures/stage/core.ts';
import type { StagedUsage } from '../fixtures/stage/core.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

const totals = (query: Record<string, string> = {}, { session, tenantId } = workspace) =>
  session.call('getUsageTotals', { params: { tenantId }, query: query as never });
const sessionAt = (createdAt: string, environment: 'live' | 'test' = 'live'): StagedUsage => ({
  kind: 'chat.session',
  environment,
  createdAt,
});

test('created chat sessions are counted immediately, one for each link, by environment', async () => {
  await avoidPeriodEnd(dayMs);
  const live = hub.client(workspace.keys.chat as string);
  const testing = hub.client((await workspace.createKey({ product: 'chat', environment: 'test' })).key);
  for (const externalId of ['one', 'two', 'one']) await live.call('createChatSession', { body: { externalId } });
  await testing.call('createChatSession', { body: { externalId: 'three' } });
  const today = new Date().toISOString().slice(0, 10);
  const counts = [
    { kind: 'chat.session', environment: 'live', count: 3 },
    { kind: 'chat.session', environment: 'test', count: 1 },
  ];
  const found = await totals();
  expect(found).toEqual({
    from: new Date(Date.parse(today) - 29 * dayMs).toISOString().slice(0, 10),
    to: today,
    days: counts.map((each) => ({ day: today, ...each })),
    months: counts.map((each) => ({ month: today.slice(0, 7), ...each })),
  });
  const { data } = await workspace.session.call('listUsageEvents', { params: { tenantId: workspace.tenantId } });
  expect(data).toHaveLength(4);
  await hub.app.sweep();
  expect(await totals()).toEqual(found);
});

test('a workspace without usage has empty totals', async () => {
  expect(await totals({ from: '2026-02-01', to: '2026-02-28' })).toEqual({
    from: '2026-02-01',
    to: '2026-02-28',
    days: [],
    months: [],
  });
});

test('days and months begin at midnight UTC, and a month includes its days outside of the period', async () => {
  await addUsage(hub.database, workspace.tenantId, [
    sessionAt('2026-01-31T23:59:59.999Z'),
    sessionAt('2026-02-01T00:00:00.000Z'),
    sessionAt('2026-02-01T23:59:59.999Z', 'test'),
    sessionAt('2026-02-28T23:59:59.999Z'),
    sessionAt('2026-03-01T00:00:00.000Z'),
    { kind: 'ai.run', environment: 'live', createdAt: '2026-02-01T12:00:00.000Z' },
  ]);
  const session = { kind: 'chat.session', environment: 'live' };
  expect(await totals({ from: '2026-02-01', to: '2026-02-02' })).toMatchObject({
    days: [
      { day: '2026-02-01', kind: 'ai.run', environment: 'live', count: 1 },
      { day: '2026-02-01', ...session, count: 1 },
      { day: '2026-02-01', kind: 'chat.session', environment: 'test', count: 1 },
    ],
    months: [
      { month: '2026-02', kind: 'ai.run', environment: 'live', count: 1 },
      { month: '2026-02', ...session, count: 2 },
      { month: '2026-02', kind: 'chat.session', environment: 'test', count: 1 },
    ],
  });
  const ofKind = await totals({ kind: 'chat.session', from: '2026-01-31', to: '2026-03-01' });
  expect(ofKind.days.filter(({ environment }) => environment === 'live')).toEqual([
    { day: '2026-03-01', ...session, count: 1 },
    { day: '2026-02-28', ...session, count: 1 },
    { day: '2026-02-01', ...session, count: 1 },
    { day: '2026-01-31', ...session, count: 1 },
  ]);
  expect(ofKind.days).toHaveLength(5);
  expect(ofKind.months.map(({ month, count }) => [month, count])).toEqual([
    ['2026-03', 1],
    ['2026-02', 2],
    ['2026-02', 1],
    ['2026-01', 1],
  ]);
});

test('totals are read by admins and keys with usage:read of their own workspace only', async () => {
  const other = await hub.workspace();
  await addUsage(hub.database, workspace.tenantId, [sessionAt('2026-02-01T12:00:00.000Z')]);
  const path = `/tenants/${workspace.tenantId}/usage-totals?from=2026-02-01&to=2026-02-01`;
  const get = async (key: string) =>
    (await send(hub.url, 'GET', path, { headers: { authorization: `Bearer ${key}` } })).body;
  const reader = await workspace.createKey({ product: 'ai', permissions: ['usage:read'] });
  expect(await get(reader.key)).toMatchObject({ days: [{ count: 1 }] });
  const invoker = await workspace.createKey({ product: 'ai', permissions: ['ai:invoke'] });
  expect(await get(invoker.key)).toMatchObject({ statusCode: 403, code: 'missing_permission' });
  for (const key of [other.jwt, other.keys.ai as string]) expect(await get(key)).toMatchObject({ statusCode: 404 });
  expect((await totals({ from: '2026-02-01', to: '2026-02-01' }, other)).days).toEqual([]);
  await expect(forgeUsageSums(hub.database, workspace.tenantId)).rejects.toThrow('permission denied');
});

test('many events become one row for each day, and the totals stay the same', async () => {
  const now = new Date();
  // A month whose totals are still kept.
  const at = (n: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1 + (n % 3), n % 24)).toISOString();
  const period = { from: at(0).slice(0, 10), to: at(2).slice(0, 10) };
  const { tenantId } = workspace;
  for (let part = 0; part < 10; part += 1)
    await addUsage(
      hub.database,
      tenantId,
      Array.from({ length: 1_000 }, (_, n) => sessionAt(at(n), n % 10 === 0 ? 'test' : 'live')),
    );
  const before = await totals(period);
  expect(before.months.map(({ count }) => count)).toEqual([9_000, 1_000]);
  await hub.app.sweep();
  expect(await readUsageSums(hub.database, tenantId)).toEqual({ rows: 6, sum: 10_000 });
  expect(await totals(period)).toEqual(before);
});

test('totals are kept for 400 days, as the events are', async () => {
  const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString();
  await addUsage(hub.database, workspace.tenantId, [sessionAt(daysAgo(398)), sessionAt(daysAgo(402))]);
  await hub.app.sweep();
  expect(await readUsageSums(hub.database, workspace.tenantId)).toEqual({ rows: 1, sum: 1 });
  const [old, kept] = [402, 398].map((days) => daysAgo(days).slice(0, 10)) as [string, string];
  expect((await totals({ from: old, to: kept })).days.map(({ day }) => day)).toEqual([kept]);
});

test('events of earlier releases are counted when the hub is upgraded', async () => {
  const { tenantId } = workspace;
  await addUsage(hub.database, tenantId, [
    sessionAt('2026-01-31T23:59:59.999Z'),
    sessionAt('2026-02-01T00:00:00.000Z'),
    sessionAt('2026-02-01T00:00:00.000Z', 'test'),
    sessionAt('2026-02-01T23:59:59.999Z'),
  ]);
  const period = { from: '2026-01-31', to: '2026-02-01' };
  const before = await totals(period);
  expect(before.days.map(({ count }) => count)).toEqual([2, 1, 1]);
  const file = readdirSync(migrationsFolder).find((name) => name.endsWith('_usage_day_sums.sql')) as string;
  const statements = readFileSync(join(migrationsFolder, file), 'utf8').split('--> statement-breakpoint');
  const count = statements.find((statement) => /^\s*INSERT INTO usage_day_sums/.test(statement)) as string;
  await countUsageAgain(hub.database, tenantId, count);
  expect(await totals(period)).toEqual(before);
});

test('a wrong period or kind of totals names the field', async () => {
  for (const [query, path] of [
    [{ kind: 'chat' }, 'query.kind'],
    [{ from: 'yesterday' }, 'query.from'],
    [{ to: '2026-02-30' }, 'query.to'],
    [{ from: '0000-01-01' }, 'query.from'],
    [{ to: '1969-12-31' }, 'query.to'],
    [{ from: '2026-02-02', to: '2026-02-01' }, 'query.from'],
    [{ from: '2026-01-01', to: '2026-04-03' }, 'query.from'],
  ] as const)
    await expect(totals(query)).rejects.toMatchObject({ code: 'validation_failed', details: [{ path }] });
  for (const period of [
    { from: '2026-01-01', to: '2026-04-02' },
    { to: '1970-01-01' },
    { from: '9999-12-31', to: '9999-12-31' },
  ] as Record<string, string>[])
    expect((await totals(period)).days).toEqual([]);
});
