import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { createCursors } from '../../../platform/cursor.ts';
import { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { CallEvent } from './merge-calls.ts';
import { Calls } from './service.ts';
import { closeSilentCalls, foldCallDays } from './upkeep.ts';

let database: TestDatabase;
let db: Database;
let calls: Calls;
beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 6, applicationName: 'test', onError: () => undefined });
  calls = new Calls({ db, cursors: createCursors(Buffer.alloc(32)) });
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function workspace(): Promise<string> {
  const id = newId();
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, $2, '{}')`, [id, id]);
  return id;
}

// Times around midnight, so that some events move a call to the previous day.
const midnight = Date.UTC(2026, 5, 2);
const time = fc.integer({ min: -600, max: 600 }).map((seconds) => new Date(midnight + seconds * 1000));
const perhaps = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { nil: null });
const event: fc.Arbitrary<CallEvent> = fc
  .record({
    provider: fc.constant('kamailio' as const),
    callSid: fc.constantFrom('a', 'b'),
    direction: perhaps(fc.constantFrom('inbound' as const, 'outbound' as const)),
    fromId: perhaps(fc.constantFrom('+1', '+2')),
    toId: perhaps(fc.constant('sip:x@example.org')),
    rank: fc.constantFrom(0 as const, 1 as const, 2 as const, 3 as const),
    sequence: fc.integer({ min: 0, max: 2 }),
    // Few values, so that some events have the same time.
    at: fc.constantFrom(-60, 0, 60).map((seconds) => new Date(midnight + seconds * 1000)),
    outcome: fc.constantFrom(
      'answered' as const,
      'completed' as const,
      'not_taken' as const,
      'busy' as const,
      'failed' as const,
    ),
    reason: perhaps(fc.constantFrom('one', 'other')),
    sipCode: perhaps(fc.constantFrom(200, 486)),
    hangupBy: perhaps(fc.constantFrom('caller' as const, 'callee' as const)),
    reportedSecs: perhaps(fc.integer({ min: 0, max: 90 })),
    startedAt: time,
    answeredAt: perhaps(time),
    endedAt: perhaps(time),
    machine: fc.boolean(),
    mosScore: perhaps(fc.constantFrom(1, 3.5, 4.41)),
  })
  .map((made) => ({
    ...made,
    outcome: made.rank === 3 ? made.outcome : null,
    endedAt: made.rank === 3 ? made.endedAt : null,
  }));

const read = (text: string, values: unknown[]) => db.systemStatement<Record<string, unknown>>('', text, values);

const columns =
  'call_sid, direction, from_id, to_id, rank, sequence, at, outcome, reason, sip_code, hangup_by, reported_secs, started_at, answered_at, ended_at, machine, mos_score, result, duration_secs';

const records = (tenantId: string) =>
  read(`SELECT ${columns} FROM calls WHERE tenant_id = $1 ORDER BY call_sid`, [tenantId]);
const sums = (tenantId: string) =>
  read(
    `SELECT day::text, sum(calls)::int AS calls, sum(inbound)::int AS inbound, sum(answered_inbound)::int AS answered_inbound, sum(answered)::int AS answered, sum(seconds)::int AS seconds
     FROM call_day_sums WHERE tenant_id = $1 GROUP BY day HAVING sum(calls) <> 0 ORDER BY day`,
    [tenantId],
  );
const counted = (tenantId: string) =>
  read(
    `SELECT (started_at AT TIME ZONE 'UTC')::date::text AS day, count(*)::int AS calls, (count(*) FILTER (WHERE direction = 'inbound' AND rank = 3))::int AS inbound,
       (count(*) FILTER (WHERE direction = 'inbound' AND result = 'answered'))::int AS answered_inbound, (count(*) FILTER (WHERE result = 'answered'))::int AS answered, sum(duration_secs)::int AS seconds
     FROM calls WHERE tenant_id = $1 GROUP BY 1 ORDER BY 1`,
    [tenantId],
  );

test('merging events gives the same records and sums in any order, with repeats and in parallel', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { minLength: 1, maxLength: 8 }),
      fc.infiniteStream(fc.nat()),
      async (events, dice) => {
        const [first, second] = [await workspace(), await workspace()];
        await calls.mergeAll(first, events);
        const shuffled = [...events, ...events]
          .map((each) => ({ each, at: dice.next().value as number }))
          .toSorted((one, other) => one.at - other.at)
          .map(({ each }) => each);
        const half = Math.floor(shuffled.length / 2);
        await Promise.all([
          calls.mergeAll(second, shuffled.slice(0, half)),
          ...shuffled.slice(half).map((each) => calls.merge(second, each)),
          foldCallDays(db),
        ]);
        const rows = await records(first);
        expect(rows.length).toBeGreaterThan(0);
        expect(await records(second)).toEqual(rows);
        expect(await sums(first)).toEqual(await counted(first));
        expect(await sums(second)).toEqual(await sums(first));
        await foldCallDays(db);
        expect(await sums(second)).toEqual(await sums(first));
        expect(await calls.mergeAll(second, events)).toBe(0);
      },
    ),
    { numRuns: 30 },
  );
});

test('a merged call never has an answer time or an end time before its start', async () => {
  const timed = event.map((each) => ({ ...each, endedAt: each.rank === 3 ? (each.endedAt ?? each.at) : null }));
  await fc.assert(
    fc.asyncProperty(fc.array(timed, { minLength: 1, maxLength: 5 }), async (events) => {
      const tenantId = await workspace();
      await calls.mergeAll(tenantId, events);
      for (const { startedAt, answeredAt, endedAt } of (await calls.list(tenantId, { limit: 10 })).data) {
        expect([startedAt, answeredAt ?? startedAt].toSorted()[0]).toBe(startedAt);
        expect([startedAt, endedAt ?? startedAt].toSorted()[0]).toBe(startedAt);
      }
    }),
    { numRuns: 30 },
  );
});

test('a visible change publishes the record as listed, and an invisible change publishes nothing', async () => {
  const tenantId = await workspace();
  const base = fc.sample(event, { numRuns: 1, seed: 7 })[0] as CallEvent;
  const started = new Date(midnight);
  const at = (seconds: number) => new Date(midnight + seconds * 1000);
  const call = {
    ...base,
    callSid: 'told',
    direction: 'inbound' as const,
    machine: false,
    reportedSecs: null,
    mosScore: null,
    startedAt: started,
  };
  const publishedEvents = () =>
    db.systemStatement<{ data: { call: unknown } }>(
      '',
      `SELECT data FROM workspace_events WHERE tenant_id = $1 ORDER BY seq`,
      [tenantId],
    );
  const shown = async () => (await calls.list(tenantId, { limit: 1 })).data[0];
  const steps: [Partial<CallEvent>, boolean][] = [
    [{ rank: 1, at: at(1), outcome: null, answeredAt: null, endedAt: null }, true],
    [{ rank: 1, at: at(2), outcome: null, answeredAt: null, endedAt: null }, false],
    [{ rank: 2, at: at(5), outcome: null, answeredAt: at(5), endedAt: null }, true],
    [{ rank: 0, at: at(0), outcome: null, answeredAt: null, endedAt: null }, false],
    [{ rank: 3, at: at(65), outcome: 'completed', answeredAt: null, endedAt: at(65), mosScore: 4.41 }, true],
    [{ rank: 3, at: at(65), outcome: 'completed', answeredAt: null, endedAt: at(65), mosScore: 4.41 }, false],
  ];
  let count = 0;
  for (const [change, tells] of steps) {
    await calls.merge(tenantId, { ...call, reason: null, sipCode: 200, hangupBy: 'caller', sequence: 0, ...change });
    count += tells ? 1 : 0;
    const all = await publishedEvents();
    expect(all.length).toBe(count);
    expect(all.at(-1)?.data.call).toEqual(await shown());
  }
  expect(await shown()).toMatchObject({
    result: 'answered',
    durationSecs: 60,
    ringSecs: 5,
    mosScore: 4.41,
    state: 'ended',
  });
});

test('a call without events for 4 hours is closed, and a later final event of the carrier replaces the closing', async () => {
  const tenantId = await workspace();
  const open: CallEvent = {
    ...(fc.sample(event, { numRuns: 1, seed: 3 })[0] as CallEvent),
    callSid: 'silent',
    direction: 'inbound',
    rank: 2,
    outcome: null,
    machine: false,
    reportedSecs: null,
    sequence: 0,
    at: new Date(midnight),
    startedAt: new Date(midnight - 5_000),
    answeredAt: new Date(midnight),
    endedAt: null,
  };
  await calls.merge(tenantId, open);
  const heard = (hours: number) =>
    database.query(`UPDATE calls SET last_event_at = now() - make_interval(mins => $2) WHERE tenant_id = $1`, [
      tenantId,
      Math.round(hours * 60),
    ]);
  const shown = async () => (await calls.list(tenantId, { limit: 1 })).data[0];
  await heard(3.9);
  await closeSilentCalls(db);
  expect(await shown()).toMatchObject({ state: 'in_progress', result: null, endedAt: null });
  await heard(4.1);
  await closeSilentCalls(db);
  expect(await shown()).toMatchObject({
    state: 'ended',
    result: 'failed',
    reason: 'no_final_event',
    endedAt: new Date(midnight).toISOString(),
    durationSecs: 0,
  });
  const ended = new Date(midnight + 3_600_000);
  await calls.merge(tenantId, { ...open, rank: 3, at: ended, endedAt: ended, outcome: 'completed', reason: null });
  expect(await shown()).toMatchObject({
    result: 'answered',
    reason: null,
    endedAt: ended.toISOString(),
    durationSecs: 3_600,
  });
  expect(await sums(tenantId)).toEqual(await counted(tenantId));
});
