/**
 * Resolves with the promise. Rejects with the signal's reason when the promise is still pending 5 s after the abort.
 */
export async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const abandoned = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  // A handler that respects its signal ends in time and reports how. Another handler is abandoned.
  const onAbort = () => {
    timer = setTimeout(() => abandoned.reject(signal.reason as Error), 5_000);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, abandoned.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    promise.catch(() => undefined);
  }
}

/** Returns the result of a promise. Rejects with the reason of the signal when the signal aborts first. */
export async function unlessAborted<Result>(
  promise: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return promise;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    promise.catch(() => undefined);
  }
}
