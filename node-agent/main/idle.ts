import type { CompanionState } from '../../shared/companion/state.ts';

const pollIntervalMs = 2_000;

/** Resolves when no command runs, no prompt is open and the window is hidden. Rejects when the signal aborts. */
export function whenIdle(
  companion: () => CompanionState | null,
  isWindowVisible: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const isIdle = () => {
    const state = companion();
    return !isWindowVisible() && (state === null || (state.running.length === 0 && state.prompts.length === 0));
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
    }, pollIntervalMs).unref();
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
