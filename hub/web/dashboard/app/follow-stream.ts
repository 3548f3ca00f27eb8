import { createEventStreamParser } from '../../../../shared/web/event-stream-parser.ts';
import type { StreamedEvent } from '../../../../shared/web/event-stream-parser.ts';
import { readTextPieces } from '../../../../shared/web/response-text.ts';
import { retryDelay } from './api.ts';
import { noteFailure } from './session-state.ts';

/** A stream that sends nothing for this time is considered broken: the hub sends a comment every 15 seconds. */
const silenceMs = 45_000;
/** A stream that ends within this time counts as failed, however it ends: a proxy may cut every stream. */
const shortLifeMs = 5_000;
/** Least time between two streams. */
const minPauseMs = 1_000;

/** Milliseconds before the next stream. `failures` counts the streams in a row that failed. */
export function pauseAfter(failures: number, error: unknown): number {
  return failures === 0 ? minPauseMs : Math.max(minPauseMs, retryDelay(failures - 1, error));
}

export interface FollowedStream {
  /**
   * Opens the stream after the last event that the page has. `hiddenMs` is how long the page was hidden before.
   */
  open: (signal: AbortSignal, hiddenMs: number) => Promise<Response>;
  onEvent: (event: StreamedEvent) => void;
  onConnected?: (isConnected: boolean) => void;
}

const pageHidden = new Error('The page is hidden.');

/** Waits until the page is visible. @returns for how long it was hidden, in milliseconds. */
async function untilVisible(signal: AbortSignal): Promise<number> {
  const hiddenAt = Date.now();
  if (!document.hidden) return 0;
  await new Promise<void>((done) => {
    const end = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', end);
      signal.removeEventListener('abort', end);
      done();
    };
    document.addEventListener('visibilitychange', end);
    signal.addEventListener('abort', end);
  });
  return Date.now() - hiddenAt;
}

/** Reads one stream until it ends, fails or is silent, or the page is hidden. */
async function readStream(
  { open, onEvent, onConnected }: FollowedStream,
  hiddenMs: number,
  signal: AbortSignal,
): Promise<void> {
  const aborter = new AbortController();
  const stop = () => aborter.abort();
  const stopIfHidden = () => document.hidden && aborter.abort(pageHidden);
  signal.addEventListener('abort', stop);
  document.addEventListener('visibilitychange', stopIfHidden);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const noteSign = () => {
    clearTimeout(timer);
    timer = setTimeout(() => aborter.abort(new TypeError('The stream is silent.')), silenceMs);
  };
  noteSign();
  try {
    const response = await open(aborter.signal, hiddenMs);
    onConnected?.(true);
    const parse = createEventStreamParser(onEvent);
    await readTextPieces(response, (text) => {
      noteSign();
      parse(text);
    });
  } catch (error) {
    // Not every browser passes the reason on.
    throw aborter.signal.aborted ? aborter.signal.reason : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    document.removeEventListener('visibilitychange', stopIfHidden);
  }
}

/**
 * Follows a stream of the hub until `signal` aborts. The hub ends each stream after 10 minutes and when it restarts. A
 * hidden page has no stream: browsers open only six connections to a host without https, for all of its pages.
 */
export async function followStream(stream: FollowedStream, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted;) {
    const hiddenMs = await untilVisible(signal);
    if (signal.aborted) return;
    const openedAt = performance.now();
    let error: unknown = null;
    try {
      await readStream(stream, hiddenMs, signal);
    } catch (failure) {
      error = failure;
    }
    if (signal.aborted) return;
    if (error === pageHidden) continue;
    const isFailed = error !== null || performance.now() - openedAt < shortLifeMs;
    failures = isFailed ? failures + 1 : 0;
    if (isFailed) stream.onConnected?.(false);
    noteFailure(error);
    await new Promise<void>((done) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        done();
      };
      const timer = setTimeout(end, pauseAfter(failures, error));
      signal.addEventListener('abort', end);
    });
  }
}
