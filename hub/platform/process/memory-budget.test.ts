import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { freeBytes, heapOf, MemoryBudget, OutOfMemory } from './memory-budget.ts';

const mib = 1024 * 1024;
const never = new AbortController().signal;
const settled = async () => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

describe('MemoryBudget', () => {
  test('does not count reservations of up to freeBytes', () => {
    const memory = new MemoryBudget({ limitBytes: 8 * mib, waitMs: 10_000 });
    using run = memory.open('a');
    expect(run.tryResize(freeBytes)).toBe(true);
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
  });

  test('grants one workspace at most as much as remains free for others', () => {
    const memory = new MemoryBudget({ limitBytes: 8 * mib, waitMs: 10_000 });
    using one = memory.open('a');
    using two = memory.open('a');
    using three = memory.open('a');
    using other = memory.open('b');
    expect([one, two, three].map((run) => run.tryResize(2 * mib))).toEqual([true, true, false]);
    expect(other.tryResize(2 * mib)).toBe(true);
  });

  test('counts a reservation at most as a share of the limit, so that any run fits', async () => {
    const memory = new MemoryBudget({ limitBytes: 8 * mib, waitMs: 10_000 });
    using run = memory.open('a');
    await run.resize(1_000 * mib, never);
    expect(memory.counts.used).toBe(2 * mib);
    const halves = new MemoryBudget({ limitBytes: 8 * mib, waitMs: 10_000, largestPart: 1 / 2 });
    using large = halves.open('a');
    await large.resize(1_000 * mib, never);
    expect(halves.counts.used).toBe(4 * mib);
  });

  test('grants waiting requests by workspace in turn, and in order within a workspace', async () => {
    const memory = new MemoryBudget({ limitBytes: 4 * mib, waitMs: 10_000 });
    const order: string[] = [];
    const full = ['x', 'y', 'z'].map((tenant) => memory.open(tenant));
    for (const run of full) expect(run.tryResize(mib)).toBe(true);
    using last = memory.open('w');
    expect(last.tryResize(mib)).toBe(true);
    const waits = [
      ['a', 'a1'],
      ['a', 'a2'],
      ['b', 'b1'],
    ].map(async ([tenant, name]) => {
      const run = memory.open(tenant as string);
      await run.resize(mib, never);
      order.push(name as string);
      return run;
    });
    await settled();
    expect(order).toEqual([]);
    for (const run of full) {
      run[Symbol.dispose]();
      await settled();
    }
    expect(order).toEqual(['a1', 'b1']);
    last[Symbol.dispose]();
    await settled();
    expect(order).toEqual(['a1', 'b1', 'a2']);
    for (const run of await Promise.all(waits)) run[Symbol.dispose]();
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
  });

  test('keeps freed memory for a large request that has waited long, despite many small requests', async () => {
    const memory = new MemoryBudget({ limitBytes: 256 * mib, waitMs: 20_000 });
    const stop = new AbortController();
    const makeSmallOnes = async (tenantId: string) => {
      while (!stop.signal.aborted) {
        using small = memory.open(tenantId);
        await small.resize(8 * mib, never);
        await delay(10);
      }
    };
    const others = Array.from({ length: 80 }, (_unused, index) => makeSmallOnes(`other ${index % 40}`));
    await delay(100);
    using large = memory.open('large');
    await large.resize(64 * mib, never);
    expect(memory.counts.used).toBeGreaterThanOrEqual(64 * mib);
    stop.abort();
    large[Symbol.dispose]();
    await Promise.all(others);
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
  });

  test('keeps no memory for a request that only its own workspace delays', async () => {
    const memory = new MemoryBudget({ limitBytes: 8 * mib, waitMs: 10_000, largestPart: 1 / 2 });
    using own = memory.open('a');
    expect(own.tryResize(4 * mib)).toBe(true);
    using second = memory.open('a');
    const waits = second.resize(4 * mib, never);
    await delay(1_100);
    using other = memory.open('b');
    expect(other.tryResize(mib)).toBe(true);
    expect(own.isWanted).toBe(false);
    other[Symbol.dispose]();
    own[Symbol.dispose]();
    await waits;
  });

  test('ends a wait when the signal aborts and when the wait time ends', async () => {
    const memory = new MemoryBudget({ limitBytes: 4 * mib, waitMs: 30 });
    const full = Array.from({ length: 4 }, (_unused, index) => memory.open(`t${index}`));
    for (const run of full) run.tryResize(mib);
    using run = memory.open('late');
    const stop = new AbortController();
    const aborted = run.resize(mib, stop.signal);
    stop.abort(new Error('the lease was lost'));
    await expect(aborted).rejects.toThrow('the lease was lost');
    const late = run.resize(mib, never);
    await expect(late).rejects.toBeInstanceOf(OutOfMemory);
    for (const each of full) each[Symbol.dispose]();
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
  });

  test('reserves nothing for a caller that is disposed before or while its request is granted', async () => {
    const memory = new MemoryBudget({ limitBytes: 4 * mib, waitMs: 10_000 });
    const full = Array.from({ length: 4 }, (_unused, index) => memory.open(`t${index}`));
    for (const run of full) run.tryResize(mib);
    const disposed = memory.open('gone');
    const granted = disposed.resize(mib, never);
    // All connections close in one turn: the caller is disposed before it sees the grant.
    for (const each of full) each[Symbol.dispose]();
    disposed[Symbol.dispose]();
    await granted;
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
    expect(disposed.tryResize(mib)).toBe(true);
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
  });

  test('resize reserves nothing while it waits for more', async () => {
    const memory = new MemoryBudget({ limitBytes: 4 * mib, waitMs: 10_000 });
    const [one, ...others] = [0.75, 1, 1, 0.5].map((size, index) => {
      const run = memory.open(`t${index}`);
      expect(run.tryResize(size * mib)).toBe(true);
      return run;
    });
    using larger = memory.open('d');
    expect(larger.tryResize(0.375 * mib)).toBe(true);
    const more = larger.resize(mib, never);
    expect(memory.counts.used).toBe(3.25 * mib);
    one?.[Symbol.dispose]();
    await more;
    expect(memory.counts.used).toBe(3.5 * mib);
    for (const run of others) run[Symbol.dispose]();
  });

  test('heapOf estimates at least half of the heap that values use', () => {
    const values = {
      text: ['x'.repeat(1_000_000)],
      numbers: Array.from({ length: 100_000 }, (_unused, index) => index),
      empty: JSON.parse(`[${'{},'.repeat(100_000)}{}]`) as object[],
      lists: JSON.parse(`[${'[],'.repeat(100_000)}[]]`) as object[],
      records: JSON.parse(`[${'{"id":"a","value":1},'.repeat(50_000)}{}]`) as object[],
    };
    const least = { text: 1_000_000, numbers: 800_000, empty: 6_600_000, lists: 4_800_000, records: 4_800_000 };
    for (const [name, bytes] of Object.entries(least))
      expect(heapOf(values[name as keyof typeof values] as never), name).toBeGreaterThan(bytes / 2);
  });

  test('maxShareOfFree leaves memory for another workspace when many workspaces reserve all they can', () => {
    const memory = new MemoryBudget({ limitBytes: 192 * mib, waitMs: 10_000, maxShareOfFree: 1 / 4, freeBytes: 0 });
    for (let workspace = 0; workspace < 8; workspace += 1)
      for (;;) if (!memory.open(String(workspace)).tryResize(mib)) break;
    expect(memory.counts.used).toBeLessThan(168 * mib);
    expect(memory.open('another').tryResize(6 * mib)).toBe(true);
  });

  test('grow keeps the reserved memory while it waits for more', async () => {
    const memory = new MemoryBudget({ limitBytes: 8 * mib, waitMs: 10_000, largestPart: 1 });
    const [first, second] = [memory.open('a'), memory.open('b')];
    await first.grow(2 * mib, never);
    expect(second.tryResize(4 * mib)).toBe(true);
    const grown = first.grow(4 * mib, never);
    expect(first.bytes).toBe(2 * mib);
    expect(memory.counts.used).toBe(6 * mib);
    second[Symbol.dispose]();
    await grown;
    expect(first.bytes).toBe(4 * mib);
    first[Symbol.dispose]();
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
    const late = new MemoryBudget({ limitBytes: mib, waitMs: 10, largestPart: 1 });
    const kept = late.open('a');
    await kept.grow(mib / 2, never);
    await expect(kept.grow(mib, never)).rejects.toThrow(OutOfMemory);
    expect(kept.bytes).toBe(mib / 2);
  });
});
