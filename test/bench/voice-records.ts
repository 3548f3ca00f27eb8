import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { Client as PgClient } from 'pg';
import { Agent, request } from 'undici';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { callDirections, callResults } from '../../shared/contract/calls/records.ts';
import { startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { costColumns, milliseconds, percentile } from './table.ts';

const requests = 200;
const eventCalls = 5_000;
const senders = 64;

interface Scene extends AsyncDisposable {
  hub: BenchHub;
  database: PgClient;
  tenantId: string;
  /** Headers of a person who is signed in. */
  headers: Record<string, string>;
}

async function startScene(): Promise<Scene> {
  const hub = await startBenchHub({ DATABASE_POOL_SIZE: '20' });
  const database = new PgClient({ connectionString: readPostgresUrl(hub.home) as string });
  await database.connect();
  const { stdout } = await promisify(execFile)(process.execPath, [resolve('hub/cli/cli.ts'), 'link'], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], OUTRIGGER_HOME: hub.home },
  });
  const code = new URL(stdout.trim()).searchParams.get('code') as string;
  const { token, tenantId } = await hub.api.call('redeemSignInLink', { body: { code } });
  return {
    hub,
    database,
    tenantId,
    headers: { authorization: `Bearer ${token}` },
    async [Symbol.asyncDispose]() {
      await database.end();
      await hub[Symbol.asyncDispose]();
    },
  };
}

/** Runs work on so many lanes, and answers how much was done a second. */
async function rateOf(count: number, lanes: number, work: (index: number, lane: number) => Promise<unknown>) {
  let next = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      while (next < count) {
        next += 1;
        await work(next - 1, lane);
      }
    }),
  );
  return count / ((performance.now() - startedAt) / 1000);
}

/** What carriers send of some thousand calls, four events each and shuffled, over 64 connections; and the same as one plain upsert each. */
export async function measureEvents(): Promise<Record<string, string>[]> {
  await using scene = await startScene();
  const { hub, database, headers } = scene;
  const dispatcher = new Agent({ connections: senders, pipelining: 1 });
  const made = await request(`${hub.url}/calls/connections`, {
    method: 'POST',
    dispatcher,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ provider: 'kamailio', name: 'bench' }),
  });
  const { url, secret } = (await made.body.json()) as { url: string; secret: string };
  const { pathname } = new URL(url);
  const at = Date.now() / 1000;
  const messages = Array.from({ length: eventCalls * 4 }, (_, index) => {
    const callId = `bench-${index % eventCalls}`;
    const event = ['queued', 'ringing', 'answered', 'ended'][Math.floor(index / eventCalls)] as string;
    return JSON.stringify({
      callId,
      event,
      at: at + Math.floor(index / eventCalls),
      direction: 'inbound',
      sipCode: event === 'ended' ? 200 : null,
    });
  }).toSorted(() => Math.random() - 0.5);
  const t = Math.floor(at);
  const sent = messages.map((body) => ({
    body,
    signature: `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`,
  }));
  const latencies: number[] = [];
  const send = async (index: number) => {
    const { body, signature } = sent[index] as (typeof sent)[number];
    const startedAt = performance.now();
    const answer = await request(`${hub.url}${pathname}`, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json', 'x-signature': signature },
      body,
    });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`an event was answered ${answer.statusCode}`);
    latencies.push(performance.now() - startedAt);
  };
  const before = await hub.usage();
  const rate = await rateOf(sent.length, senders, send);
  const cost = costColumns(before, await hub.usage(), sent.length);
  const p99 = percentile(latencies, 0.99);
  const again = await rateOf(sent.length, senders, send);
  await dispatcher.close();
  await database.query(
    'CREATE TABLE bench_calls (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), sid text UNIQUE, rank integer, at float8)',
  );
  const lanes = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const client = new PgClient({ connectionString: readPostgresUrl(hub.home) as string });
      await client.connect();
      return client;
    }),
  );
  const bare = await rateOf(sent.length, lanes.length, (index, lane) => {
    const { callId, at: when } = JSON.parse(messages[index] as string) as { callId: string; at: number };
    return (lanes[lane] as PgClient).query({
      name: 'bare',
      text: 'INSERT INTO bench_calls (sid, rank, at) VALUES ($1, $2, $3) ON CONFLICT (sid) DO UPDATE SET rank = greatest(bench_calls.rank, excluded.rank), at = greatest(bench_calls.at, excluded.at)',
      values: [callId, index % 4, when],
    });
  });
  await Promise.all(lanes.map((client) => client.end()));
  const row = (what: string, value: number, more: Record<string, string> = {}) => ({
    'what a second': what,
    rate: String(Math.round(value)),
    p99: '',
    'hub, each': '',
    'PostgreSQL, each': '',
    ...more,
  });
  return [
    row('events of carriers, signed, shuffled', rate, { p99: milliseconds(p99), ...cost }),
    row('the same again, which change nothing', again),
    row('bare upserts into one table, a commit each, 8 connections', bare),
  ];
}

async function fill(database: PgClient, tenantId: string, calls: number): Promise<void> {
  const batch = 50_000;
  await database.query('ALTER TABLE calls DISABLE TRIGGER calls_added');
  for (let from = 0; from < calls; from += batch) {
    process.stdout.write(`  ${Math.round((from / calls) * 100)} %\r`);
    await database.query(
      `INSERT INTO calls (id, tenant_id, provider, call_sid, direction, from_id, to_id, rank, sequence, at, tie, outcome, reported_secs, started_at, answered_at, ended_at, machine)
       SELECT (lpad(to_hex((extract(epoch FROM t) * 1000)::bigint), 12, '0') || '70018' || lpad(to_hex(n), 15, '0'))::uuid, $1, 'twilio', 'CA' || md5(n::text), CASE WHEN n % 4 = 0 THEN 'outbound' ELSE 'inbound' END,
         '+1500555' || lpad((n % 10000)::text, 4, '0'), '+15005550001', 3, 3, t + interval '60 seconds', '',
         CASE WHEN n % 5000 = 0 THEN 'failed' WHEN n % 50 = 1 THEN 'busy' WHEN n % 5 = 2 THEN 'not_taken' ELSE 'answered' END, CASE WHEN n % 5000 > 0 AND n % 50 <> 1 AND n % 5 <> 2 THEN n % 300 END, t, t + interval '5 seconds', t + interval '60 seconds', n % 20000 = 3
       FROM (SELECT n, now() - (${calls} - n) * interval '25 seconds' AS t FROM generate_series($2::int, $3::int - 1) n) s`,
      [tenantId, from, from + batch],
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

export interface ReadingReport {
  lists: Record<string, string>[];
  exports: Record<string, string>[];
}

/** Lists in every filter, the summary and both exports of a workspace with so many calls. */
export async function measureReading(calls: number): Promise<ReadingReport> {
  await using scene = await startScene();
  const { hub, database, tenantId, headers } = scene;
  await fill(database, tenantId, calls);
  const dispatcher = new Agent({ connections: 1, bodyTimeout: 0 });
  const time = async (path: string) => {
    const samples: number[] = [];
    for (let index = 0; index < requests + 20; index += 1) {
      const startedAt = performance.now();
      const { statusCode, body } = await request(`${hub.url}${path}`, { dispatcher, headers });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
      if (index >= 20) samples.push(performance.now() - startedAt);
    }
    return samples;
  };
  const timeBare = async (text: string, values: unknown[]) => {
    const samples: number[] = [];
    for (let index = 0; index < requests + 20; index += 1) {
      const startedAt = performance.now();
      await database.query({ name: text.slice(0, 60), text, values });
      if (index >= 20) samples.push(performance.now() - startedAt);
    }
    return samples;
  };
  const row = (what: string, samples: number[]) => ({
    what,
    p50: milliseconds(percentile(samples, 0.5)),
    p99: milliseconds(percentile(samples, 0.99)),
  });
  const middle = new Date(Date.now() - calls * 12_500).toISOString();
  const filters = ['', ...callDirections.map((direction) => `&direction=${direction}`)].flatMap((direction) =>
    ['', ...callResults.map((result) => `&result=${result}`)].flatMap((result) =>
      ['', `&to=${middle}`].map((to) => direction + result + to),
    ),
  );
  const perFilter = [];
  for (const filter of filters) perFilter.push({ filter, samples: await time(`/calls?limit=50${filter}`) });
  const slowest = perFilter.toSorted(
    (one, other) => percentile(other.samples, 0.99) - percentile(one.samples, 0.99),
  )[0];
  const lists = [
    row('newest 50 calls', perFilter[0]?.samples ?? []),
    row(
      `all ${filters.length} combinations of filters`,
      perFilter.flatMap(({ samples }) => samples),
    ),
    row(`the slowest of them: ${slowest?.filter}`, slowest?.samples ?? []),
    row(
      'newest 50 by bare SQL, for comparison',
      await timeBare('SELECT * FROM calls WHERE tenant_id = $1 ORDER BY started_at DESC, id DESC LIMIT 50', [tenantId]),
    ),
    row('summary', await time('/calls/summary')),
    row(
      'sums by bare SQL, for comparison',
      await timeBare(
        `SELECT sum(calls), sum(seconds) FROM call_day_sums WHERE tenant_id = $1 AND day > now()::date - 7`,
        [tenantId],
      ),
    ),
  ];
  const exports = [];
  for (const format of ['json', 'csv']) {
    let most = 0;
    const resident = async () => (await hub.usage()).residentBytes;
    // The first of them also makes the hub load what it needs.
    const before = await resident();
    const watch = setInterval(() => void resident().then((bytes) => (most = Math.max(most, bytes))), 100);
    const startedAt = performance.now();
    const { statusCode, body } = await request(`${hub.url}/calls/export?format=${format}`, { dispatcher, headers });
    if (statusCode !== 200) throw new Error(`the export answered ${statusCode}`);
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) bytes += chunk.length;
    clearInterval(watch);
    exports.push({
      what: `export of ${calls.toLocaleString('en')} calls as ${format}`,
      'rows a second': String(Math.round(calls / ((performance.now() - startedAt) / 1000))),
      size: `${Math.round(bytes / 1e6)} MB`,
      'growth of the hub': `${Math.max(0, Math.round((most - before) / 1e6))} MB`,
    });
  }
  const startedAt = performance.now();
  await database.query('BEGIN');
  await database.query(
    'DECLARE bare CURSOR FOR SELECT * FROM calls WHERE tenant_id = $1 ORDER BY started_at DESC, id DESC',
    [tenantId],
  );
  for (let count = 1; count > 0;) count = (await database.query('FETCH 1000 FROM bare')).rowCount ?? 0;
  await database.query('COMMIT');
  exports.push({
    what: 'all rows by a bare cursor, for comparison',
    'rows a second': String(Math.round(calls / ((performance.now() - startedAt) / 1000))),
    size: '',
    'growth of the hub': '',
  });
  await dispatcher.close();
  return { lists, exports };
}
