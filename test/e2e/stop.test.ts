import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { processesWith, startCompanion } from '../fixtures/companion.ts';
import { freePort } from '../fixtures/free-port.ts';
import { startHub } from '../fixtures/hub.ts';
import { inheritedEnv } from '../fixtures/processes.ts';
import { until } from '../fixtures/until.ts';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-stop-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));

const env = (more: Record<string, string> = {}) => ({
  ...inheritedEnv(),
  LOG_LEVEL: 'fatal',
  PORT: '0',
  OUTRIGGER_HOME: home,
  ...more,
});

/** A command of the README and its output. */
class Command {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Resolves when no process can write to its output any more. */
  readonly closed: Promise<void>;
  text = '';

  constructor(program: string, args: string[], options: { env?: Record<string, string>; detached?: boolean } = {}) {
    this.child = spawn(program, args, {
      env: env(options.env),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: options.detached === true,
    });
    this.ended = new Promise((done) => this.child.once('exit', (code, signal) => done({ code, signal })));
    this.closed = new Promise((done) => this.child.once('close', () => done()));
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.text += chunk.toString();
      });
    }
    // A failed test must not leave processes for the next test.
    onTestFinished(async () => {
      this.child.kill('SIGKILL');
      await expectNothingLeft();
    });
  }

  async prints(pattern: RegExp): Promise<string> {
    // A start creates a database. On a busy machine this takes longer than the time limit of other waits.
    const deadline = performance.now() + 100_000;
    while (!pattern.test(this.text)) {
      if (performance.now() > deadline) throw new Error(`this was printed: ${this.text}`);
      await delay(25);
    }
    return pattern.exec(this.text)?.[1] ?? '';
  }
}

const ready = /ready at (\S+)/;
/** The number of processes of this data folder: npm, hub, database. */
const left = () => processesWith(home).length;
const expectNothingLeft = () =>
  until(
    () => left() === 0,
    () => `processes are left: ${processesWith(home).join(', ')}`,
  );
const hubPid = () => (JSON.parse(readFileSync(join(home, 'hub.lock'), 'utf8')) as { pid: number }).pid;

describe('npm start ends all its processes', () => {
  test.each(['SIGTERM', 'SIGHUP', 'SIGKILL'] as const)('when npm alone gets %s', async (signal) => {
    const npm = new Command('npm', ['start']);
    await npm.prints(ready);
    expect(left()).toBeGreaterThan(2);
    npm.child.kill(signal);
    await expectNothingLeft();
    await npm.closed;
    expect(npm.text).toContain('Stopping');
  });

  test('when the hub itself is killed', async () => {
    const npm = new Command('npm', ['start']);
    await npm.prints(ready);
    process.kill(hubPid(), 'SIGKILL');
    await expectNothingLeft();
    expect((await npm.ended).code).not.toBe(0);
  });

  test('when Ctrl-C reaches both npm and the hub, and stops once', async () => {
    const npm = new Command('npm', ['start'], { detached: true });
    await npm.prints(ready);
    process.kill(-(npm.child.pid as number), 'SIGINT');
    await expectNothingLeft();
    await npm.closed;
    expect(npm.text.match(/Stopping/g)).toHaveLength(1);
  });
});

describe('npm start keeps running', () => {
  test.each([['nohup'], ['setsid']])(
    'under %s after the shell that started it ends and its terminal is closed',
    async (how) => {
      const log = join(home, `${how}.log`);
      const shell = new Command('sh', ['-c', `${how} npm start >${log} 2>&1 </dev/null &`], { detached: true });
      await shell.ended;
      await expect.poll(() => readFileSync(log, 'utf8')).toMatch(ready);
      const url = ready.exec(readFileSync(log, 'utf8'))?.[1] as string;
      // A shell whose terminal is closed sends SIGHUP to each of its jobs.
      if (how === 'nohup') process.kill(-(shell.child.pid as number), 'SIGHUP');
      const uptime = async () =>
        ((await (await fetch(`${url}/healthz`)).json()) as { uptimeSeconds: number }).uptimeSeconds;
      const before = await uptime();
      await expect.poll(uptime).toBeGreaterThan(before + 2);
      process.kill(hubPid(), 'SIGTERM');
      await expectNothingLeft();
    },
  );
});

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'npm run companion ends its companion when npm alone gets %s',
  async (signal) => {
    await using hub = await startHub();
    const workspace = await hub.workspace();
    await using companion = await startCompanion(hub, workspace, { start: false });
    const npm = new Command('npm', ['run', 'companion', '--', 'run'], {
      env: { OUTRIGGER_COMPANION_HOME: companion.home },
    });
    await npm.prints(/connected/);
    npm.child.kill(signal);
    await expect.poll(() => processesWith(companion.home).length).toBe(0);
    await npm.closed;
    expect(npm.text).toContain('stopped');
  },
);

test('npm run demo ends its hub and its companion when npm alone is killed', async () => {
  const npm = new Command('npm', ['run', 'demo', '--', '--yes'], { env: { PORT: String(await freePort()) } });
  await npm.prints(/The hub is ready/);
  npm.child.kill('SIGKILL');
  await expectNothingLeft();
});
