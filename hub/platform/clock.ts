/** Time as deadlines need it; another one stands in for it in tests whose waits are long. */
export interface Clock {
  /** Milliseconds that never jump, from some beginning. */
  now(): number;
  /** Calls back once after so many milliseconds, unless what it answers is disposed before. */
  after(ms: number, callback: () => void): Disposable;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, callback) => setTimeout(callback, Math.max(0, ms)),
};

/** Waits so many milliseconds. @throws the signal's reason when it aborts before. */
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
