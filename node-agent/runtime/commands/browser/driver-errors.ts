/**
 * Handles errors that the browser driver throws outside every call, so that they do not end the companion. A page can cause one: a
 * console message of more than 512 MiB is longer than the driver can read. Other uncaught errors still end the process.
 * @param handle Called with each such error, until the result is disposed.
 */
export function onDriverError(handle: (error: Error) => void): Disposable {
  const onUncaught = (error: unknown) => {
    if (!(error instanceof Error) || !isOfDriver(error)) throw error;
    handle(error);
  };
  process.on('uncaughtException', onUncaught);
  return { [Symbol.dispose]: () => void process.off('uncaughtException', onUncaught) };
}

/** Node's own frames stand above the driver's where a function of Node throws. */
const isOfDriver = ({ stack = '' }: Error): boolean => {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line) && !line.includes('node:'));
  return frames[0]?.includes('playwright-core') === true;
};
