import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { processesWith } from '../fixtures/companion.ts';
import { freePort } from '../fixtures/free-port.ts';
import { inheritedEnv } from '../fixtures/processes.ts';
import { until } from '../fixtures/until.ts';

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'outrigger-dev-'));
  for (const name of ['hub', 'node-agent', 'shared', 'migrations', 'package.json'])
    cpSync(name, join(copy, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
});
afterAll(() => rmSync(copy, { recursive: true, force: true, maxRetries: 5 }));

const left = () => processesWith(join(copy, 'data'));
const expectNothingLeft = () =>
  until(
    () => left().length === 0,
    () => `processes are left: ${left().join(', ')}`,
  );

/** Starts a command in the copy. `prints` waits until all patterns were printed since its last call. */
function start(program: string, args: string[], port: number): { child: ChildProcess; prints: typeof prints } {
  const child = spawn(program, args, {
    cwd: copy,
    env: { ...inheritedEnv(), OUTRIGGER_HOME: join(copy, 'data'), PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await expectNothingLeft();
  });
  async function prints(...patterns: RegExp[]): Promise<string> {
    await until(
      () => patterns.every((pattern) => pattern.test(text)),
      () => `this was printed: ${text}`,
    );
    const printed = text;
    text = '';
    return printed;
  }
  return { child, prints };
}

const isUp = [/hub +Outrigger .* is ready/, /companion .* connected/];

test('npm run dev seeds a workspace once, restarts hub and companion on a change, and leaves nothing after Ctrl-C or kill -9', async () => {
  const port = await freePort();
  const first = start(process.execPath, ['hub/dev/main.ts'], port);
  const key = /^ {2}(key_\S+)$/m.exec(await first.prints(...isUp))?.[1] as string;
  const answer = await fetch(`http://127.0.0.1:${port}/v1/automations/workflows`, { headers: { 'X-API-Key': key } });
  const { data } = (await answer.json()) as { data: { name: string }[] };
  expect(data.map(({ name }) => name).toSorted()).toEqual([
    'Example: greet a guest',
    'Example: look at this machine',
    'Example: sum up the day',
  ]);
  const now = new Date();
  utimesSync(join(copy, 'shared/json.ts'), now, now);
  await first.prints(/hub +Restarting/, ...isUp);
  first.child.kill('SIGKILL');
  await expectNothingLeft();

  const second = start('npm', ['run', 'dev'], port);
  expect(await second.prints(...isUp)).not.toContain(key);
  process.kill(-(second.child.pid as number), 'SIGINT');
  await expectNothingLeft();
});
