import { basename } from 'node:path';

/** Process id of the parent that this process must not outlive. Tests and the development server set it. */
const parentVariable = 'OUTRIGGER_PARENT_PID';
const pollIntervalMs = 500;
const hangupGraceMs = 100;
/** A terminal and npm both forward Ctrl-C. Signals within this time count as one. */
const duplicateSignalMs = 500;

/**
 * Whether this process must end with its parent: the parent says so, or a package manager runs this program as a
 * script (`npm start`, `npx outrigger start`) and would leave it behind when it is killed. Another shell or supervisor
 * that started this process can end before it.
 */
function mustEndWithParent(): boolean {
  const isNamed = Number(process.env[parentVariable]) === process.ppid;
  // Child processes have another parent and must not inherit the variable.
  delete process.env[parentVariable];
  return isNamed || (process.env['npm_lifecycle_script'] ?? '').includes(basename(process.argv[1] ?? ''));
}

/**
 * Calls `onStop` once when this process must stop: after a signal, or after the end of the package manager that runs
 * it. A second, later signal ends the process immediately.
 */
export function onStopRequest({ onStop }: { onStop: (reason: string) => void }): void {
  let stopRequestedAt: number | null = null;
  const requestStop = (reason: string) => {
    if (stopRequestedAt === null) {
      stopRequestedAt = performance.now();
      onStop(reason);
    } else if (performance.now() - stopRequestedAt > duplicateSignalMs) process.exit(130);
  };
  // A closed terminal or log must not crash the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const parent = process.ppid;
  let endsWithParent = mustEndWithParent();
  const timer = setInterval(() => {
    if (!endsWithParent || process.ppid === parent) return;
    clearInterval(timer);
    // A closing terminal can end the parent before its SIGHUP arrives here. That SIGHUP can be one to ignore.
    setTimeout(() => {
      if (endsWithParent && stopRequestedAt === null) requestStop('the process that started it has ended');
    }, hangupGraceMs).unref();
  }, pollIntervalMs);
  timer.unref();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => requestStop(signal));
  process.on('SIGHUP', () => {
    // Without a terminal on any stream (nohup, a log file), the process continues after its terminal closes.
    if (process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY) requestStop('SIGHUP');
    else endsWithParent = false;
  });
}
