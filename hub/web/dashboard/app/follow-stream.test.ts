import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { followStream } from './follow-stream.ts';

describe('followed streams', () => {
  let stop: AbortController;
  let page: EventTarget & { hidden: boolean };
  beforeEach(() => {
    vi.useFakeTimers();
    page = Object.assign(new EventTarget(), { hidden: false });
    vi.stubGlobal('document', page);
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
    const done = followStream({ open, onEvent: () => undefined }, stop.signal);
    return { opened, done };
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
    const { opened } = follow((signal) => endless(signal, 15_000));
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
    expect(vi.getTimerCount()).toBe(0);
  });

  test('following ends immediately during a pause', async () => {
    const { done } = follow(() => '');
    await vi.advanceTimersByTimeAsync(100);
    stop.abort();
    await done;
    expect(vi.getTimerCount()).toBe(0);
  });
});
