import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';

const launcherVariable = 'OUTRIGGER_LAUNCHER';
const pollIntervalMs = 500;
const hangupGraceMs = 100;
/** A terminal and npm both forward Ctrl-C. Signals within this time count as one. */
const duplicateSignalMs = 500;
const runners = /^(npm|npx|pnpm|yarn|bun)$/;
const runnerFiles = /^(npm-cli|npx-cli|pnpm|yarn|pnpx)(\.c?js)?$/;
const shells = /^(sh|dash|bash|zsh|ash|busybox)$/;

const baseName = (path) => path.split('/').pop() ?? '';

/** Parent, start time and command line of a process; null if the process has ended. */
function readProcess(pid) {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // The name in parentheses can contain any character. A zombie has ended.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (fields[0] === 'Z') return null;
      return {
        pid,
        parent: Number(fields[1]),
        started: fields[19],
        words: readFileSync(`/proc/${pid}/cmdline`, 'utf8')
          .split(/[\0 ]/)
          .filter((word) => word !== ''),
      };
    }
    if (process.platform === 'win32') return null;
    const [parent, ...rest] = execFileSync('ps', ['-o', 'ppid=,lstart=,command=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .trim()
      .split(/\s+/);
    return { pid, parent: Number(parent), started: rest.slice(0, 5).join(' '), words: rest.slice(5) };
  } catch {
    return null;
  }
}

const isRunner = ({ words }) => runners.test(baseName(words[0] ?? '')) || runnerFiles.test(baseName(words[1] ?? ''));
const isScriptShell = ({ words }) => shells.test(baseName(words[0] ?? '')) && words[1] === '-c';

/**
 * The wrapper processes of this one: its launcher, the package manager that runs it as a script, and the shell between
 * them.
 * Other shells or supervisors that started this process are not wrappers; it continues when they end.
 */
function findWrappers() {
  const launcher = Number(process.env[launcherVariable] ?? 0);
  // Child processes have another parent and must not inherit the variable.
  delete process.env[launcherVariable];
  const isScript = process.env.npm_lifecycle_event !== undefined || process.env.npm_command !== undefined;
  const wrappers = [];
  if (launcher !== process.ppid && !isScript) return wrappers;
  let current = readProcess(process.ppid);
  if (current !== null && current.pid === launcher) {
    wrappers.push(current);
    current = readProcess(current.parent);
  }
  if (!isScript || current === null) return wrappers;
  if (isRunner(current)) wrappers.push(current);
  else if (isScriptShell(current)) {
    const above = readProcess(current.parent);
    if (above !== null && isRunner(above)) wrappers.push(current, above);
  }
  return wrappers;
}

/**
 * Calls `onStop` once when this process must stop: after a signal, or after the end of a wrapper process. A second,
 * later signal ends the process immediately.
 * @param {{ onStop: (reason: string) => void }} options
 */
export function onStopRequest({ onStop }) {
  let stopRequestedAt = null;
  const requestStop = (reason) => {
    if (stopRequestedAt === null) {
      stopRequestedAt = performance.now();
      onStop(reason);
    } else if (performance.now() - stopRequestedAt > duplicateSignalMs) process.exit(130);
  };
  // A closed terminal or log must not crash the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  let wrappers = findWrappers();
  const parent = process.ppid;
  const hasWrapperEnded = () =>
    wrappers.some(({ pid, started }) =>
      pid === parent ? process.ppid !== parent : readProcess(pid)?.started !== started,
    );
  const timer = setInterval(() => {
    if (!hasWrapperEnded()) return;
    // A closing terminal can end a wrapper before its SIGHUP arrives here. That SIGHUP can clear the wrappers.
    setTimeout(() => {
      if (!hasWrapperEnded()) return;
      clearInterval(timer);
      if (stopRequestedAt === null) requestStop('the process that started it has ended');
    }, hangupGraceMs).unref();
  }, pollIntervalMs);
  timer.unref();
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => requestStop(signal));
  process.on('SIGHUP', () => {
    // Without a terminal on any stream (nohup, a log file), the process continues after its terminal closes.
    if (process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY) requestStop('SIGHUP');
    else wrappers = [];
  });
}
