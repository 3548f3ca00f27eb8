import type { Client as PgClient } from 'pg';
import { Agent, request } from 'undici';
import type { Transaction } from '../../hub/platform/db/transaction.ts';
import { callColumns } from '../../hub/products/calls/records/present.ts';
import { listCalls, sumDays } from '../../hub/products/calls/records/store.ts';
import type { CallFilter, CallPosition } from '../../hub/products/calls/records/store.ts';
import { callDirections, callResults } from '../../shared/contract/calls/records.ts';
import { unawaited } from '../fixtures/unawaited.ts';
import { milliseconds, percentile } from './table.ts';
import { startVoiceScene } from './voice-scene.ts';
import type { VoiceScene } from './voice-scene.ts';

const pageSize = 50;
const warmUps = 20;
const firstRequests = 500;
const nothing = '/nothing-is-here';
/** Seconds between two calls. A million calls cover 289 days. */
const callIntervalSeconds = 25;

/**
 * Fills a workspace with calls of all results: 3 of 4 answered, 1 of 5 given up, 2 of 100 busy, 1 of 5,000 failed, 1 of
 * 20,000 answered by a machine.
 * Triggers are disabled. Their daily totals are inserted directly.
 */
async function fill(database: PgClient, tenantId: string, calls: number): Promise<void> {
  const batch = 50_000;
  await database.query('ALTER TABLE calls DISABLE TRIGGER calls_added');
  for (let from = 0; from < calls; from += batch) {
    process.stdout.write(`  ${Math.round((from / calls) * 100)} %\r`);
    await database.query(
      `INSERT INTO calls (id, tenant_id, provider, call_sid, direction, from_id, to_id, rank, sequence, at, tie, outcome, sip_code, hangup_by, reported_secs, started_at, answered_at, ended_at, machine, mos_score)
       SELECT (lpad(to_hex((extract(epoch FROM t) * 1000)::bigint), 12, '0') || '70018' || lpad(to_hex(n), 15, '0'))::uuid, $1, 'twilio', 'CA' || md5(n::text), CASE WHEN n % 4 = 0 THEN 'outbound' ELSE 'inbound' END,
         '+1500555' || lpad((n % 10000)::text, 4, '0'), '+15005550001', 3, 3, t + interval '60 seconds', '', outcome, CASE outcome WHEN 'answered' THEN 200 WHEN 'busy' THEN 486 ELSE 480 END,
         CASE WHEN outcome = 'answered' THEN 'caller' END, CASE WHEN outcome = 'answered' THEN n % 300 END, t, CASE WHEN outcome = 'answered' THEN t + interval '5 seconds' END, t + interval '60 seconds',
         n % 20000 = 3, CASE WHEN outcome = 'answered' THEN 4.3 END
       FROM (SELECT n, now() - ($4::int - n) * interval '${callIntervalSeconds} seconds' AS t,
           CASE WHEN n % 5000 = 0 THEN 'failed' WHEN n % 50 = 1 THEN 'busy' WHEN n % 5 = 2 THEN 'not_taken' ELSE 'answered' END AS outcome
         FROM generate_series($2::int, $3::int - 1) n) s`,
      [tenantId, from, Math.min(from + batch, calls), calls],
    );
  }
  await database.query(
    `INSERT INTO call_day_sums (tenant_id, day, calls, inbound, answered_inbound, answered, seconds, folded)
     SELECT tenant_id, (started_at AT TIME ZONE 'UTC')::date, count(*), count(*) FILTER (WHERE direction = 'inbound'), count(*) FILTER (WHERE direction = 'inbound' AND result = 'answered'),
       count(*) FILTER (WHERE result = 'answered'), sum(duration_secs), true FROM calls GROUP BY 1, 2`,
  );
  await database.query('ALTER TABLE calls ENABLE TRIGGER calls_added');
  await database.query('VACUUM ANALYZE calls, call_day_sums');
}

/** Runs the statements of the hub directly on its database. */
const bareReads = (database: PgClient) =>
  ({ query: (name: string, text: string, values: unknown[]) => database.query({ name, text, values }) }) as Transaction;

interface Samples {
  hub: number[];
  bare: number[];
}

/** Measures the hub and its database in turn, so that other load on the machine affects both equally. */
async function measureInTurn(
  count: number,
  byHub: () => Promise<unknown>,
  bare: () => Promise<unknown>,
): Promise<Samples> {
  const samples: Samples = { hub: [], bare: [] };
  for (let index = 0; index < count + warmUps; index += 1) {
    const startedAt = performance.now();
    await byHub();
    const midAt = performance.now();
    await bare();
    if (index < warmUps) continue;
    samples.hub.push(midAt - startedAt);
    samples.bare.push(performance.now() - midAt);
  }
  return samples;
}

function row(what: string, all: readonly Samples[], more: Record<string, string>) {
  const hub = all.flatMap((samples) => samples.hub);
  const bare = all.flatMap((samples) => samples.bare);
  return {
    what,
    p50: milliseconds(percentile(hub, 0.5)),
    p99: milliseconds(percentile(hub, 0.99)),
    'bare SQL p50': milliseconds(percentile(bare, 0.5)),
    'bare SQL p99': milliseconds(percentile(bare, 0.99)),
    ...more,
  };
}

/** Number of 8 KiB blocks that a list reads. It does not depend on other load. */
async function blocksOf(database: PgClient, tenantId: string, filter: CallFilter, after: CallPosition | undefined) {
  let blocks = 0;
  const explain = {
    async query(_name: string, text: string, values: unknown[]) {
      const { rows } = await database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
        values,
      );
      const plan = rows[0]?.['QUERY PLAN'][0].Plan ?? {};
      blocks = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
      return { rows: [] };
    },
  };
  await listCalls(explain as unknown as Transaction, tenantId, filter, after, pageSize + 1);
  return blocks;
}

/**
 * Queries combined with direction and result: from the newest call, from the middle, a day in the middle, and the page
 * after a call in the middle.
 */
const ranges = ['newest', 'before the middle', 'a day in the midst', 'behind a call in the middle'] as const;

async function measureLists(
  { hub, database, tenantId, headers, tokenHeaders }: VoiceScene,
  calls: number,
  requests: number,
) {
  const dispatcher = new Agent({ connections: 1 });
  const read = async (path: string, by: Record<string, string>) => {
    const { statusCode, body } = await request(`${hub.url}${path}`, { dispatcher, headers: by });
    await body.dump();
    if (statusCode !== (path === nothing ? 404 : 200)) throw new Error(`${path} answered ${statusCode}`);
  };
  const bare = bareReads(database);
  const middle = new Date(Date.now() - (calls * callIntervalSeconds * 1000) / 2);
  const dayAfter = new Date(middle.getTime() + 86_400_000).toISOString();
  const [inMiddle] = await listCalls(bare, tenantId, { to: middle.toISOString() }, undefined, 1);
  if (inMiddle === undefined) throw new Error('there are too few calls for a page in the middle');
  const place: CallPosition = { startedAt: inMiddle.started_at, id: inMiddle.id };
  // Warm-up, so that the first combination does not include the work of first requests.
  for (let index = 0; index < firstRequests; index += 1) await read(`/calls?limit=${pageSize}`, headers);
  const measured: { range: string; kind: string; query: string; samples: Samples; blocks: number }[] = [];
  for (const range of ranges)
    for (const direction of [undefined, ...callDirections])
      for (const result of [undefined, ...callResults]) {
        const filter: CallFilter = {
          direction,
          result,
          from: range === 'a day in the midst' ? middle.toISOString() : undefined,
          to:
            range === 'before the middle'
              ? middle.toISOString()
              : range === 'a day in the midst'
                ? dayAfter
                : undefined,
        };
        const after = range === 'behind a call in the middle' ? place : undefined;
        const given = { ...filter, cursor: after?.id };
        const query = new URLSearchParams(
          Object.entries(given).filter((each): each is [string, string] => each[1] !== undefined),
        ).toString();
        measured.push({
          range,
          kind: [direction && 'direction', result && 'result'].filter(Boolean).join(' and ') || 'no filter',
          query,
          samples: await measureInTurn(
            requests,
            () => read(`/calls?limit=${pageSize}&${query}`, headers),
            () => listCalls(bare, tenantId, filter, after, pageSize + 1),
          ),
          blocks: await blocksOf(database, tenantId, filter, after),
        });
      }
  const aim = '30 ms';
  const blocksOfAll = (some: typeof measured) => ({
    blocks: String(Math.max(...some.map(({ blocks }) => blocks))),
    aim,
  });
  const rows = ranges.flatMap((range) =>
    ['no filter', 'direction', 'result', 'direction and result'].map((kind) => {
      const some = measured.filter((each) => each.range === range && each.kind === kind);
      return row(
        `${range}, ${kind}`,
        some.map(({ samples }) => samples),
        blocksOfAll(some),
      );
    }),
  );
  const p99 = ({ samples }: (typeof measured)[number]) => percentile(samples.hub, 0.99);
  const slowest = measured.toSorted((one, other) => p99(other) - p99(one))[0] as (typeof measured)[number];
  rows.push(
    row(
      `all ${measured.length} of them`,
      measured.map(({ samples }) => samples),
      blocksOfAll(measured),
    ),
    row(`the one whose p99 is the highest: ${slowest.query}`, [slowest.samples], blocksOfAll([slowest])),
  );
  const byToken = await measureInTurn(
    requests,
    () => read(`/v1/voice/calls?limit=${pageSize}`, tokenHeaders),
    () => listCalls(bare, tenantId, {}, undefined, pageSize + 1),
  );
  rows.push(row('newest, by a token', [byToken], { blocks: '', aim }));
  for (const [path, by] of [
    ['/calls/summary', headers],
    ['/v1/voice/usage', tokenHeaders],
  ] as const) {
    const samples = await measureInTurn(
      requests * 5,
      () => read(path, by),
      () => sumDays(bare, tenantId, 7),
    );
    rows.push(row(`GET ${path}`, [samples], { blocks: '', aim: '5 ms' }));
  }
  // The time that the machine and the server add to every request.
  const floor = await measureInTurn(
    requests * 5,
    () => read(nothing, headers),
    () => database.query('SELECT 1'),
  );
  rows.push(row('a request with a 404 response, compared with SELECT 1', [floor], { blocks: '', aim: '' }));
  await dispatcher.close();
  return rows;
}

async function measureExports({ hub, database, tenantId, headers }: VoiceScene, calls: number) {
  const dispatcher = new Agent({ connections: 1, bodyTimeout: 0 });
  const open = async (query: string) => {
    const { statusCode, body } = await request(`${hub.url}/calls/export?${query}`, { dispatcher, headers });
    if (statusCode !== 200) throw new Error(`the export answered ${statusCode}`);
    return body as AsyncIterable<Buffer>;
  };
  const resident = async () => (await hub.usage()).residentBytes;
  const report = (what: string, startedAt: number, more: Record<string, string>) => ({
    what,
    'rows a second': Math.round(calls / ((performance.now() - startedAt) / 1000)).toLocaleString('en'),
    size: '',
    'growth after a tenth': '',
    'growth at most': '',
    'aim of growth': '',
    ...more,
  });
  // Warm-up.
  for await (const _ of await open('result=failed'));
  const rows = [];
  for (const [what, format] of [
    ['as JSON, the first of the hub', 'json'],
    ['as JSON once more', 'json'],
    ['as CSV', 'csv'],
  ] as const) {
    await hub.collectGarbage();
    const before = await resident();
    const growth = (bytes: number) => `${Math.max(0, (bytes - before) / 1e6).toFixed(1)} MB`;
    const startedAt = performance.now();
    let bytes = 0;
    let most = before;
    const course: { at: number; most: number }[] = [];
    const watch = setInterval(
      () =>
        unawaited(
          resident().then((now) => {
            most = Math.max(most, now);
            course.push({ at: bytes, most });
          }),
        ),
      50,
    );
    for await (const chunk of await open(`format=${format}`)) bytes += chunk.length;
    clearInterval(watch);
    rows.push(
      report(what, startedAt, {
        size: `${Math.round(bytes / 1e6)} MB`,
        'growth after a tenth': growth(course.findLast(({ at }) => at <= bytes / 10)?.most ?? before),
        'growth at most': growth(most),
        'aim of growth': '40 MB',
      }),
    );
  }
  const startedAt = performance.now();
  await database.query('BEGIN');
  await database.query(
    `DECLARE bare CURSOR FOR SELECT ${callColumns} FROM calls WHERE tenant_id = $1 ORDER BY started_at DESC, id DESC`,
    [tenantId],
  );
  let written = 0;
  for (let count = 1; count > 0;) {
    const { rows: page } = await database.query('FETCH 1000 FROM bare');
    count = page.length;
    for (const each of page) written += JSON.stringify(each).length;
  }
  await database.query('COMMIT');
  rows.push(report('bare SQL by a cursor, made JSON', startedAt, { size: `${Math.round(written / 1e6)} MB` }));
  await dispatcher.close();
  return rows;
}

export interface CallListReport {
  lists: Record<string, string>[] | null;
  exports: Record<string, string>[] | null;
}

/** Measures lists with all combinations of filters, totals and both exports, each compared with plain SQL. */
export async function measureCallLists(
  calls: number,
  requests: number,
  wanted: Record<keyof CallListReport, boolean>,
): Promise<CallListReport> {
  await using scene = await startVoiceScene();
  await fill(scene.database, scene.tenantId, calls);
  return {
    lists: wanted.lists ? await measureLists(scene, calls, requests) : null,
    exports: wanted.exports ? await measureExports(scene, calls) : null,
  };
}
