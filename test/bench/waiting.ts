import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client as PgClient } from 'pg';
import { v7 } from 'uuid';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { readBenchArguments } from './bench-arguments.ts';
import { startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { printTable } from './table.ts';
import type { DeviceOrder, DeviceReport } from './waiting-devices.ts';

/** Time after the start until the hub has released the memory of its start, in milliseconds. */
const startMs = 12_000;
/** Time after connecting until the measurement, and its duration, in milliseconds. */
const settleMs = 35_000;
const measuredMs = 60_000;

/** Starts the process that runs all devices. */
function startDevices() {
  const child = spawn(
    'sh',
    [
      '-c',
      'ulimit -n 65535 2>/dev/null || ulimit -n $(ulimit -Hn); exec "$@"',
      'sh',
      process.execPath,
      resolve('test/bench/waiting-devices.ts'),
    ],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  return {
    async order(order: DeviceOrder): Promise<DeviceReport> {
      child.send(order);
      const [report] = (await once(child, 'message')) as [DeviceReport];
      return report;
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

async function addDevices(database: PgClient, count: number): Promise<{ id: string; secret: string }[]> {
  const devices = Array.from({ length: count }, () => ({ id: v7(), secret: randomBytes(24).toString('base64url') }));
  await database.query(
    `insert into nodes (id, tenant_id, name, allow_system, allow_browser, secret_hash, paired_at, last_seen_at)
     select made.id, t.id, 'device ' || made.id, false, false, decode(hash, 'hex'), now(), now()
     from unnest($1::uuid[], $2::text[]) as made(id, hash), tenants t where t.name = 'demo'`,
    [devices.map(({ id }) => id), devices.map(({ secret }) => createHash('sha256').update(secret).digest('hex'))],
  );
  return devices;
}

interface Usage {
  atMs: number;
  cpuSeconds: number;
  residentBytes: number;
  /** Transactions as the server counts them, including single statements. */
  transactions: number;
}

async function usageOf(hub: BenchHub, database: PgClient): Promise<Usage> {
  const { rows } = await database.query<{ transactions: number }>(
    'select (xact_commit + xact_rollback)::int as transactions from pg_stat_database where datname = current_database()',
  );
  return { atMs: performance.now(), transactions: rows[0]?.transactions as number, ...(await hub.usage()) };
}

async function measure(hub: BenchHub, database: PgClient): Promise<{ start: Usage; end: Usage; seconds: number }> {
  const start = await usageOf(hub, database);
  await delay(measuredMs);
  const end = await usageOf(hub, database);
  return { start, end, seconds: (end.atMs - start.atMs) / 1000 };
}

/** Measures the cost of waiting devices: additional memory, processor share and transactions. */
async function benchKind(kind: 'poll' | 'channel', counts: readonly number[]): Promise<Record<string, string>[]> {
  await using hub = await startBenchHub({}, { isInspected: true });
  await using devices = startDevices();
  const database = new PgClient({ connectionString: readPostgresUrl(hub.home) as string });
  await database.connect();
  await delay(startMs);
  const idle = await usageOf(hub, database);
  await delay(startMs);
  await hub.collectGarbage();
  const before = await usageOf(hub, database);
  const idleRate = (before.transactions - idle.transactions) / ((before.atMs - idle.atMs) / 1000);
  const rows: Record<string, string>[] = [];
  let connected = 0;
  const measureAs = async (how: string) => {
    await delay(settleMs);
    const { start, end, seconds } = await measure(hub, database);
    const { open } = await devices.order('count');
    await hub.collectGarbage();
    const { residentBytes } = await hub.usage();
    const kibibytes = (bytes: number) => `${((bytes - before.residentBytes) / 1024 / connected).toFixed(1)} KiB`;
    const transactions = end.transactions - start.transactions - idleRate * seconds;
    rows.push({
      'waiting devices': `${open} ${how}`,
      'memory for each': kibibytes(residentBytes),
      'with garbage': kibibytes(end.residentBytes),
      'of one core': `${(((end.cpuSeconds - start.cpuSeconds) / seconds) * 100).toFixed(1)} %`,
      'transactions a device a minute': ((transactions / connected / seconds) * 60).toFixed(2),
    });
  };
  for (const count of counts) {
    await devices.order({ kind, url: hub.url, devices: await addDevices(database, count - connected) });
    connected = count;
    await measureAs(kind === 'poll' ? 'in polls of 30 s' : 'on the channel');
  }
  if (kind === 'channel') {
    await devices.order('heartbeats');
    await measureAs('on the channel, a heartbeat every 15 s');
  }
  await database.end();
  return rows;
}

/** Measures devices that wait, with long polls and on the channel. */
export async function benchWaiting(args: string[]): Promise<void> {
  if (readBenchArguments('waiting', args, { devices: 'devices in long polls, and on the channel' }) === null) return;
  const polls = await benchKind('poll', [1_000, 10_000]);
  const channels = await benchKind('channel', [10_000]);
  printTable('Devices that wait', [...polls, ...channels]);
}
