import type { Logger } from '../observability/logger.ts';

/**
 * Runs a task whose result nothing awaits. A failure is logged with the name of the task. Without this function, the
 * rejection would end the process.
 *
 * @param name what the task does, for example `renewal of call leases`.
 */
export function background(task: PromiseLike<unknown>, logger: Logger, name: string): void {
  task.then(undefined, (error: unknown) => {
    logger.error({ err: error, task: name }, 'a background task failed');
  });
}
