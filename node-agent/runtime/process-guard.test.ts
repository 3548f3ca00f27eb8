import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { until } from '../../test/fixtures/until.ts';
import { systemHandlers } from './commands/system.ts';
import { commandMarker, endMarked, MarkedProcesses, prlimit } from './marked-processes.ts';
import { isStartedByCommand, ProcessGuard } from './process-guard.ts';

const isLinux = process.platform === 'linux';

/** PIDs of the processes with exactly these arguments. */
function running(...argv: string[]): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && read(`/proc/${pid}/cmdline`) === `${argv.join('\0')}\0`);
}

/** The text of a file of a process. It is empty after the process ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

let seconds = 40_000 + (process.pid % 10_000);
/** A sleep of a duration that no other test uses. The process is killed after the test in any case. */
function ownSleep(): string[] {
  seconds += 1;
  const argv = ['sleep', String(seconds)];
  onTestFinished(() => running(...argv).forEach((pid) => process.kill(pid, 'SIGKILL')));
  return argv;
}

/** Shell code that succeeds once a process has exactly these arguments. The shell itself has them in its script. */
const runsInShell = (argv: readonly string[]) =>
  String.raw`grep -qsaP '^${argv.join(String.raw`\x00`)}\x00' /proc/[0-9]*/cmdline`;

const context = (commandId: string, signal = AbortSignal.timeout(100_000)) => ({ commandId, signal }) as never;
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
  const line = `${escape(sleep.join(' '))}\nwhile ! ${runsInShell(sleep)}; do :; done; echo "$0"`;
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

const moduleUrl = (name: string) => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)));
/** Starts a process that runs each shell line as a command of a companion. */
function companionThatRuns(...shellLines: string[]): ChildProcess {
  const script = `
    const { ProcessGuard } = await import(${moduleUrl('process-guard.ts')});
    const { systemHandlers } = await import(${moduleUrl('commands/system.ts')});
    const { 'system.run': run } = systemHandlers(new ProcessGuard());
    const signal = AbortSignal.timeout(600_000);
    for (const line of ${JSON.stringify(shellLines)}) run({ argv: ['sh', '-c', line] }, { commandId: crypto.randomUUID(), signal });`;
  const companion = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
  onTestFinished(() => {
    companion.kill('SIGKILL');
  });
  return companion;
}
const allRun = (sleeps: readonly string[][]) =>
  until(
    () => sleeps.every((sleep) => running(...sleep).length > 0),
    () => 'a child did not start',
  );
const left = (sleeps: readonly string[][]) => sleeps.flatMap((sleep) => running(...sleep));

test.skipIf(!isLinux)('children that try to escape do not outlive a companion that is killed', async () => {
  const sleep = ownSleep();
  const companion = companionThatRuns(`env -i setsid ${sleep.join(' ')} & wait`);
  await allRun([sleep]);
  companion.kill('SIGKILL');
  await expect.poll(() => left([sleep])).toEqual([]);
});

test.skipIf(!isLinux)('many programs end after their companion is killed', async () => {
  const sleeps = Array.from({ length: 20 }, ownSleep);
  const companion = companionThatRuns(...sleeps.map((sleep) => `exec ${sleep.join(' ')}`));
  await allRun(sleeps);
  companion.kill('SIGKILL');
  await expect.poll(() => left(sleeps)).toEqual([]);
});

/** PIDs of the guards that a process started. */
const guardsOf = (parent: number): number[] =>
  readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
    .split(' ')
    .filter((pid) => pid !== '' && read(`/proc/${pid}/cmdline`).startsWith('sh\0-c\0live='))
    .map(Number);

test.skipIf(!isLinux)(
  'a killed guard is replaced, and running programs do not outlive a killed companion',
  async () => {
    const sleeps = [ownSleep(), ownSleep()];
    const companion = companionThatRuns(...sleeps.map((sleep) => `exec ${sleep.join(' ')}`));
    const pid = companion.pid as number;
    await allRun(sleeps);
    const [guard, ...others] = guardsOf(pid) as [number];
    expect(others).toEqual([]);
    expect(guard).toBeGreaterThan(0);
    process.kill(guard, 'SIGKILL');
    await until(
      () => guardsOf(pid).some((other) => other !== guard),
      () => 'the guard was not replaced',
    );
    companion.kill('SIGKILL');
    await expect.poll(() => left(sleeps)).toEqual([]);
  },
);

test.skipIf(!isLinux)('a program that cannot be started is not guarded', async () => {
  await using guard = new ProcessGuard();
  const [unrelated, guarded] = [ownSleep(), ownSleep()];
  const start = (argv: string[], mark: string) =>
    spawn(argv[0] as string, argv.slice(1), {
      detached: true,
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], [commandMarker]: mark },
    });
  const [failed, mark] = [crypto.randomUUID(), crypto.randomUUID()];
  const fail = () => guard.start(failed, () => spawn('true', [], { cwd: '\0' }));
  expect(fail).toThrow('null bytes');
  start(unrelated, failed);
  guard.start(mark, () => start(guarded, mark));
  await allRun([unrelated, guarded]);
  expect(guardsOf(process.pid)).toHaveLength(1);
  await guard[Symbol.asyncDispose]();
  await until(
    () => guardsOf(process.pid).length === 0,
    () => 'the guard did not end',
  );
  // The end of a killed process takes a moment.
  await expect.poll(() => running(...guarded)).toEqual([]);
  expect(running(...unrelated)).toHaveLength(1);
});

test.skipIf(!isLinux)(
  'a starting program does not outlive a companion that is killed before it knows its process group',
  async () => {
    const sleep = ownSleep();
    const mark = crypto.randomUUID();
    const script = `
    const { spawn } = await import('node:child_process');
    const { commandMarker } = await import(${moduleUrl('marked-processes.ts')});
    const { ProcessGuard } = await import(${moduleUrl('process-guard.ts')});
    new ProcessGuard().start('${mark}', () => {
      spawn('${sleep[0]}', ${JSON.stringify(sleep.slice(1))}, { detached: true, stdio: 'ignore', env: { [commandMarker]: '${mark}' } });
      process.kill(process.pid, 'SIGKILL');
    });`;
    const companion = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
    const signal = await new Promise((done) => companion.once('exit', (_code, ending) => done(ending)));
    expect(signal).toBe('SIGKILL');
    await expect.poll(() => left([sleep])).toEqual([]);
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

test.skipIf(process.platform === 'win32')(
  'a program that cannot be started for lack of file handles fails its command, and later ones run',
  () => {
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { systemHandlers } from ${JSON.stringify(new URL('commands/system.ts', import.meta.url).href)};
      import { ProcessGuard } from ${JSON.stringify(new URL('process-guard.ts', import.meta.url).href)};
      await using guard = new ProcessGuard();
      const { 'system.run': run } = systemHandlers(guard);
      const code = () =>
        run({ argv: ['true'] }, { commandId: crypto.randomUUID(), signal: AbortSignal.timeout(60_000) }).then(
          ({ exitCode }) => exitCode,
          ({ message }) => message,
        );
      const codes = [await code()];
      const open = [];
      try {
        for (;;) open.push(openSync('/dev/null'));
      } catch {
        // Reading the name of the user needs a file handle; the pipes of a program need more.
        open.splice(-2).forEach((file) => closeSync(file));
        codes.push(await code());
      }
      open.forEach((file) => closeSync(file));
      codes.push(await code());
      process.stdout.write(JSON.stringify(codes));`;
    const limited = 'ulimit -n 100; exec "$0" --input-type=module --eval "$1"';
    const { stdout, stderr } = spawnSync('sh', ['-c', limited, process.execPath, script], { encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({
      stdout: JSON.stringify([0, 'true could not be started: EMFILE', 0]),
      stderr: '',
    });
  },
);

/** A program that forks on: each process has its own session and ends after its child started. */
const chain = (marker: string) =>
  `use POSIX; my $end = time + 30; if (fork) { sleep 1; exit 0 } close STDIN; close STDOUT; close STDERR;
  while (time < $end) { my $child = fork; POSIX::_exit(0) if $child; POSIX::setsid(); %ENV = (); $0 = "${marker}"; select(undef, undef, undef, 0.001) }`;
const hasProgram = (name: string) => spawnSync(name, ['--version']).status === 0;
const chainsOf = (marker: string) =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && read(`/proc/${pid}/cmdline`).startsWith(marker));
/** Whether no process of a chain runs. One look can miss a process that was just replaced. */
const isChainOver = async (marker: string) => {
  for (let look = 0; look < 50; look += 1) {
    if (chainsOf(marker).length > 0) return false;
    await new Promise((done) => setImmediate(done));
  }
  return true;
};

test.skipIf(!isLinux || !hasProgram('perl'))(
  'a program that forks all the time ends with its command (needs perl)',
  async () => {
    const notEnded: unknown[] = [];
    await using guard = new ProcessGuard((mark) => notEnded.push(mark));
    const { 'system.run': run } = systemHandlers(guard);
    const marker = `chain-${crypto.randomUUID()}`;
    const argv: [string, ...string[]] = ['perl', '-e', chain(marker)];
    expect(await run({ argv }, context(crypto.randomUUID()))).toMatchObject({ exitCode: 0 });
    expect(notEnded).toEqual([]);
    expect(await isChainOver(marker)).toBe(true);
  },
);

test.skipIf(!isLinux)(
  'a program that started after the first scan ends, even if its companion did not run meanwhile',
  async () => {
    const [ended, parent, program] = [ownSleep(), ownSleep(), ownSleep()];
    const mark = crypto.randomUUID();
    // The parent never removes its ended child, which could have been a process of the command.
    spawn('sh', ['-c', `${ended.join(' ')} & exec ${parent.join(' ')}`], { stdio: 'ignore' });
    await allRun([ended, parent]);
    const [endedPid] = running(...ended) as [number];
    process.kill(endedPid, 'SIGKILL');
    await until(
      () => read(`/proc/${endedPid}/stat`).includes(' Z '),
      () => 'the child did not end',
    );
    const { scan } = MarkedProcesses.prototype;
    const scans = vi.spyOn(MarkedProcesses.prototype, 'scan');
    onTestFinished(() => scans.mockRestore());
    scans.mockImplementationOnce(function (this: MarkedProcesses) {
      const first = scan.call(this);
      spawn(program[0] as string, program.slice(1), {
        detached: true,
        stdio: 'ignore',
        env: { PATH: process.env['PATH'], [commandMarker]: mark },
      });
      // Blocks this process for longer than an attempt may take.
      spawnSync('sleep', ['2.1']);
      return first;
    });
    expect(await endMarked([mark])).toBe(true);
    expect(scans.mock.results[0]?.value).toEqual({ found: [], isComplete: false });
    expect(running(...program)).toEqual([]);
  },
);

test.skipIf(!isLinux || !hasProgram('python3') || !hasProgram('prlimit'))(
  'a process whose first thread ended, or that lowered its soft limit, ends with its command (needs python3 and prlimit)',
  async () => {
    await using guard = new ProcessGuard();
    const { 'system.run': run } = systemHandlers(guard);
    const sleeps = [ownSleep(), ownSleep()];
    const [first, second] = sleeps.map((sleep) => sleep.join(' '));
    const python = `import ctypes, threading, time, subprocess
threading.Thread(target=lambda: (time.sleep(0.2), subprocess.run("${first}".split()), time.sleep(60))).start()
ctypes.CDLL(None).pthread_exit(None)`;
    const line = `env -i PATH="$PATH" setsid python3 -c '${python}' >/dev/null 2>&1 <&- &
      echo $!
      env -i setsid prlimit --rttime=1000000000000: ${second} >/dev/null 2>&1 <&- &
      while ! { ${sleeps.map(runsInShell).join(' && ')}; }; do :; done`;
    const { exitCode, stdout } = await run({ argv: ['sh', '-c', line] }, context(crypto.randomUUID()));
    expect(exitCode).toBe(0);
    expect(left(sleeps)).toEqual([]);
    // `setsid` and `env` run the program in their process, so all have the ID that the shell printed.

    const [, threads = '0'] = /^Threads:\s+(\d+)$/m.exec(read(`/proc/${stdout.trim()}/status`)) ?? [];
    expect(Number(threads)).toBeLessThanOrEqual(1);
  },
);

test.skipIf(!isLinux)('a guard that a program stopped is replaced', async () => {
  const sleep = ownSleep();
  const companion = companionThatRuns(`exec ${sleep.join(' ')}`);
  const pid = companion.pid as number;
  await allRun([sleep]);
  const [guard] = guardsOf(pid) as [number];
  process.kill(guard, 'SIGSTOP');
  await expect.poll(() => guardsOf(pid).some((other) => other !== guard)).toBe(true);
  companion.kill('SIGKILL');
  await expect.poll(() => left([sleep])).toEqual([]);
});

test.skipIf(!isLinux || !hasProgram('prlimit'))(
  'a guard whose file handles a program took is replaced (needs prlimit)',
  async () => {
    const sleep = ownSleep();
    const companion = companionThatRuns(`env -i setsid ${sleep.join(' ')} & wait`);
    const pid = companion.pid as number;
    await allRun([sleep]);
    const [guard] = guardsOf(pid) as [number];
    expect(spawnSync(prlimit, ['--pid', String(guard), '--nofile=3:3']).status).toBe(0);
    await expect.poll(() => guardsOf(pid).some((other) => other !== guard)).toBe(true);
    companion.kill('SIGKILL');
    await expect.poll(() => left([sleep])).toEqual([]);
  },
);

test.skipIf(!isLinux || !hasProgram('prlimit'))(
  'programs that the companion cannot find for lack of file handles are noted, and ended later (needs prlimit)',
  async () => {
    const sleep = ownSleep();
    const script = `
    const { ProcessGuard } = await import(${moduleUrl('process-guard.ts')});
    const { systemHandlers } = await import(${moduleUrl('commands/system.ts')});
    const guard = new ProcessGuard((mark) => console.log('left ' + mark));
    const stop = new AbortController();
    process.stdin.once('data', () => stop.abort(new Error('ended')));
    await systemHandlers(guard)['system.run'](
      { argv: ['sh', '-c', 'env -i setsid ${sleep.join(' ')} & wait'] }, { commandId: 'mark', signal: stop.signal },
    ).catch(({ message }) => console.log(message));
    setInterval(() => undefined, 1_000);`;
    const companion = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void companion.kill('SIGKILL'));
    let output = '';
    companion.stdout.on('data', (text: Buffer) => (output += text.toString()));
    const limitHandles = (limits: string) =>
      expect(spawnSync(prlimit, ['--pid', String(companion.pid), `--nofile=${limits}`]).status).toBe(0);
    await allRun([sleep]);
    const [, soft = ''] = /^Max open files\s+(\d+)/m.exec(read(`/proc/${companion.pid}/limits`)) ?? [];
    limitHandles('5:');
    companion.stdin.write('\n');
    await expect.poll(() => output).toBe('left mark\nended\n');
    expect(left([sleep])).toHaveLength(1);
    limitHandles(`${soft}:`);
    await expect.poll(() => left([sleep])).toEqual([]);
  },
);

test.skipIf(!isLinux)('programs that outlived the guard and the companion end at the next start', async () => {
  const sleep = ownSleep();
  const commandId = crypto.randomUUID();
  const script = `
    const { ProcessGuard } = await import(${moduleUrl('process-guard.ts')});
    const { systemHandlers } = await import(${moduleUrl('commands/system.ts')});
    const { 'system.run': run } = systemHandlers(new ProcessGuard());
    run({ argv: ['sh', '-c', 'env -i setsid ${sleep.join(' ')} & wait'] }, { commandId: '${commandId}', signal: AbortSignal.timeout(600_000) });`;
  const companion = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
  onTestFinished(() => void companion.kill('SIGKILL'));
  await allRun([sleep]);
  // A stopped companion does not replace its guard.
  companion.kill('SIGSTOP');
  for (const pid of guardsOf(companion.pid as number)) process.kill(pid, 'SIGKILL');
  companion.kill('SIGKILL');
  await new Promise((done) => companion.once('exit', done));
  expect(left([sleep])).toHaveLength(1);
  await using guard = new ProcessGuard();
  await guard.endLeft([crypto.randomUUID(), commandId]);
  expect(left([sleep])).toEqual([]);
});
