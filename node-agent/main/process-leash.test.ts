import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { inheritedEnv } from '../../test/fixtures/processes.ts';

const module = pathToFileURL(resolve('node-agent/main/process-leash.ts')).href;

const isThere = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** A process that holds another, which it started, and lets go of it first when asked to. */
async function startHolder(letsGo: boolean): Promise<{ end: () => void; held: number }> {
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { spawn } from 'node:child_process';
      import { leash } from '${module}';
      const held = spawn('sleep', ['600'], { stdio: 'ignore', detached: true });
      held.once('spawn', () => {
        const its = leash(held.pid);
        ${letsGo ? 'its[Symbol.dispose]();' : ''}
        setTimeout(() => console.log(held.pid), 200);
      });
      setInterval(() => undefined, 1000);`,
    ],
    { env: inheritedEnv(), stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const held = await new Promise<number>((done) => child.stdout.once('data', (text: Buffer) => done(Number(text))));
  onTestFinished(() => {
    child.kill('SIGKILL');
    if (isThere(held)) process.kill(held, 'SIGKILL');
  });
  return { end: () => child.kill('SIGKILL'), held };
}

test.skipIf(process.platform !== 'linux')(
  'a process that is frozen ends with the one that holds it, and one that was let go does not (needs /proc of Linux)',
  async () => {
    const [frozen, free] = await Promise.all([startHolder(false), startHolder(true)]);
    process.kill(frozen.held, 'SIGSTOP');
    expect([isThere(frozen.held), isThere(free.held)]).toEqual([true, true]);
    for (const { end } of [free, frozen]) end();
    await expect.poll(() => isThere(frozen.held)).toBe(false);
    expect(isThere(free.held)).toBe(true);
  },
);
