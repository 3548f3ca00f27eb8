/**
 * Runs a task whose result nothing awaits, for example the task of an event handler. A failure is reported as an error
 * of the page.
 */
export function background(task: PromiseLike<unknown>): void {
  task.then(undefined, (error: unknown) => reportError(error));
}
