import { spawn, execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { WebSocket } from 'ws';
import { createClient } from '../fixtures/contract-client.ts';
import type { Client, Fetch } from '../fixtures/contract-client.ts';
import { unawaited } from '../fixtures/unawaited.ts';

/** A hub in its own process, without rate limits, which would limit the measurement. */
export interface BenchHub extends AsyncDisposable {
  url: string;
  key: string;
  api: Client;
  home: string;
  pid: number;
  /** Resident memory in bytes, and processor time of the hub and of its PostgreSQL in seconds. */
  usage(): Promise<{ residentBytes: number; cpuSeconds: number; postgresSeconds: number }>;
  /** Collects garbage. Requires an inspected hub. */
  collectGarbage(): Promise<void>;
  /** Used bytes of the V8 heap. Requires an inspected hub. */
  usedHeapBytes(): Promise<number>;
}

const homePrefix = 'outrigger-bench-';

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Removes the folders of killed benchmarks. Their hubs have ended by themselves. */
async function removeLeftOvers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = new RegExp(`^${homePrefix}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
}

const open = new Set<AsyncDisposable>();
/** Disposes the hub when the benchmark gets a signal to end. */
function endWithBench(hub: AsyncDisposable): void {
  open.add(hub);
  if (open.size > 1 || process.listenerCount('SIGTERM') > 0) return;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      process.exitCode = 130;
      unawaited(Promise.allSettled([...open].map((each) => each[Symbol.asyncDispose]())).finally(() => process.exit()));
    });
}

/** Processor time of a process, in seconds. */
export async function secondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Processor time of all descendants of a process, including ended ones, in seconds. */
export async function secondsBelow(pid: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const processes = await Promise.all(
    pids.map(async (name) => {
      const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      return { pid: Number(name), parent: Number(fields[1]), ticks };
    }),
  );
  const sumBelow = (parent: number): number =>
    processes
      .filter((process) => process.parent === parent)
      .reduce((sum, process) => sum + process.ticks + sumBelow(process.pid), 0);
  return sumBelow(pid) / 100;
}

/** Signs in as the admin of the demo workspace and returns the session token. */
export async function signIn({ home, api }: BenchHub): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [resolve('hub/cli/cli.ts'), 'link'], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], OUTRIGGER_HOME: home },
  });
  const code = new URL(stdout.trim()).searchParams.get('code') as string;
  return (await api.call('redeemSignInLink', { body: { code } })).token;
}

export async function startBenchHub(env: Record<string, string> = {}, { isInspected = false } = {}): Promise<BenchHub> {
  await removeLeftOvers();
  const home = await mkdtemp(join(tmpdir(), `${homePrefix}${process.pid}-`));
  const settings = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    LOG_LEVEL: 'warn',
    OUTRIGGER_HOME: home,
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '1000000',
    HOOK_RATE_LIMIT_PER_MINUTE: '10000000',
    ...env,
  };
  // Raises the limit of open files: ten thousand devices need ten thousand sockets.
  const child = spawn(
    'sh',
    [
      '-c',
      'ulimit -n 65535 2>/dev/null || ulimit -n $(ulimit -Hn); exec "$@"',
      'sh',
      process.execPath,
      resolve('hub/outrigger.js'),
      'start',
    ],
    {
      env: {
        ...settings,
        NODE_OPTIONS: `${process.env['BENCH_NODE_OPTIONS'] ?? ''}${isInspected ? ' --inspect=127.0.0.1:0' : ''}`,
        // Makes the hub end with the benchmark, also if the benchmark is killed.
        OUTRIGGER_PARENT_PID: String(process.pid),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let inspector: string | undefined;
  child.stderr.on('data', (chunk: Buffer) => {
    // The launcher prints an inspector address, too, before it becomes the hub. The last one is valid.
    inspector = [...chunk.toString().matchAll(/Debugger listening on (\S+)/g)].at(-1)?.[1] ?? inspector;
    process.stderr.write(chunk);
  });
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  const url = await new Promise<string>((done, fail) => {
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const found = /ready at (\S+)/.exec(text)?.[1];
      if (found !== undefined) done(found);
    });
    unawaited(exited.then(() => fail(new Error('the hub did not start'))));
  });
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [resolve('hub/cli/cli.ts'), 'token', 'create', '--product', 'automations'],
    { env: settings },
  );
  const key = stdout.trim();
  const pid = child.pid as number;
  const inspect = async (...methods: string[]) => {
    if (inspector === undefined) throw new Error('this hub is not inspected');
    const socket = new WebSocket(inspector);
    await once(socket, 'open');
    let result: Record<string, number> = {};
    for (const [id, method] of methods.entries()) {
      socket.send(JSON.stringify({ id, method }));
      const [answer] = (await once(socket, 'message')) as [Buffer];
      ({ result } = JSON.parse(answer.toString()) as { result: Record<string, number> });
    }
    socket.close();
    return result;
  };
  const hub: BenchHub = {
    url,
    key,
    home,
    pid,
    api: createClient({ baseUrl: url, fetch: fetch as unknown as Fetch, token: key }),
    async usage() {
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      return {
        residentBytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024,
        cpuSeconds: await secondsOf(pid),
        postgresSeconds: await secondsBelow(pid),
      };
    },
    async collectGarbage() {
      // The second collection frees the objects that the first one finalized.
      await inspect('HeapProfiler.collectGarbage', 'HeapProfiler.collectGarbage');
    },
    async usedHeapBytes() {
      return (await inspect('Runtime.getHeapUsage'))['usedSize'] ?? 0;
    },
    async [Symbol.asyncDispose]() {
      open.delete(hub);
      child.kill('SIGINT');
      await exited;
      await rm(home, { recursive: true, force: true });
    },
  };
  endWithBench(hub);
  return hub;
}
