/** A signal that aborts with the first of two. `AbortSignal.any` is missing in several supported browsers. */
export function firstOf(one: AbortSignal, other: AbortSignal): AbortSignal {
  const aborter = new AbortController();
  for (const signal of [one, other]) {
    if (signal.aborted) aborter.abort(signal.reason);
    else signal.addEventListener('abort', () => aborter.abort(signal.reason), { once: true, signal: aborter.signal });
  }
  return aborter.signal;
}
