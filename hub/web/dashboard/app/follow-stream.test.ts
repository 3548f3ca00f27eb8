import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { followStream } from './follow-stream.ts';
import { sessionState } from './session-state.ts';

/** Other tests of this process can have left a few timers. */
const fewTimers = 20;

describe('followed streams', () => {
  let stop: AbortController;
  let page: EventTarget & { hidden: boolean };
  let browser: EventTarget;
  beforeEach(() => {
    vi.useFakeTimers();
    page = Object.assign(new EventTarget(), { hidden: false });
    vi.stubGlobal('document', page);
    browser = new EventTarget();
    vi.stubGlobal('addEventListener', browser.addEventListener.bind(browser));
    vi.stubGlobal('removeEventListener', browser.removeEventListener.bind(browser));
    stop = new AbortController();
  });
  afterEach(() => {
    stop.abort();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  /** Follows streams that `body` returns. @returns the times at which they were opened, in seconds. */
  function follow(body: (signal: AbortSignal) => string | ReadableStream<Uint8Array>) {
    const startedAt = performance.now();
    const opened: number[] = [];
    const open = (signal: AbortSignal) => {
      opened.push(Math.round((performance.now() - startedAt) / 1_000));
      return Promise.resolve(new Response(body(signal)));
    };
    const states: boolean[] = [];
    const onConnected = (isConnected: boolean) => states.push(isConnected);
    const done = followStream({ open, onEvent: () => undefined, onConnected }, stop.signal);
    return { opened, states, done };
  }

  test('streams that end immediately are opened with growing pauses', async () => {
    const { opened } = follow(() => 'retry: 2000\n\n');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(opened.slice(0, 4)).toEqual([0, 1, 2, 4]);
    expect(opened.length).toBeLessThan(15);
  });

  /** A stream that sends comments and ends with the signal. */
  const endless = (signal: AbortSignal, commentMs: number) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        const timer = setInterval(() => controller.enqueue(new TextEncoder().encode(': comment\n\n')), commentMs);
        signal.addEventListener('abort', () => {
          clearInterval(timer);
          controller.error(signal.reason);
        });
      },
    });

  test('a silent stream is replaced after 45 seconds, and one with comments stays', async () => {
    const silent = follow((signal) => endless(signal, 100_000));
    const lively = follow((signal) => endless(signal, 15_000));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(silent.opened).toEqual([0, 46]);
    expect(lively.opened).toEqual([0]);
  });

  test('a hidden page has no stream, and opens one immediately when it becomes visible', async () => {
    const hide = (isHidden: boolean) => {
      page.hidden = isHidden;
      page.dispatchEvent(new Event('visibilitychange'));
    };
    page.hidden = true;
    const all = Array.from({ length: 50 }, () => follow((signal) => endless(signal, 15_000)));
    const { opened } = all[0] as (typeof all)[number];
    await vi.advanceTimersByTimeAsync(10_000);
    expect(opened).toEqual([]);
    hide(false);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(opened).toEqual([10]);
    hide(true);
    await vi.advanceTimersByTimeAsync(100_000);
    hide(false);
    await vi.advanceTimersByTimeAsync(0);
    expect(opened).toEqual([10, 120]);
    // No event of the page is awaited any more.
    hide(true);
    stop.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBeLessThan(fewTimers);
  });

  test('a browser that goes offline has no stream, and opens one immediately when it is online again', async () => {
    let isOffline = false;
    const { opened, states } = follow((signal) => {
      if (isOffline) throw new TypeError('no network');
      return endless(signal, 15_000);
    });
    await vi.advanceTimersByTimeAsync(3_000);
    isOffline = true;
    browser.dispatchEvent(new Event('offline'));
    await vi.advanceTimersByTimeAsync(0);
    expect(states).toEqual([true, false]);
    await vi.advanceTimersByTimeAsync(30_000);
    const before = opened.length;
    isOffline = false;
    browser.dispatchEvent(new Event('online'));
    await vi.advanceTimersByTimeAsync(0);
    expect([opened.length, states.at(-1)]).toEqual([before + 1, true]);
  });

  test('a hub that does not respond is tried again every 1.5 seconds', async () => {
    const { opened } = follow(() => {
      throw new TypeError('no connection');
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(opened.length).toBeGreaterThanOrEqual(40);
    expect(opened.length).toBeLessThanOrEqual(45);
  });

  test('while the session is ended, no stream is opened', async () => {
    const { opened } = follow(() => '');
    await vi.advanceTimersByTimeAsync(0);
    sessionState.set({ problem: 'expired' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(opened).toEqual([0]);
    sessionState.set({ problem: null });
    await vi.advanceTimersByTimeAsync(0);
    expect(opened).toEqual([0, 60]);
  });

  test('after the machine slept, a new stream is opened immediately', async () => {
    const { opened, states } = follow((signal) => endless(signal, 15_000));
    await vi.advanceTimersByTimeAsync(5_000);
    vi.setSystemTime(Date.now() + 3_600_000);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(opened).toHaveLength(2);
    expect(states).toEqual([true, true]);
  });

  test('following ends immediately during a pause', async () => {
    const all = Array.from({ length: 50 }, () => follow(() => ''));
    await vi.advanceTimersByTimeAsync(100);
    stop.abort();
    await Promise.all(all.map(({ done }) => done));
    expect(vi.getTimerCount()).toBeLessThan(fewTimers);
  });
});
