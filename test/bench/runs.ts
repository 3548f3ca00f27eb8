import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client as PgClient } from 'pg';
import { pino } from 'pino';
import { Agent, request } from 'undici';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { createBullMqQueue } from '../../hub/platform/queue/bullmq-queue.ts';
import type { QueueBackend } from '../../hub/platform/queue/bullmq-queue.ts';
import { redisAvailable, startRedis } from '../fixtures/redis.ts';
import { readBenchArguments } from './bench-arguments.ts';
import { startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { findN8n, startBenchN8n } from './n8n.ts';
import type { BenchN8n } from './n8n.ts';
import { benchWorkers } from './run-workers.ts';
import { costColumns, milliseconds, percentile, printTable } from './table.ts';

const concurrentRuns = 30_000;
/** Fewer runs for BullMQ on PostgreSQL and n8n, which are slower and whose rate does not depend on the count. */
const fewerConcurrentRuns = 3_000;
const runsOneByOne = 200;
/** Fewer runs with an HTTP call, which need more work each. */
const callingRuns = 8_000;
const senders = 48;

/** Calls `work` `count` times with at most `width` concurrent calls. */
async function inParallel(count: number, width: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let index = next++; index < count; index = next++) await work(index);
    }),
  );
}

/** Measures webhook-started runs with one step, or with an HTTP call between two steps. */
async function measureHub(hub: BenchHub, count: number, address?: string): Promise<Record<string, string>> {
  const token = 'benchmark-webhook-token';
  const line = { type: 'log' as const, message: 'done' };
  await hub.api.call('createAutomationWorkflow', {
    body: {
      name: 'bench',
      triggerJson: { type: 'webhook', webhook: { token } },
      stepsJson:
        address === undefined
          ? [line]
          : [line, { type: 'skill', skillId: 'webhook.deliver', input: { url: address, body: { done: true } } }, line],
    },
  });
  const dispatcher = new Agent({ connections: senders });
  const hook = async () => {
    const { statusCode, body } = await request(`${hub.url}/v1/automations/hooks/inbound`, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json', 'x-service-automation-token': token },
      body: '{"event":"bench"}',
    });
    const answer = (await body.json()) as { runId: string };
    if (statusCode !== 200) throw new Error(`the hook answered ${statusCode}`);
    return answer.runId;
  };
  const database = new PgClient({ connectionString: readPostgresUrl(hub.home) as string });
  // This connection ends with its server. The failure that ended the server is reported elsewhere.
  database.on('error', () => undefined);
  await database.connect();
  const finished = async () =>
    Number((await database.query("select count(*)::int as count from runs where status = 'succeeded'")).rows[0].count);
  await inParallel(300, senders, hook);
  while ((await finished()) < 300) await new Promise((done) => setTimeout(done, 50));

  const usageBefore = await hub.usage();
  const startedAt = performance.now();
  await inParallel(count, senders, hook);
  const acceptedAt = performance.now();
  while ((await finished()) < 300 + count) await new Promise((done) => setTimeout(done, 10));
  const seconds = (performance.now() - startedAt) / 1000;
  const cost = costColumns(usageBefore, await hub.usage(), count);
  const { rows: loaded } = await database.query<{ ms: number }>(
    'select extract(epoch from finished_at - queued_at)::float8 * 1000 as ms from runs order by id desc limit $1',
    [count],
  );

  const seen: number[] = [];
  const ids: string[] = [];
  for (let index = 0; index < runsOneByOne; index += 1) {
    const sentAt = performance.now();
    const id = await hook();
    const { body } = await request(`${hub.url}/v1/automations/runs/${id}?waitSeconds=10`, {
      dispatcher,
      headers: { 'x-api-key': hub.key },
    });
    await body.dump();
    seen.push(performance.now() - sentAt);
    ids.push(id);
  }
  const { rows } = await database.query<{ ms: number }>(
    'select extract(epoch from finished_at - queued_at)::float8 * 1000 as ms from runs where id = any($1)',
    [ids],
  );
  await database.end();
  await dispatcher.close();
  const served = rows.map(({ ms }) => ms);
  return {
    'jobs/s': (count / seconds).toFixed(0),
    'accepted/s': (count / ((acceptedAt - startedAt) / 1000)).toFixed(0),
    'all at once: accept to done p99': milliseconds(
      percentile(
        loaded.map(({ ms }) => ms),
        0.99,
      ),
    ),
    'one by one: p50': milliseconds(percentile(served, 0.5)),
    p99: milliseconds(percentile(served, 0.99)),
    'as the caller sees it p50': milliseconds(percentile(seen, 0.5)),
    ...cost,
  };
}

/** Starts a server that responds to every call immediately. */
async function startAnswering(): Promise<{ host: string } & Disposable> {
  const server = createServer((incoming, response) => {
    incoming.resume();
    incoming.once('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}'));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Measures runs with an HTTP call between their first and last step. */
async function measureCalls(): Promise<void> {
  using address = await startAnswering();
  await using hub = await startBenchHub({ EGRESS_ALLOW_HOSTS: address.host });
  const row = await measureHub(hub, callingRuns, `http://${address.host}/`);
  printTable(
    `Runs of three steps started by webhook, the one in the midst a call of a local address: ${callingRuns} from ${senders} senders, then ${runsOneByOne} one by one`,
    [{ what: 'Outrigger, embedded PostgreSQL', ...row }],
  );
}

async function measureQueue(backend: QueueBackend): Promise<Record<string, string>> {
  await using queue = await createBullMqQueue({ backend, name: 'bare', logger: pino({ level: 'silent' }) });
  let done = 0;
  const ends = new Map<string, () => void>();
  await queue.work({
    concurrency: 16,
    handler: async ({ id }) => {
      done += 1;
      ends.get(id)?.();
    },
  });
  const add = (id: string) => queue.add([{ name: 'noop', id, data: {} }]);
  await inParallel(300, senders, (index) => add(`warm-${index}`));
  while (done < 300) await new Promise((resolve) => setTimeout(resolve, 10));
  const startedAt = performance.now();
  await inParallel(fewerConcurrentRuns, senders, (index) => add(`job-${index}`));
  const addedAt = performance.now();
  while (done < 300 + fewerConcurrentRuns) await new Promise((resolve) => setTimeout(resolve, 5));
  const seconds = (performance.now() - startedAt) / 1000;
  const latencies: number[] = [];
  for (let index = 0; index < runsOneByOne; index += 1) {
    const id = `one-${index}`;
    const sentAt = performance.now();
    const ended = new Promise<void>((resolve) => ends.set(id, resolve));
    await add(id);
    await ended;
    latencies.push(performance.now() - sentAt);
  }
  return {
    'jobs/s': (fewerConcurrentRuns / seconds).toFixed(0),
    'accepted/s': (fewerConcurrentRuns / ((addedAt - startedAt) / 1000)).toFixed(0),
    'all at once: accept to done p99': '',
    'one by one: p50': milliseconds(percentile(latencies, 0.5)),
    p99: milliseconds(percentile(latencies, 0.99)),
    'as the caller sees it p50': '',
  };
}

async function measureN8n({ webhookUrl, database }: BenchN8n): Promise<Record<string, string>> {
  const dispatcher = new Agent({ connections: senders });
  const hook = async () => {
    const { statusCode, body } = await request(webhookUrl, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json' },
      body: '{"event":"bench"}',
    });
    await body.dump();
    if (statusCode !== 200) throw new Error(`the webhook answered ${statusCode}`);
  };
  const finished = async () =>
    Number(
      (await database.query("select count(*)::int as count from execution_entity where status = 'success'")).rows[0]
        .count,
    );
  const doneAfter = async (count: number, pauseMs: number) => {
    while ((await finished()) < count) await new Promise((done) => setTimeout(done, pauseMs));
  };
  let expected = (await finished()) + 300;
  await inParallel(300, senders, hook);
  await doneAfter(expected, 50);
  const startedAt = performance.now();
  expected += fewerConcurrentRuns;
  await inParallel(fewerConcurrentRuns, senders, hook);
  const acceptedAt = performance.now();
  await doneAfter(expected, 10);
  const seconds = (performance.now() - startedAt) / 1000;
  for (let index = 0; index < runsOneByOne; index += 1) {
    await hook();
    expected += 1;
    await doneAfter(expected, 2);
  }
  const { rows } = await database.query<{ ms: number }>(
    `select extract(epoch from "stoppedAt" - "createdAt")::float8 * 1000 as ms from execution_entity order by id desc limit $1`,
    [runsOneByOne],
  );
  await dispatcher.close();
  const served = rows.map(({ ms }) => ms);
  return {
    'jobs/s': (fewerConcurrentRuns / seconds).toFixed(0),
    'accepted/s': (fewerConcurrentRuns / ((acceptedAt - startedAt) / 1000)).toFixed(0),
    'all at once: accept to done p99': '',
    'one by one: p50': milliseconds(percentile(served, 0.5)),
    p99: milliseconds(percentile(served, 0.99)),
    'as the caller sees it p50': '',
  };
}

/**
 * Compares webhook-started runs of one step with no-op jobs of plain BullMQ on each backend, and measures runs with an
 * HTTP call.
 * With `--against n8n`, compares with n8n on the same PostgreSQL server as well.
 */
export async function benchRuns(args: string[]): Promise<void> {
  const wanted = readBenchArguments(
    'runs',
    args,
    {
      steps: 'runs of one step',
      calls: 'runs of three steps, one of which calls a local address',
      bullmq: 'no-op jobs on bare BullMQ, for comparison',
      redis: 'those of one step, and the jobs, on Redis as well',
      workers: 'runs of one step on several processes',
    },
    { against: 'n8n: measure that, too, where it is installed' },
  );
  if (wanted === null) return;
  const { parts, values } = wanted;
  const { against } = values;
  const n8n = against === undefined ? null : findN8n();
  if (against !== undefined && (against !== 'n8n' || n8n === null))
    throw new Error(
      '--against takes n8n, which must be on the PATH or named by N8N_BIN; docs/internals/measurements.md says how it installs.',
    );
  const rows: Record<string, string>[] = [];
  if (parts.has('steps') || parts.has('bullmq') || n8n !== null) {
    await using hub = await startBenchHub();
    if (parts.has('steps'))
      rows.push({ what: 'Outrigger, embedded PostgreSQL', ...(await measureHub(hub, concurrentRuns)) });
    const serverUrl = readPostgresUrl(hub.home) as string;
    if (parts.has('bullmq'))
      rows.push({
        what: 'bare BullMQ, same PostgreSQL',
        ...(await measureQueue({ kind: 'postgres', url: serverUrl })),
      });
    if (n8n !== null) {
      await using beside = await startBenchN8n(n8n, serverUrl);
      rows.push({ what: 'n8n, same PostgreSQL', ...(await measureN8n(beside)) });
    }
  }
  if (parts.has('redis') && redisAvailable) {
    await using redis = await startRedis();
    await using hub = await startBenchHub({ REDIS_URL: redis.url });
    if (parts.has('steps')) rows.push({ what: 'Outrigger, Redis', ...(await measureHub(hub, concurrentRuns)) });
    if (parts.has('bullmq'))
      rows.push({ what: 'bare BullMQ, same Redis', ...(await measureQueue({ kind: 'redis', url: redis.url })) });
  } else if (parts.has('redis')) process.stdout.write('redis-server is not installed: the Redis rows are left out\n');
  if (rows.length > 0)
    printTable(
      `Runs of one step started by webhook: ${concurrentRuns} (${fewerConcurrentRuns} of the others) from ${senders} senders, then ${runsOneByOne} one by one; PostgreSQL with fsync on`,
      rows,
    );
  if (parts.has('calls')) await measureCalls();
  if (parts.has('workers')) await benchWorkers();
}
