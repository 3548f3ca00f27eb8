import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { inheritedEnv } from '../../test/fixtures/processes.ts';

const module = pathToFileURL(resolve('node-agent/main/orphan-guard.ts')).href;

const isThere = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** A process that holds another, which it started, and lets go of it first when asked to. */
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
    if (isThere(childPid)) process.kill(childPid, 'SIGKILL');
  });
  return { end: () => child.kill('SIGKILL'), childPid };
}

test.skipIf(process.platform !== 'linux')(
  'a process that is frozen ends with the one that holds it, and one that was let go does not (needs /proc of Linux)',
  async () => {
    const [frozen, free] = await Promise.all([startParent(false), startParent(true)]);
    process.kill(frozen.childPid, 'SIGSTOP');
    expect([isThere(frozen.childPid), isThere(free.childPid)]).toEqual([true, true]);
    for (const { end } of [free, frozen]) end();
    await expect.poll(() => isThere(frozen.childPid)).toBe(false);
    expect(isThere(free.childPid)).toBe(true);
  },
);
