import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ClaimedRun } from '../runs/store.ts';
import type { ClaimRequest, ClaimedOfWorkspace, DueWorkspaces } from './claim-runs.ts';
import { DuePoller } from './due-poller.ts';

/** A poller with fakes of the database and the pool. */
class Fixture {
  /** Due runs by workspace. */
  readonly due = new Map<string, number>();
  readonly locked = new Map<string, number>();
  next: { tenantId: string; inMs: number } | null = null;
  readonly claims: ClaimRequest[][] = [];
  readonly claimed: string[] = [];
  readonly full: string[] = [];
  lists = 0;
  slots = 4;
  waiting = 0;
  slotsFreed = 0;
  capacityOf = (_tenantId: string) => 100;
  claim = async (requests: readonly ClaimRequest[]): Promise<ClaimedOfWorkspace[]> => {
    this.claims.push([...requests]);
    return requests.map(({ tenantId, most }) => {
      const due = this.due.get(tenantId) ?? 0;
      const count = Math.min(most, due);
      this.due.set(tenantId, due - count);
      const runs = Array.from({ length: count }, () => ({ tenant_id: tenantId }) as ClaimedRun);
      const { next } = this;
      const nextInMs = next?.tenantId === tenantId ? next.inMs : null;
      return { tenantId, runs, hasMore: count === most, isLocked: (this.locked.get(tenantId) ?? 0) > 0, nextInMs };
    });
  };
  list = async (_after: string | null): Promise<DueWorkspaces> => {
    this.lists += 1;
    const due = [...this.due].flatMap(([tenantId, count]) => (count > 0 ? [{ tenantId, inMs: -1 }] : []));
    return { workspaces: [...due, ...(this.next === null ? [] : [this.next])], upTo: null };
  };
  readonly poller: DuePoller;

  constructor(repeatsClaims = false) {
    const pool = {
      add: ({ tenant_id: tenantId }: ClaimedRun) => {
        this.claimed.push(tenantId);
        this.waiting += 1;
      },
      begin: () => {
        const count = Math.min(this.slots, this.waiting);
        this.slots -= count;
        this.waiting -= count;
      },
      capacityFor: (tenantId: string) => this.capacityOf(tenantId),
      maxWaiting: 256,
      capacity: 1_000,
    };
    Object.defineProperties(pool, {
      freeSlots: { get: () => this.slots },
      counts: { get: () => ({ waiting: this.waiting }) },
      slotsFreed: { get: () => this.slotsFreed },
    });
    this.poller = new DuePoller({
      claim: (requests) => this.claim(requests),
      listWorkspaces: (after) => this.list(after),
      pool: pool as never,
      onFull: (tenantIds) => this.full.push(...tenantIds),
      repeatsClaims,
      logger: pino({ level: 'silent' }),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.poller[Symbol.asyncDispose]();
  }

  /** Ends runs that have a slot. */
  end(count: number): void {
    this.slots += count;
    this.slotsFreed += count;
    const started = Math.min(this.slots, this.waiting);
    this.slots -= started;
    this.waiting -= started;
    this.poller.claim();
  }
}

let fixture: Fixture;
beforeEach(async () => {
  vi.useFakeTimers();
  fixture = new Fixture();
  await vi.advanceTimersByTimeAsync(1);
});
afterEach(async () => {
  await fixture[Symbol.asyncDispose]();
  vi.useRealTimers();
});

const settled = () => vi.advanceTimersByTimeAsync(0);

test('a wake-up leads to one claim, which is repeated only if it returned the requested number of runs', async () => {
  fixture.due.set('a', 2);
  expect(fixture.poller.wake(['a', 'b'])).toBe(true);
  await settled();
  expect(fixture.claims).toEqual([
    [
      { tenantId: 'a', most: 2, onlyRecent: true },
      { tenantId: 'b', most: 2, onlyRecent: true },
    ],
    [{ tenantId: 'a', most: 2, onlyRecent: true }],
  ]);
  expect(fixture.claimed).toEqual(['a', 'a']);
  await vi.advanceTimersByTimeAsync(900);
  expect(fixture.claims).toHaveLength(2);
});

test('a process that other processes wake repeats its claims while a workspace has due runs', async () => {
  await using remote = new Fixture(true);
  remote.slots = 100;
  await vi.advanceTimersByTimeAsync(1);
  remote.due.set('a', 2);
  remote.poller.wake(['a']);
  for (let turn = 1; turn < 5; turn += 1) {
    await vi.advanceTimersByTimeAsync(20);
    remote.due.set('a', 2);
    await vi.advanceTimersByTimeAsync(5);
  }
  expect(remote.claimed).toHaveLength(10);
  const { length } = remote.claims;
  await vi.advanceTimersByTimeAsync(500);
  expect(remote.claims.length - length).toBeLessThanOrEqual(2);
});

test('a wake-up during a claim leads to another claim', async () => {
  const gate = Promise.withResolvers<void>();
  const { claim } = fixture;
  fixture.claim = async (requests) => {
    const claimed = await claim(requests);
    await gate.promise;
    return claimed;
  };
  fixture.poller.wake(['a']);
  await settled();
  fixture.due.set('a', 1);
  fixture.poller.wake(['a']);
  await settled();
  expect(fixture.claimed).toEqual([]);
  gate.resolve();
  await settled();
  expect(fixture.claimed).toEqual(['a']);
});

test('only a few runs are claimed in advance, and further ones as runs end', async () => {
  fixture.due.set('a', 10);
  fixture.poller.wake(['a']);
  await settled();
  expect([fixture.claimed.length, fixture.slots, fixture.waiting]).toEqual([4, 0, 0]);
  expect(fixture.full).toEqual(['a']);
  // While no run ends, no run is claimed that another process could execute.
  await vi.advanceTimersByTimeAsync(5_000);
  expect(fixture.claimed).toHaveLength(4);
  fixture.end(2);
  await settled();
  // The number of waiting runs is the number of slots that became free within the last 100 ms.
  expect([fixture.claimed.length, fixture.slots, fixture.waiting]).toEqual([8, 0, 2]);
  for (let ended = 3; ended <= 10; ended += 1) {
    fixture.end(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(fixture.claimed.length - ended).toBeLessThan(8);
  }
  expect(fixture.claimed).toHaveLength(10);
});

test('claims are shared between workspaces, also if one has many more due runs', async () => {
  fixture.due.set('a', 1_000);
  fixture.poller.wake(['a']);
  await settled();
  for (let turn = 0; turn < 50; turn += 1) {
    if (turn === 10) {
      fixture.due.set('b', 3);
      fixture.poller.wake(['b']);
    }
    fixture.end(4);
    await vi.advanceTimersByTimeAsync(1);
  }
  const firstB = fixture.claimed.indexOf('b');
  expect(fixture.claimed.filter((tenantId) => tenantId === 'b')).toHaveLength(3);
  expect(fixture.claimed.slice(firstB).filter((tenantId) => tenantId === 'a').length).toBeGreaterThan(50);
});

test('runs of a workspace without capacity are left to other processes until there is capacity', async () => {
  fixture.due.set('a', 1);
  fixture.capacityOf = () => 0;
  expect(fixture.poller.wake(['a'])).toBe(false);
  await settled();
  expect(fixture.claims).toEqual([]);
  fixture.capacityOf = () => 1;
  fixture.poller.claim();
  await settled();
  expect(fixture.claimed).toEqual(['a']);
});

test('the claim of a workspace with locked runs is repeated a few times, at increasing intervals', async () => {
  fixture.locked.set('a', 1);
  fixture.list = async () => ({ workspaces: [], upTo: null });
  fixture.poller.wake(['a']);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(fixture.claims).toHaveLength(8);
  fixture.locked.clear();
  fixture.due.set('a', 1);
  fixture.poller.wake(['a']);
  await settled();
  expect(fixture.claimed).toEqual(['a']);
});

test('runs without a wake-up are claimed within a second, and delayed runs when they become due', async () => {
  fixture.due.set('a', 1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(fixture.claimed).toEqual(['a']);
  fixture.next = { tenantId: 'b', inMs: 400 };
  await vi.advanceTimersByTimeAsync(1_000);
  fixture.next = null;
  fixture.due.set('b', 1);
  await vi.advanceTimersByTimeAsync(390);
  expect(fixture.claimed).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(20);
  expect(fixture.claimed).toEqual(['a', 'b']);
});

test('a wake-up is left to other processes while no slot has become free recently', async () => {
  fixture.due.set('a', 4);
  expect(fixture.poller.wake(['a'])).toBe(true);
  await settled();
  await vi.advanceTimersByTimeAsync(300);
  expect([fixture.slots, fixture.poller.wake(['b'])]).toEqual([0, false]);
  fixture.end(1);
  expect(fixture.poller.wake(['b'])).toBe(true);
});

test('the list claims all due runs of a workspace, and a wake-up only recent ones', async () => {
  fixture.due.set('a', 1);
  await vi.advanceTimersByTimeAsync(1_000);
  fixture.poller.wake(['a']);
  await settled();
  expect(fixture.claims.map((requests) => requests.map(({ onlyRecent }) => onlyRecent))).toEqual([[false], [true]]);
});

test('failing claims are retried 4 times a second, independent of the number of workspaces', async () => {
  let attempts = 0;
  fixture.claim = async () => {
    attempts += 1;
    throw new Error('unavailable');
  };
  fixture.poller.wake(Array.from({ length: 5_000 }, (_value, index) => `w${index}`));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(attempts).toBeGreaterThan(30);
  expect(attempts).toBeLessThanOrEqual(41);
});

test('a list that fails after a long time is repeated a second later', async () => {
  const { list } = fixture;
  fixture.list = async () => {
    await new Promise((done) => setTimeout(done, 35_000));
    throw new Error('unavailable');
  };
  await vi.advanceTimersByTimeAsync(1_000);
  fixture.list = list;
  fixture.due.set('a', 1);
  await vi.advanceTimersByTimeAsync(36_500);
  expect(fixture.claimed).toEqual(['a']);
});

test('a failed claim and a failed list are retried', async () => {
  const { claim, list } = fixture;
  fixture.claim = async () => Promise.reject(new Error('unavailable'));
  fixture.list = async () => Promise.reject(new Error('unavailable'));
  fixture.due.set('a', 1);
  fixture.due.set('b', 1);
  fixture.poller.wake(['a']);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(fixture.claimed).toEqual([]);
  fixture.claim = claim;
  fixture.list = list;
  await vi.advanceTimersByTimeAsync(1_100);
  expect(fixture.claimed.toSorted()).toEqual(['a', 'b']);
});

test('a long list continues where its last batch ended, and listing takes at most a tenth of the time', async () => {
  const after: (string | null)[] = [];
  fixture.list = async (lastTenantId) => {
    after.push(lastTenantId);
    await new Promise((done) => setTimeout(done, 100));
    return { workspaces: [], upTo: after.length % 3 === 0 ? null : `up to ${after.length % 3}` };
  };
  await vi.advanceTimersByTimeAsync(30_000);
  expect(after.slice(0, 6)).toEqual([null, 'up to 1', 'up to 2', null, 'up to 1', 'up to 2']);
  expect(after.length).toBeLessThanOrEqual(33);
});
