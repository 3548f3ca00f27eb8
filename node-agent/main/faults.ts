import { app } from 'electron';
import { restartArguments } from './app-arguments.ts';
import { ownAppImage, startDetached } from './installation.ts';
import { nextDelay } from './restart-policy.ts';

/**
 * Logs each fault of the main process and restarts the app, with a growing delay for repeated faults. The new process
 * waits for the delay, because the state of the faulty process cannot be trusted. Returns the function that handles a
 * fault.
 */
export function restartOnFault(
  dataFolder: string,
  waitedMs: number,
  log: (event: string, detail?: string) => void,
): (fault: string, error: unknown) => void {
  const startedAt = performance.now();
  let isRestarting = false;
  const end = (fault: string, error: unknown) => {
    if (isRestarting) return;
    isRestarting = true;
    const waitMs = nextDelay(waitedMs === 0 ? null : waitedMs, performance.now() - startedAt);
    log(
      `${fault}, the app restarts in ${waitMs} ms`,
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
    const args = [...restartArguments(process.argv.slice(1)), `--wait-ms=${waitMs}`];
    // The running program is inside the mount of the AppImage, which disappears with this process.
    const image = ownAppImage(dataFolder);
    if (image === null) app.relaunch({ args });
    else {
      app.releaseSingleInstanceLock();
      startDetached(image, args);
    }
    app.exit(1);
  };
  process.on('uncaughtException', (error) => end('an uncaught exception', error));
  process.on('unhandledRejection', (error) => end('an unhandled rejection', error));
  app.on('child-process-gone', (_gone, { type, reason, name }) => {
    if (reason !== 'clean-exit') log('a process of the app ended', `${name ?? type}: ${reason}`);
  });
  return end;
}
