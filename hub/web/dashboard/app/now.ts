import { useSyncExternalStore } from 'react';

/** Distances in time such as "5 minutes ago" change no more often. */
const tickMs = 20_000;
/** The `Date` of a response has whole seconds. */
const dateStepMs = 1_000;

/** How far the clock of the hub is ahead of the one of the browser, in milliseconds. */
let ahead = 0;

/**
 * Corrects the difference between the clocks by a response. It changes only as far as the response proves it wrong.
 * @param date `Date` of the response. @param sentAt when the request was sent, by the clock of the browser.
 */
export function noteHubTime(date: string | null, sentAt: number): void {
  const time = Date.parse(date ?? '');
  if (Number.isNaN(time)) return;
  ahead = Math.max(time - Date.now(), Math.min(time + dateStepMs - sentAt, ahead));
}

/** The time of the hub. */
export const hubNow = () => Date.now() + ahead;

let tick = 0;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    tick += 1;
    for (const each of listeners) each();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time of the hub. The component is rendered again at each tick, and then with the time at which it is rendered. */
export function useNow(): number {
  useSyncExternalStore(subscribe, () => tick);
  return hubNow();
}
