import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ClaimedRun } from '../runs/store.ts';
import type { AskedWorkspace, ClaimedOfWorkspace, DueWorkspaces } from './claim-runs.ts';
import { DuePoller } from './due-poller.ts';

/** A database with due runs, and a pool with room for some. */
class Scene {
  /** Due runs by workspace. */
  readonly due = new Map<string, number>();
  readonly locked = new Map<string, number>();
  next: { tenantId: string; inMs: number } | null = null;
  readonly claims: AskedWorkspace[][] = [];
  readonly claimed: string[] = [];
  readonly full: string[] = [];
  lists = 0;
  slots = 4;
  waiting = 0;
  slotsFreed = 0;
  roomOf = (_tenantId: string) => 100;
  claim = async (asked: readonly AskedWorkspace[]): Promise<ClaimedOfWorkspace[]> => {
    this.claims.push([...asked]);
    return asked.map(({ tenantId, most }) => {
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

  constructor(asksAgain = false) {
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
      roomFor: (tenantId: string) => this.roomOf(tenantId),
      maxWaiting: 256,
      room: 1_000,
    };
    Object.defineProperties(pool, {
      freeSlots: { get: () => this.slots },
      counts: { get: () => ({ waiting: this.waiting }) },
      slotsFreed: { get: () => this.slotsFreed },
    });
    this.poller = new DuePoller({
      claim: (asked) => this.claim(asked),
      listWorkspaces: (after) => this.list(after),
      pool: pool as never,
      onFull: (tenantIds) => this.full.push(...tenantIds),
      asksAgain,
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
    const begun = Math.min(this.slots, this.waiting);
    this.slots -= begun;
    this.waiting -= begun;
    this.poller.claim();
  }
}

let scene: Scene;
beforeEach(async () => {
  vi.useFakeTimers();
  scene = new Scene();
  await vi.advanceTimersByTimeAsync(1);
});
afterEach(async () => {
  await scene[Symbol.asyncDispose]();
  vi.useRealTimers();
});

const settled = () => vi.advanceTimersByTimeAsync(0);

test('a wake-up leads to one claim, and to another one only where it had as many runs as it asked for', async () => {
  scene.due.set('a', 2);
  expect(scene.poller.wake(['a', 'b'])).toBe(true);
  await settled();
  expect(scene.claims).toEqual([
    [
      { tenantId: 'a', most: 2, onlyRecent: true },
      { tenantId: 'b', most: 2, onlyRecent: true },
    ],
    [{ tenantId: 'a', most: 2, onlyRecent: true }],
  ]);
  expect(scene.claimed).toEqual(['a', 'a']);
  await vi.advanceTimersByTimeAsync(900);
  expect(scene.claims).toHaveLength(2);
});

test('a process that is woken by others asks a workspace again while it has due runs', async () => {
  await using remote = new Scene(true);
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
  const { claim } = scene;
  scene.claim = async (asked) => {
    const claimed = await claim(asked);
    await gate.promise;
    return claimed;
  };
  scene.poller.wake(['a']);
  await settled();
  scene.due.set('a', 1);
  scene.poller.wake(['a']);
  await settled();
  expect(scene.claimed).toEqual([]);
  gate.resolve();
  await settled();
  expect(scene.claimed).toEqual(['a']);
});

test('few runs are claimed before there is a slot for them, and as many more as end', async () => {
  scene.due.set('a', 10);
  scene.poller.wake(['a']);
  await settled();
  expect([scene.claimed.length, scene.slots, scene.waiting]).toEqual([4, 0, 0]);
  expect(scene.full).toEqual(['a']);
  // None is taken from other processes while the runs go on.
  await vi.advanceTimersByTimeAsync(5_000);
  expect(scene.claimed).toHaveLength(4);
  scene.end(2);
  await settled();
  // As many wait as slots became free within the last 100 ms.
  expect([scene.claimed.length, scene.slots, scene.waiting]).toEqual([8, 0, 2]);
  for (let ended = 3; ended <= 10; ended += 1) {
    scene.end(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(scene.claimed.length - ended).toBeLessThan(8);
  }
  expect(scene.claimed).toHaveLength(10);
});

test('workspaces share what is claimed, also when one of them has more than all others', async () => {
  scene.due.set('a', 1_000);
  scene.poller.wake(['a']);
  await settled();
  for (let turn = 0; turn < 50; turn += 1) {
    if (turn === 10) {
      scene.due.set('b', 3);
      scene.poller.wake(['b']);
    }
    scene.end(4);
    await vi.advanceTimersByTimeAsync(1);
  }
  const firstB = scene.claimed.indexOf('b');
  expect(scene.claimed.filter((tenantId) => tenantId === 'b')).toHaveLength(3);
  expect(scene.claimed.slice(firstB).filter((tenantId) => tenantId === 'a').length).toBeGreaterThan(50);
});

test('a workspace without room is not asked, is claimed for by others, and is asked when it has room', async () => {
  scene.due.set('a', 1);
  scene.roomOf = () => 0;
  expect(scene.poller.wake(['a'])).toBe(false);
  await settled();
  expect(scene.claims).toEqual([]);
  scene.roomOf = () => 1;
  scene.poller.claim();
  await settled();
  expect(scene.claimed).toEqual(['a']);
});

test('a workspace with locked runs is asked again a few times, ever later', async () => {
  scene.locked.set('a', 1);
  scene.list = async () => ({ workspaces: [], upTo: null });
  scene.poller.wake(['a']);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(scene.claims).toHaveLength(8);
  scene.locked.clear();
  scene.due.set('a', 1);
  scene.poller.wake(['a']);
  await settled();
  expect(scene.claimed).toEqual(['a']);
});

test('runs of lost wake-ups are found within a second, and runs that become due at their time', async () => {
  scene.due.set('a', 1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(scene.claimed).toEqual(['a']);
  scene.next = { tenantId: 'b', inMs: 400 };
  await vi.advanceTimersByTimeAsync(1_000);
  scene.next = null;
  scene.due.set('b', 1);
  await vi.advanceTimersByTimeAsync(390);
  expect(scene.claimed).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(20);
  expect(scene.claimed).toEqual(['a', 'b']);
});

test('a worker whose slots have been in use for long leaves wake-ups to others', async () => {
  scene.due.set('a', 4);
  expect(scene.poller.wake(['a'])).toBe(true);
  await settled();
  await vi.advanceTimersByTimeAsync(300);
  expect([scene.slots, scene.poller.wake(['b'])]).toEqual([0, false]);
  scene.end(1);
  expect(scene.poller.wake(['b'])).toBe(true);
});

test('the list looks at all due runs of a workspace, and a wake-up at recent ones', async () => {
  scene.due.set('a', 1);
  await vi.advanceTimersByTimeAsync(1_000);
  scene.poller.wake(['a']);
  await settled();
  expect(scene.claims.map((asked) => asked.map(({ onlyRecent }) => onlyRecent))).toEqual([[false], [true]]);
});

test('while claims fail, one is tried 4 times a second, however many workspaces have due runs', async () => {
  let tries = 0;
  scene.claim = async () => {
    tries += 1;
    throw new Error('unavailable');
  };
  scene.poller.wake(Array.from({ length: 5_000 }, (_value, index) => `w${index}`));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(tries).toBeGreaterThan(30);
  expect(tries).toBeLessThanOrEqual(41);
});

test('a list that hangs for long before it fails is repeated a second later', async () => {
  const { list } = scene;
  scene.list = async () => {
    await new Promise((done) => setTimeout(done, 35_000));
    throw new Error('unavailable');
  };
  await vi.advanceTimersByTimeAsync(1_000);
  scene.list = list;
  scene.due.set('a', 1);
  await vi.advanceTimersByTimeAsync(36_500);
  expect(scene.claimed).toEqual(['a']);
});

test('a claim that fails is repeated, and a list that fails as well', async () => {
  const { claim, list } = scene;
  scene.claim = async () => Promise.reject(new Error('unavailable'));
  scene.list = async () => Promise.reject(new Error('unavailable'));
  scene.due.set('a', 1);
  scene.due.set('b', 1);
  scene.poller.wake(['a']);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(scene.claimed).toEqual([]);
  scene.claim = claim;
  scene.list = list;
  await vi.advanceTimersByTimeAsync(1_100);
  expect(scene.claimed.toSorted()).toEqual(['a', 'b']);
});

test('a list of very many workspaces is continued where it ended, and takes at most a tenth of the time', async () => {
  const after: (string | null)[] = [];
  scene.list = async (given) => {
    after.push(given);
    await new Promise((done) => setTimeout(done, 100));
    return { workspaces: [], upTo: after.length % 3 === 0 ? null : `up to ${after.length % 3}` };
  };
  await vi.advanceTimersByTimeAsync(30_000);
  expect(after.slice(0, 6)).toEqual([null, 'up to 1', 'up to 2', null, 'up to 1', 'up to 2']);
  expect(after.length).toBeLessThanOrEqual(33);
});
