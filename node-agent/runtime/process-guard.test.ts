import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../test/fixtures/until.ts';
import { systemHandlers } from './commands/system.ts';
import { isStartedByCommand, ProcessGuard } from './process-guard.ts';

const isLinux = process.platform === 'linux';

/** PIDs of the processes with exactly these arguments. */
function running(...argv: string[]): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return Number.isInteger(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `${argv.join('\0')}\0`;
      } catch {
        return false;
      }
    });
}

let seconds = 40_000 + (process.pid % 10_000);
/** A sleep of a duration that no other test uses. The process is killed after the test in any case. */
function ownSleep(): string[] {
  seconds += 1;
  const argv = ['sleep', String(seconds)];
  onTestFinished(() => running(...argv).forEach((pid) => process.kill(pid, 'SIGKILL')));
  return argv;
}

const context = (commandId: string, signal = AbortSignal.timeout(30_000)) => ({ commandId, signal }) as never;
const escapes: [string, (line: string) => string][] = [
  ['leave their group', (line) => `setsid ${line} &`],
  ['leave their group and drop their environment', (line) => `env -i setsid ${line} &`],
  ['leave both and their parent, twice', (line) => `(env -i setsid sh -c 'setsid sh -c "exec ${line}" & exit' &)`],
  ['leave all and close what they were given', (line) => `env -i setsid nohup ${line} <&- >/dev/null 2>&1 &`],
];

test.skipIf(!isLinux).each(escapes)('children that %s do not outlive their command', async (_how, escape) => {
  await using guard = new ProcessGuard();
  const sleep = ownSleep();
  const commandId = crypto.randomUUID();
  const { 'system.run': run } = systemHandlers(guard);
  const line = `${escape(sleep.join(' '))}\nwhile ! grep -qsa '${sleep.join('.')}' /proc/[0-9]*/cmdline; do :; done; echo "$0"`;
  expect(await run({ argv: ['sh', '-c', line, 'name'] }, context(commandId))).toMatchObject({
    exitCode: 0,
    stdout: 'name\n',
  });
  await until(
    () => running(...sleep).length === 0,
    () => `left: ${running(...sleep).join(', ')}`,
  );
});

test.skipIf(!isLinux)('ending a command also ends children that try to escape', async () => {
  await using guard = new ProcessGuard();
  const sleep = ownSleep();
  const stop = new AbortController();
  const { 'system.run': run } = systemHandlers(guard);
  const ended = run(
    { argv: ['sh', '-c', `env -i setsid ${sleep.join(' ')} & wait`] },
    context(crypto.randomUUID(), stop.signal),
  ).catch((error: unknown) => error);
  await until(
    () => running(...sleep).length > 0,
    () => 'the child did not start',
  );
  stop.abort(new Error('ended'));
  expect(await ended).toBeInstanceOf(Error);
  await until(
    () => running(...sleep).length === 0,
    () => 'the child is left',
  );
});

test.skipIf(!isLinux)('children that try to escape do not outlive a companion that is killed', async () => {
  const sleep = ownSleep();
  const script = `
    const { ProcessGuard } = await import(${JSON.stringify(fileURLToPath(new URL('process-guard.ts', import.meta.url)))});
    const { systemHandlers } = await import(${JSON.stringify(fileURLToPath(new URL('commands/system.ts', import.meta.url)))});
    await systemHandlers(new ProcessGuard())['system.run']({ argv: ['sh', '-c', 'env -i setsid ${sleep.join(' ')} & wait'] }, { commandId: crypto.randomUUID(), signal: AbortSignal.timeout(60_000) });`;
  const companion = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
  onTestFinished(() => {
    companion.kill('SIGKILL');
  });
  await until(
    () => running(...sleep).length > 0,
    () => 'the child did not start',
  );
  companion.kill('SIGKILL');
  await expect.poll(() => running(...sleep)).toEqual([]);
});

test.skipIf(!isLinux)(
  'an announced program does not outlive a companion that is killed before it adopts it',
  async () => {
    const sleep = ownSleep();
    const mark = crypto.randomUUID();
    const script = `
    const { spawn } = await import('node:child_process');
    const { commandMarker, ProcessGuard } = await import(${JSON.stringify(fileURLToPath(new URL('process-guard.ts', import.meta.url)))});
    new ProcessGuard().announce('${mark}');
    spawn('${sleep[0]}', ${JSON.stringify(sleep.slice(1))}, { detached: true, stdio: 'ignore', env: { [commandMarker]: '${mark}' } });
    process.kill(process.pid, 'SIGKILL');`;
    const companion = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
    const signal = await new Promise((done) => companion.once('exit', (_code, ending) => done(ending)));
    expect(signal).toBe('SIGKILL');
    await expect.poll(() => running(...sleep)).toEqual([]);
  },
);

test.skipIf(process.platform === 'win32')(
  'a program is called by the approved name, with unchanged arguments',
  async () => {
    await using guard = new ProcessGuard();
    const { 'system.run': run } = systemHandlers(guard);
    const outcome = await run(
      { argv: ['sh', '-c', 'tr "\\0" "|" < /proc/$$/cmdline', '--rttime=1', '-- x', ''] },
      context(crypto.randomUUID()),
    );
    if (isLinux) expect(outcome.stdout).toBe('sh|-c|tr "\\0" "|" < /proc/$$/cmdline|--rttime=1|-- x||');
    expect(outcome.exitCode).toBe(0);
  },
);

test.skipIf(!isLinux)('a process that ended before it was examined counts as started by a command', () => {
  expect(isStartedByCommand(process.pid)).toBe(false);
  expect(isStartedByCommand(spawnSync('true').pid)).toBe(true);
});
