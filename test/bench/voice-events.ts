import { createHmac } from 'node:crypto';
import { Client as PgClient } from 'pg';
import { Agent, request } from 'undici';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { costColumns, milliseconds, percentile } from './table.ts';
import { startVoiceScene } from './voice-scene.ts';

const eventCalls = 5_000;
const senders = 64;

/** Calls `work` `count` times over `lanes` concurrent lanes. Returns the rate per second. */
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

/** Measures carrier events: four per call, shuffled, over 64 connections. Compares with one plain upsert per event. */
export async function measureEvents(): Promise<Record<string, string>[]> {
  await using scene = await startVoiceScene();
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
    if (answer.statusCode !== 200) throw new Error(`an event got the status ${answer.statusCode}`);
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
