import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { inheritedEnv } from '../../test/fixtures/processes.ts';

const module = pathToFileURL(resolve('node-agent/main/orphan-guard.ts')).href;

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Starts a parent process with a guarded child. Optionally releases the guard. */
async function startParent(isDisposed: boolean): Promise<{ end: () => void; childPid: number }> {
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { spawn } from 'node:child_process';
      import { killWithParent } from '${module}';
      const child = spawn('sleep', ['600'], { stdio: 'ignore', detached: true });
      child.once('spawn', () => {
        const guard = killWithParent(child.pid);
        ${isDisposed ? 'guard[Symbol.dispose]();' : ''}
        setTimeout(() => console.log(child.pid), 200);
      });
      setInterval(() => undefined, 1000);`,
    ],
    { env: inheritedEnv(), stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const childPid = await new Promise<number>((done) => child.stdout.once('data', (text: Buffer) => done(Number(text))));
  onTestFinished(() => {
    child.kill('SIGKILL');
    if (isAlive(childPid)) process.kill(childPid, 'SIGKILL');
  });
  return { end: () => child.kill('SIGKILL'), childPid };
}

test.skipIf(process.platform !== 'linux')(
  'a stopped child is killed with its parent, and a released child is not (needs /proc of Linux)',
  async () => {
    const [frozen, free] = await Promise.all([startParent(false), startParent(true)]);
    process.kill(frozen.childPid, 'SIGSTOP');
    expect([isAlive(frozen.childPid), isAlive(free.childPid)]).toEqual([true, true]);
    for (const { end } of [free, frozen]) end();
    await expect.poll(() => isAlive(frozen.childPid)).toBe(false);
    expect(isAlive(free.childPid)).toBe(true);
  },
);
