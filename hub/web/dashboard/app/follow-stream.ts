import { createEventStreamParser } from '../../../../shared/web/event-stream-parser.ts';
import type { StreamedEvent } from '../../../../shared/web/event-stream-parser.ts';
import { readTextPieces } from '../../../../shared/web/response-text.ts';
import { retryDelay } from './api.ts';
import { noteFailure, untilSignedIn } from './session-state.ts';

/** A stream that sends nothing for this time is considered broken: the hub sends a comment every 15 seconds. */
const silenceMs = 45_000;
/** A stream that ends within this time counts as failed, however it ends: a proxy may cut every stream. */
const shortLifeMs = 5_000;
/** Least time between two streams. */
const minPauseMs = 1_000;
/** Longest time between two attempts to reach a hub that does not respond. A page is correct 2 seconds after it does. */
const maxUnreachableMs = 1_500;
/** The clock is read this often, and a larger step means that the machine slept: its connections are dead. */
const clockMs = 2_000;
const sleptMs = 10_000;

/** Milliseconds before the next stream. `failures` counts the streams in a row that failed. */
export function pauseAfter(failures: number, error: unknown): number {
  if (failures === 0) return minPauseMs;
  const delay = Math.max(minPauseMs, retryDelay(failures - 1, error));
  return error instanceof TypeError ? Math.min(maxUnreachableMs, delay) : delay;
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
const connectionLost = new TypeError('The browser is offline.');
const machineSlept = new Error('The machine slept.');

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
  const loseConnection = () => aborter.abort(connectionLost);
  addEventListener('offline', loseConnection);
  let readAt = Date.now();
  const clock = setInterval(() => {
    const now = Date.now();
    if (now - readAt > sleptMs) aborter.abort(machineSlept);
    readAt = now;
  }, clockMs);
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
    removeEventListener('offline', loseConnection);
    clearInterval(clock);
  }
}

/** Waits for a time. Ends early when the browser is online again, or `signal` aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((done) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      removeEventListener('online', end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    addEventListener('online', end);
  });
}

/**
 * Follows a stream of the hub until `signal` aborts. The hub ends each stream after 10 minutes and when it restarts. A
 * hidden page has no stream: browsers open only six connections to a host without https, for all of its pages.
 */
export async function followStream(stream: FollowedStream, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted;) {
    // Without a session, the hub would refuse each attempt.
    await untilSignedIn(signal);
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
    if (error === pageHidden || error === machineSlept) continue;
    const isFailed = error !== null || performance.now() - openedAt < shortLifeMs;
    failures = isFailed ? failures + 1 : 0;
    if (isFailed) stream.onConnected?.(false);
    noteFailure(error);
    await pause(pauseAfter(failures, error), signal);
  }
}
