import { useSyncExternalStore } from 'react';

/** Distances in time such as "5 minutes ago" change no more often. */
const tickMs = 20_000;

let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time of the last tick. All parts of the page change together. */
export function useNow(): number {
  if (timer === undefined) now = Date.now();
  return useSyncExternalStore(subscribe, () => now);
}
