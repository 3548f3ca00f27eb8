import { app } from 'electron';
import { restartArguments } from './app-arguments.ts';
import { ownAppImage, startDetached } from './installation.ts';
import { nextDelay } from './restart-policy.ts';

/**
 * A fault of the main process is written down, and the app starts anew, ever later when it comes again. The new process waits, so that it is not this
 * one, which can't be trusted any more, that decides when.
 */
export function restartOnFault(
  dataFolder: string,
  waitedMs: number,
  log: (event: string, detail?: string) => void,
): void {
  const startedAt = performance.now();
  let isOver = false;
  const end = (what: string, error: unknown) => {
    if (isOver) return;
    isOver = true;
    const waitMs = nextDelay(waitedMs === 0 ? null : waitedMs, performance.now() - startedAt);
    log(
      `${what}, the app starts again in ${waitMs} ms`,
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
    const args = [...restartArguments(process.argv.slice(1)), `--wait-ms=${waitMs}`];
    // The program that runs lies in what an AppImage is mounted as, which goes with this process.
    const image = ownAppImage(dataFolder);
    if (image === null) app.relaunch({ args });
    else {
      app.releaseSingleInstanceLock();
      startDetached(image, args);
    }
    app.exit(1);
  };
  process.on('uncaughtException', (error) => end('a fault of the app', error));
  process.on('unhandledRejection', (error) => end('a promise of the app that nobody took', error));
  app.on('child-process-gone', (_gone, { type, reason, name }) => {
    if (reason !== 'clean-exit') log('a process of the app ended', `${name ?? type}: ${reason}`);
  });
}
