import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { Agent, request } from 'undici';
import { findTool } from '../../node-agent/runtime/commands/media-tool.ts';
import buildApp, { electronArguments, electronPath } from '../fixtures/electron-runtime.ts';
import { unawaited } from '../fixtures/unawaited.ts';
import { startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { milliseconds, percentile, printTable } from './table.ts';

const captures = 40;
const fileBytes = 200 * 1024 * 1024;
const copies = 5;
const runDeadlineMs = 300_000;
const say = (line: string) => process.stdout.write(`${line}\n`);
const companionCli = resolve('node-agent/runtime/cli.ts');

interface PairedCompanion {
  nodeId: string;
  env: NodeJS.ProcessEnv;
  shared: string;
}

async function pairCompanion(hub: BenchHub, folder: string, env: NodeJS.ProcessEnv): Promise<PairedCompanion> {
  const shared = join(folder, 'shared');
  await mkdir(shared, { recursive: true });
  const whole = { ...env, OUTRIGGER_COMPANION_HOME: join(folder, 'data') };
  const cli = (...args: string[]) => promisify(execFile)(process.execPath, [companionCli, ...args], { env: whole });
  const { nodeId, pairingCode } = await hub.api.call('createAutomationNode', { body: {} });
  await cli('pair', pairingCode, '--hub', hub.url);
  await cli('allow', 'screen');
  await cli('share', shared);
  return { nodeId, env: whole, shared };
}

/** Ids of a process and all its descendants. */
function treeOf(root: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        return [{ pid: Number(name), parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) }];
      } catch {
        return [];
      }
    });
  const below = (pid: number): number[] => [
    pid,
    ...parents.filter(({ parent }) => parent === pid).flatMap((process) => below(process.pid)),
  ];
  return below(root);
}

/** Memory of a process tree in MiB, with shared pages counted once (PSS), and its processor time in seconds. */
function usageOf(root: number): { mebibytes: number; cpuSeconds: number } {
  let [kibibytes, ticks] = [0, 0];
  for (const pid of treeOf(root)) {
    try {
      kibibytes += Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      // Includes the time of ended children.
      ticks += fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    } catch {
      // The process has ended.
    }
  }
  return { mebibytes: kibibytes / 1024, cpuSeconds: ticks / 100 };
}

async function idleRow(
  what: string,
  child: ChildProcess,
  seconds: number,
  aims: string,
): Promise<Record<string, string>> {
  // Waits until the work of the start is over.
  await delay(20_000);
  const root = child.pid as number;
  const samples: number[] = [];
  const before = usageOf(root);
  for (let at = 0; at < seconds; at += 5) {
    await delay(Math.min(5, seconds - at) * 1000);
    samples.push(usageOf(root).mebibytes);
  }
  const after = usageOf(root);
  return {
    what,
    'memory, median': `${percentile(samples, 0.5).toFixed(0)} MiB`,
    'memory, most': `${Math.max(...samples).toFixed(0)} MiB`,
    'of one core': `${(((after.cpuSeconds - before.cpuSeconds) / seconds) * 100).toFixed(2)} %`,
    aim: aims,
  };
}

const until = async (isDone: () => boolean | Promise<boolean>, what: string) => {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await isDone()) return;
    await delay(100);
  }
  throw new Error(`${what} did not happen within 30 s`);
};

const isOnline = async (hub: BenchHub, nodeId: string) =>
  (await hub.api.call('listAutomationNodes', {})).data.some(({ id, status }) => id === nodeId && status === 'online');

async function startScreen(): Promise<{ display: string; end: () => void }> {
  const screen = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1920x1080x24', '-nolisten', 'tcp', '-noreset'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  screen.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await until(() => text.trim() !== '', 'the virtual screen');
  const display = `:${text.trim()}`;
  const terminal = spawn('xterm', ['-geometry', '200x60', '-e', 'top'], {
    env: { ...process.env, DISPLAY: display },
    stdio: 'ignore',
  });
  terminal.on('error', () => undefined);
  return {
    display,
    end: () => {
      terminal.kill();
      screen.kill();
    },
  };
}

/** Seconds from the start of a run to the last byte of its artifact. */
async function timeRun(hub: BenchHub, workflowId: string, dispatcher: Agent): Promise<{ ms: number; bytes: number }> {
  const headers = { 'x-api-key': hub.key, 'content-type': 'application/json' };
  const startedAt = performance.now();
  const started = await request(`${hub.url}/v1/automations/workflows/${workflowId}/run`, {
    method: 'POST',
    dispatcher,
    headers,
    body: '{}',
  });
  const { runId } = (await started.body.json()) as { runId: string };
  let run: { status: string; error: unknown; stepsResultJson: { output: { bytes: number } }[] };
  do {
    const ended = await request(`${hub.url}/v1/automations/runs/${runId}?waitSeconds=30`, { dispatcher, headers });
    run = (await ended.body.json()) as typeof run;
  } while (run.status === 'running' && performance.now() - startedAt < runDeadlineMs);
  if (run.status !== 'succeeded') throw new Error(`the run ended ${run.status}: ${JSON.stringify(run.error)}`);
  return { ms: performance.now() - startedAt, bytes: run.stepsResultJson[0]?.output.bytes ?? 0 };
}

async function benchWork(hub: BenchHub, companion: PairedCompanion, display: string | null): Promise<void> {
  const dispatcher = new Agent({ connections: 2 });
  const workflow = async (skillId: string, input: Record<string, unknown>) =>
    (
      await hub.api.call('createAutomationWorkflow', {
        body: {
          name: skillId,
          stepsJson: [{ type: 'skill', skillId, input: { nodeId: companion.nodeId, ...input } as never }],
        },
      })
    ).id;
  const row = (what: string, samples: number[]) => ({
    what,
    p50: milliseconds(percentile(samples, 0.5)),
    p95: milliseconds(percentile(samples, 0.95)),
  });
  if (display === null || findTool('ffmpeg') === null) say('no Xvfb or no ffmpeg: the rows of captures are left out');
  else {
    const rows = [];
    for (const format of ['png', 'jpeg'] as const) {
      const id = await workflow('node.capture_screen', { format });
      const [through, bare]: number[][] = [[], []];
      for (let index = 0; index < captures; index += 1) {
        through?.push((await timeRun(hub, id, dispatcher)).ms);
        const startedAt = performance.now();
        const file = join(companion.shared, `bare.${format}`);
        const quiet = ['-hide_banner', '-loglevel', 'error', '-nostdin', '-y'];
        const grab = ['-f', 'x11grab', '-video_size', '1920x1080', '-i', display, '-frames:v', '1', file];
        await promisify(execFile)('ffmpeg', quiet.concat(grab));
        bare?.push(performance.now() - startedAt);
      }
      rows.push(row(`${format}: run accepted to artifact on the hub`, through ?? []));
      rows.push(row(`${format}: ffmpeg alone, to a file`, bare ?? []));
    }
    printTable(`A screen of 1920x1080, ${captures} one after the other`, rows);
  }

  const path = join(companion.shared, 'large.bin');
  {
    await using file = await open(path, 'w');
    for (let at = 0; at < fileBytes; at += 1024 * 1024) await file.write(randomBytes(1024 * 1024));
  }
  const server = createServer((_request, response) => unawaited(pipeline(createReadStream(path), response)));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const id = await workflow('node.files_read', { path });
  const [through, plain]: number[][] = [[], []];
  for (let index = 0; index < copies; index += 1) {
    const { ms, bytes } = await timeRun(hub, id, dispatcher);
    if (bytes !== fileBytes) throw new Error(`${bytes} bytes arrived of ${fileBytes}`);
    through?.push(ms);
    const startedAt = performance.now();
    const answer = await request(url, { dispatcher });
    await pipeline(answer.body, createWriteStream(join(companion.shared, 'copy.bin'), { flush: true }));
    plain?.push(performance.now() - startedAt);
  }
  server.close();
  await dispatcher.close();
  const rate = (samples: number[]) => `${(fileBytes / 1e6 / (percentile(samples, 0.5) / 1000)).toFixed(0)} MB/s`;
  printTable(`A file of ${fileBytes / 1024 / 1024} MiB, median of ${copies}`, [
    { what: 'files_read: run accepted to artifact on the hub, checked', rate: rate(through ?? []) },
    { what: 'a plain copy through loopback HTTP, fsync at the end', rate: rate(plain ?? []) },
  ]);
}

/** Measures the idle resource use of a companion and the speed of its commands. */
export async function benchCompanion(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { seconds: { type: 'string', default: '600' }, help: { type: 'boolean' } },
  });
  const seconds = Number(values.seconds);
  if (values.help === true || !Number.isInteger(seconds) || seconds < 5) {
    say('Usage: npm run bench -- companion [--seconds 600]   how long it is watched idling, at least 5');
    return;
  }
  await using hub = await startBenchHub();
  const folder = await mkdtemp(join(tmpdir(), 'outrigger-bench-companion-'));
  const screen = findTool('Xvfb') === null ? null : await startScreen();
  const env = { ...process.env, ...(screen === null ? {} : { DISPLAY: screen.display }) };
  const children: ChildProcess[] = [];
  try {
    const companion = await pairCompanion(hub, join(folder, 'headless'), env);
    const headless = spawn(process.execPath, [companionCli, 'run'], { env: companion.env, stdio: 'ignore' });
    children.push(headless);
    await until(() => isOnline(hub, companion.nodeId), 'the companion');
    await benchWork(hub, companion, screen?.display ?? null);

    const watched = [idleRow('headless', headless, seconds, '150 MiB')];
    if (screen === null || electronPath === null)
      say('no Xvfb or no Electron runtime: the row of the window is left out');
    else {
      const app = await pairCompanion(hub, join(folder, 'app'), env);
      buildApp();
      const window = spawn(electronPath, electronArguments(), { env: app.env, stdio: 'ignore' });
      children.push(window);
      await until(() => isOnline(hub, app.nodeId), 'the app');
      watched.push(idleRow('with the window open', window, seconds, '350 MiB, 1 %'));
    }
    printTable(`Idle for ${seconds} s, whole process trees`, await Promise.all(watched));
  } finally {
    for (const child of children) {
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGTERM');
      await Promise.race([ended, delay(12_000).then(() => child.kill('SIGKILL'))]);
    }
    screen?.end();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
