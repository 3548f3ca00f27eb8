import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client as PgClient } from 'pg';
import { Agent, request } from 'undici';
import { migrateDatabase } from '../../hub/platform/db/migrate.ts';
import { startPostgresServer } from '../../hub/platform/postgres-server/server.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { redisAvailable, startRedis } from '../fixtures/redis.ts';
import { secondsBelow, secondsOf } from './hub.ts';
import { milliseconds, percentile, printTable } from './table.ts';

const runCount = 4_000;
const senders = 32;
const warmUpRuns = 300;
const topologies: [string, string[]][] = [
  ['1 process', ['all']],
  ['api + 1 worker', ['api', 'worker']],
  ['api + 4 workers', ['api', ...Array.from({ length: 4 }, () => 'worker')]],
  ['api + 8 workers', ['api', ...Array.from({ length: 8 }, () => 'worker')]],
];

/** Starts a process of the hub. The address of a worker is empty. */
async function startProcess(env: Record<string, string>, role: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [resolve('hub/main.ts'), '--role', role], {
    env: { ...env, OUTRIGGER_LAUNCHER: String(process.pid) },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  return new Promise((done, fail) => {
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const url = /ready at (\S+)/.exec(text)?.[1] ?? '';
      if (url !== '' || text.includes('worker is ready')) done({ child, url });
    });
    child.once('exit', (code) => fail(new Error(`the hub did not start (exit code ${code}): ${text}`)));
  });
}

/** Measures webhook-started runs of one step on some processes of the hub, with a PostgreSQL server of their own. */
async function measureTopology(
  what: string,
  roles: string[],
  redisUrl: string | null,
): Promise<Record<string, string>> {
  await using stack = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), `outrigger-bench-${process.pid}-`));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const server = stack.use(
    await startPostgresServer({
      home,
      onNotice: () => undefined,
      settings: { max_connections: '300', shared_preload_libraries: 'pg_stat_statements' },
    }),
  );
  const postmaster = Number((await readFile(join(home, 'postgres/data/postmaster.pid'), 'utf8')).split('\n')[0]);
  await migrateDatabase(server.url);
  const database = new PgClient({ connectionString: server.superuserUrl });
  // This connection ends with its server. The failure that ended the server is reported elsewhere.
  database.on('error', () => undefined);
  await database.connect();
  stack.defer(() => database.end());
  await database.query('CREATE EXTENSION pg_stat_statements');
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    DATABASE_URL: server.url,
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
    SECRET_KEY: 'ab'.repeat(32),
    PORT: '0',
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '1000000',
    HOOK_RATE_LIMIT_PER_MINUTE: '10000000',
    QUEUED_RUNS_PER_WORKSPACE: '0',
    NODE_OPTIONS: process.env['BENCH_NODE_OPTIONS'] ?? '',
  };
  const children: ChildProcess[] = [];
  let url = '';
  for (const [index, role] of roles.entries()) {
    const started = await startProcess({ ...env, OUTRIGGER_HOME: join(home, `hub-${index}`) }, role);
    children.push(started.child);
    stack.defer(async () => {
      started.child.kill('SIGINT');
      if (started.child.exitCode === null) await once(started.child, 'exit');
    });
    url ||= started.url;
  }
  const cli = [resolve('hub/cli/cli.ts'), 'token', 'create', '--product', 'automations'];
  const { stdout } = await promisify(execFile)(process.execPath, cli, {
    env: { ...env, OUTRIGGER_HOME: join(home, 'cli') },
  });
  const api = createClient({ baseUrl: url, fetch: fetch as unknown as Fetch, token: stdout.trim() });
  const token = 'benchmark-webhook-token';
  await api.call('createAutomationWorkflow', {
    body: {
      name: 'bench',
      triggerJson: { type: 'webhook', webhook: { token } },
      stepsJson: [{ type: 'log', message: 'done' }],
    },
  });
  const dispatcher = new Agent({ connections: senders });
  stack.defer(() => dispatcher.close());
  const startRuns = async (count: number) => {
    let sent = 0;
    const send = async () => {
      while (sent < count) {
        sent += 1;
        const { statusCode, body } = await request(`${url}/v1/automations/hooks/inbound`, {
          method: 'POST',
          dispatcher,
          headers: { 'content-type': 'application/json', 'x-service-automation-token': token },
          body: '{"event":"bench"}',
        });
        const text = await body.text();
        if (statusCode !== 200) throw new Error(`the hook responded with ${statusCode}: ${text}`);
      }
    };
    await Promise.all(Array.from({ length: senders }, send));
  };
  const finished = async (count: number) => {
    const sql = "SELECT count(*)::int AS n FROM runs WHERE status = 'succeeded'";
    while ((await database.query<{ n: number }>(sql)).rows[0]?.n !== count) await sleep(20);
  };
  const usage = async () => {
    // The processes report their commits to PostgreSQL within a second.
    await sleep(1_500);
    const { rows } = await database.query<{ commits: number; wal: number; claims: number; connections: number }>(
      `SELECT xact_commit::int AS commits, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal,
         (SELECT coalesce(sum(calls), 0)::int FROM pg_stat_statements WHERE query LIKE '%claimed AS (%' AND query LIKE '%SKIP LOCKED%') AS claims,
         (SELECT count(*)::int FROM pg_stat_activity WHERE datname = 'outrigger') AS connections
       FROM pg_stat_database WHERE datname = 'outrigger'`,
    );
    return {
      ...(rows[0] as (typeof rows)[number]),
      hub: (await Promise.all(children.map(({ pid }) => secondsOf(pid as number)))).reduce((a, b) => a + b, 0),
      postgres: await secondsBelow(postmaster),
    };
  };
  await startRuns(warmUpRuns);
  await finished(warmUpRuns);
  const before = await usage();
  const startedAt = performance.now();
  await startRuns(runCount);
  await finished(warmUpRuns + runCount);
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await usage();
  const { rows } = await database.query<{ ms: number }>(
    'SELECT extract(epoch FROM finished_at - queued_at)::float8 * 1000 AS ms FROM runs ORDER BY id DESC LIMIT $1',
    [runCount],
  );
  const latencies = rows.map(({ ms }) => ms);
  const each = (name: keyof typeof before) => (after[name] - before[name]) / runCount;
  return {
    what,
    'runs/s': (runCount / seconds).toFixed(0),
    'hub, each': `${(each('hub') * 1000).toFixed(2)} ms`,
    'PostgreSQL, each': `${(each('postgres') * 1000).toFixed(2)} ms`,
    'commits, each': each('commits').toFixed(2),
    'claims, each': each('claims').toFixed(2),
    'WAL, each': `${(each('wal') / 1024).toFixed(1)} KiB`,
    'accept to done p50': milliseconds(percentile(latencies, 0.5)),
    p99: milliseconds(percentile(latencies, 0.99)),
    connections: String(after.connections),
  };
}

/** Compares one process with an API process and workers, on PostgreSQL alone and with Redis. */
export async function benchWorkers(): Promise<void> {
  const measureAll = async (redisUrl: string | null) => {
    const rows: Record<string, string>[] = [];
    for (const [what, roles] of topologies) rows.push(await measureTopology(what, roles, redisUrl));
    printTable(
      `Runs of one step on several processes, ${redisUrl === null ? 'without' : 'with'} Redis: ${runCount} from ${senders} senders`,
      rows,
    );
  };
  await measureAll(null);
  if (redisAvailable) {
    await using redis = await startRedis();
    await measureAll(redis.url);
  } else process.stdout.write('redis-server is not installed: the rows with Redis are left out\n');
}
