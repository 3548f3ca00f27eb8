import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { processesWith } from '../fixtures/companion.ts';
import { freePort } from '../fixtures/free-port.ts';
import { inheritedEnv } from '../fixtures/processes.ts';
import { until } from '../fixtures/until.ts';

/** Runs `npm run demo -- ...args` in a data folder of its own until it exits. */
async function demo(...args: string[]): Promise<{ code: number | null; text: string; home: string }> {
  const home = mkdtempSync(join(tmpdir(), 'outrigger-demo-test-'));
  const child = spawn('npm', ['run', 'demo', '--', ...args], {
    env: { ...inheritedEnv(), OUTRIGGER_HOME: home, PORT: String(await freePort()), NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await until(
      () => processesWith(home).length === 0,
      () => `processes are left: ${processesWith(home).join(', ')}`,
    );
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  const timer = setTimeout(() => child.kill('SIGTERM'), 280_000);
  const code = await new Promise<number | null>((done) => child.once('close', (status) => done(status)));
  clearTimeout(timer);
  return { code, text, home };
}

const isPng = (path: string) => existsSync(path) && readFileSync(path).subarray(1, 4).toString() === 'PNG';
const has = (program: string, ...args: string[]) => spawnSync(program, args).error === undefined;
const hasTools = has('Xvfb', '-help') && has('chromium', '--version');

test.skipIf(!hasTools)(
  'npm run demo completes every step and saves two pictures (needs Xvfb and Chromium)',
  async () => {
    const { code, text, home } = await demo('--yes', '--exit');
    expect(text).toContain('Every step succeeded: 9 of 9 steps');
    expect(text).toMatch(/✓ Run uname -a, once approved +\d+ ms {2}\w+/);
    expect(text).toMatch(/^ {2}run {6}http:\/\/127\.0\.0\.1:\d+\/app\/runs\/[\da-f-]{36}$/m);
    expect(code).toBe(0);
    for (const name of ['screen.png', 'page.png']) expect(isPng(join(home, 'demo', name)), name).toBe(true);
  },
);

test.skipIf(!hasTools)(
  'npm run demo -- chat closes a rated conversation and verifies its webhooks (needs Chromium)',
  async () => {
    const { code, text, home } = await demo('chat', '--exit');
    expect(text).toContain('closed, rated 5 of 5');
    expect(text).toMatch(/conversation\.closed +1 signed webhooks verified, 1 runs of its automation/);
    expect(code).toBe(0);
    for (const name of ['chat-talk.png', 'chat-rated.png']) expect(isPng(join(home, 'demo', name)), name).toBe(true);
  },
);
