import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';

const launcherVariable = 'OUTRIGGER_LAUNCHER';
const beatMs = 500;
const hangupGraceMs = 100;
/** A terminal and npm both pass Ctrl-C on: what comes so soon is the same wish. */
const sameWishMs = 500;
const runners = /^(npm|npx|pnpm|yarn|bun)$/;
const runnerFiles = /^(npm-cli|npx-cli|pnpm|yarn|pnpx)(\.c?js)?$/;
const shells = /^(sh|dash|bash|zsh|ash|busybox)$/;

const baseName = (path) => path.split('/').pop() ?? '';

/** What is known of a process: its parent, when it began, its command line; null when it is gone. */
function readProcess(pid) {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // The name, in parentheses, may hold anything; the fields after it are plain. A zombie has ended.
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
 * The processes that only carry this one: its launcher, the package manager whose script it is, and the shell between. A shell or a supervisor that
 * merely started it is none of them: that one may go, and this process stays.
 */
function findCarriers() {
  const launcher = Number(process.env[launcherVariable] ?? 0);
  // Programs that this one starts have another parent, and must not take ours for theirs.
  delete process.env[launcherVariable];
  const isScript = process.env.npm_lifecycle_event !== undefined || process.env.npm_command !== undefined;
  const carriers = [];
  if (launcher !== process.ppid && !isScript) return carriers;
  let current = readProcess(process.ppid);
  if (current !== null && current.pid === launcher) {
    carriers.push(current);
    current = readProcess(current.parent);
  }
  if (!isScript || current === null) return carriers;
  if (isRunner(current)) carriers.push(current);
  else if (isScriptShell(current)) {
    const above = readProcess(current.parent);
    if (above !== null && isRunner(above)) carriers.push(current, above);
  }
  return carriers;
}

/**
 * Calls `onStop` once when this process is asked to end: by a signal, or because what carried it is gone. Asked again, later, it ends at once.
 * @param {{ onStop: (reason: string) => void }} options
 */
export function whenAskedToStop({ onStop }) {
  let askedAt = null;
  const ask = (reason) => {
    if (askedAt === null) {
      askedAt = performance.now();
      onStop(reason);
    } else if (performance.now() - askedAt > sameWishMs) process.exit(130);
  };
  // A terminal or a log that is gone must not end it half-way.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  let carriers = findCarriers();
  const parent = process.ppid;
  const isGone = () =>
    carriers.some(({ pid, started }) =>
      pid === parent ? process.ppid !== parent : readProcess(pid)?.started !== started,
    );
  const beat = setInterval(() => {
    if (!isGone()) return;
    // A terminal that closes may have ended what started it, and its SIGHUP be on the way here, which says that nothing is to end.
    setTimeout(() => {
      if (!isGone()) return;
      clearInterval(beat);
      if (askedAt === null) ask('what started it is gone');
    }, hangupGraceMs).unref();
  }, beatMs);
  beat.unref();
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => ask(signal));
  process.on('SIGHUP', () => {
    // With no terminal on any stream (nohup, a log file), a terminal that closes is none of its business, and takes only what carried it along.
    if (process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY) ask('SIGHUP');
    else carriers = [];
  });
}
