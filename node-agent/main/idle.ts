import type { CompanionState } from '../../shared/companion/state.ts';

const lookEveryMs = 2_000;

/** Resolves as soon as no command runs, nobody is asked anything, and nobody looks at the window; rejects with the signal. */
export function whenIdle(
  companion: () => CompanionState | null,
  isWatched: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const isIdle = () => {
    const state = companion();
    return !isWatched() && (state === null || (state.running.length === 0 && state.prompts.length === 0));
  };
  return new Promise((done, fail) => {
    const stop = () => {
      clearInterval(timer);
      fail(signal.reason as Error);
    };
    const timer = setInterval(() => {
      if (!isIdle()) return;
      clearInterval(timer);
      signal.removeEventListener('abort', stop);
      done();
    }, lookEveryMs).unref();
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
