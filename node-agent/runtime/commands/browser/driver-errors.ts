/**
 * Handles errors that the browser driver throws outside of calls, so that they do not end the companion. A page can
 * cause one: the driver cannot read a console message of more than 512 MiB. Other uncaught errors still end the
 * process.
 * @param handle Called with each error of the driver until the result is disposed.
 */
export function onDriverError(handle: (error: Error) => void): Disposable {
  const onUncaught = (error: unknown) => {
    if (!(error instanceof Error) || !isOfDriver(error)) throw error;
    handle(error);
  };
  process.on('uncaughtException', onUncaught);
  return { [Symbol.dispose]: () => process.off('uncaughtException', onUncaught) };
}

/**
 * Whether the innermost frame outside of Node is in the driver. Frames of Node come first if a function of Node throws.
 */
const isOfDriver = ({ stack = '' }: Error): boolean => {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line) && !line.includes('node:'));
  return frames[0]?.includes('playwright-core') === true;
};
