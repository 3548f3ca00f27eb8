/** What a command's work brings, or the reason of its signal once that is some seconds past and the work goes on regardless. */
export async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const abandoned = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  // A handler that heeds its signal ends in time and says how; one that does not is left behind.
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
