import { InfiniteQueryObserver, QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Rereads } from './rereads.ts';

const key = ['list'];

describe('rereads', () => {
  let cache: QueryClient;
  const page = { hidden: false };
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('document', page);
    page.hidden = false;
    cache = new QueryClient();
  });
  afterEach(() => {
    cache.clear();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  /** Shows a response on the page. @returns the number of reads, and a function that stops the page. */
  async function show(readMs = 10, isCancelled = vi.fn<() => void>()) {
    const reads = { count: 0, isCancelled };
    const observer = new QueryObserver(cache, {
      queryKey: key,
      queryFn: async ({ signal }) => {
        signal.addEventListener('abort', isCancelled);
        reads.count += 1;
        const { count } = reads;
        await new Promise((done) => setTimeout(done, readMs));
        return count;
      },
    });
    const stop = observer.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(readMs + 1);
    return { reads, stop };
  }

  test('many events cause one read a second, and the last event is not forgotten', async () => {
    const { reads, stop } = await show();
    const rereads = new Rereads(cache);
    for (let event = 0; event < 100; event += 1) {
      rereads.request(key);
      await vi.advanceTimersByTimeAsync(30);
    }
    await vi.advanceTimersByTimeAsync(5_000);
    expect(reads.count).toBe(1 + 4);
    stop();
  });

  test('after a gap in the events, everything is read again immediately, and numbers then wait for their usual interval', async () => {
    const { reads, stop } = await show();
    const rereads = new Rereads(cache);
    rereads.request(key);
    for (let event = 0; event < 300; event += 1) {
      rereads.request(key, { everyMs: 10_000 });
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(reads.count).toBe(1 + 4);
    stop();
  });

  test('a slow response is never cancelled, and is read again after an event that it can have missed', async () => {
    const { reads, stop } = await show(2_500);
    const rereads = new Rereads(cache);
    for (let event = 0; event < 20; event += 1) {
      rereads.request(key);
      await vi.advanceTimersByTimeAsync(500);
    }
    await vi.advanceTimersByTimeAsync(10_000);
    expect(reads.isCancelled).not.toHaveBeenCalled();
    expect(cache.getQueryData(key)).toBe(reads.count);
    expect(reads.count).toBeGreaterThan(2);
    stop();
  });

  test('a list of several pages is read less often, so that its requests have the same limit', async () => {
    let requests = 0;
    const observer = new InfiniteQueryObserver(cache, {
      queryKey: key,
      queryFn: ({ pageParam }) => {
        requests += 1;
        return Promise.resolve(pageParam);
      },
      initialPageParam: 1,
      getNextPageParam: (last: number) => (last < 10 ? last + 1 : null),
    });
    const stop = observer.subscribe(() => undefined);
    for (let count = 0; count < 10; count += 1) {
      await vi.advanceTimersByTimeAsync(1);
      await observer.fetchNextPage();
    }
    requests = 0;
    const rereads = new Rereads(cache);
    for (let second = 0; second < 59; second += 1) {
      rereads.request(key);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(requests).toBeGreaterThan(0);
    expect(requests).toBeLessThanOrEqual(60);
    stop();
  });

  test('a hidden page reads seldom', async () => {
    const { reads, stop } = await show();
    page.hidden = true;
    const rereads = new Rereads(cache);
    for (let second = 0; second < 59; second += 1) {
      rereads.request(key);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(reads.count).toBeLessThanOrEqual(1 + 6);
    stop();
  });
});
