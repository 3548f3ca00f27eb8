/** Source of time for deadlines. Tests replace it to skip long waits. */
export interface Clock {
  /** Milliseconds since an arbitrary start; never goes back or jumps. */
  now(): number;
  /** Calls back once after `ms` milliseconds, unless the returned object is disposed before. */
  after(ms: number, callback: () => void): Disposable;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, callback) => setTimeout(callback, Math.max(0, ms)),
};

/** Waits `ms` milliseconds. @throws the signal's reason when the signal aborts before. */
export async function waitFor(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  using _timer = clock.after(ms, resolve);
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
