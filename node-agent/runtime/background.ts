/**
 * Runs a task whose result nothing awaits. A failure is logged with the name of the task. Without this function, the
 * rejection would end the process. The app writes standard error of its runtime to its own log.
 *
 * @param name what the task does, for example `removal of a download`.
 */
export function background(
  task: PromiseLike<unknown>,
  name: string,
  log: (event: string, detail: string) => void = writeToStandardError,
): void {
  task.then(undefined, (error: unknown) => {
    log(`${name} failed`, error instanceof Error ? error.message : String(error));
  });
}

const writeToStandardError = (event: string, detail: string): void => {
  process.stderr.write(`outrigger-companion: ${event}: ${detail}\n`);
};
