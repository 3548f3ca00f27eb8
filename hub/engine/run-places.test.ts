import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { unawaited } from '../../test/fixtures/unawaited.ts';
import type { Place } from './held-run.ts';
import type { Reservation } from './locked-starts.ts';
import { RunPlaces } from './run-places.ts';
import type { ClaimedRun } from './store.ts';

/** Runs of some workspaces, that stay where they are until they are let go. */
class Bench {
  readonly begun: string[] = [];
  /** Those of them that this process held already. */
  readonly heldBegun: string[] = [];
  readonly ended: string[] = [];
  readonly givenBack: string[] = [];
  working = 0;
  most = 0;
  looks = 0;
  /** What the database has beside what it was told. */
  readonly backlog: string[] = [];
  readonly places: RunPlaces;
  readonly #places = new Map<string, Place>();
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  constructor(options: {
    concurrency: number;
    maxRuns: number;
    lookEveryMs?: number;
    isOutside?: (runId: string) => boolean;
    isHad?: (runId: string) => boolean;
  }) {
    this.places = new RunPlaces({
      lookEveryMs: 3_600_000,
      ...options,
      logger: pino({ level: 'silent' }),
      giveBack: async ({ id }) => void this.givenBack.push(id),
      handler: async (taken, place) => {
        const runId = typeof taken === 'string' ? taken : taken.id;
        if (options.isHad?.(runId) === false) return false;
        this.#places.set(runId, place);
        const index = this.backlog.indexOf(runId);
        if (index !== -1) this.backlog.splice(index, 1);
        this.begun.push(runId);
        if (typeof taken !== 'string') this.heldBegun.push(runId);
        const gate = Promise.withResolvers<void>();
        this.#gates.set(runId, gate);
        this.#work(1);
        if (options.isOutside?.(runId) === true) {
          await place.outside(async () => {
            this.#work(-1);
            await gate.promise;
          });
          this.#work(1);
        } else {
          await gate.promise;
        }
        this.#work(-1);
        this.ended.push(runId);
        return true;
      },
      listDue: async (_after, except) => {
        this.looks += 1;
        const byWorkspace = Map.groupBy(this.backlog, tenantOf);
        const shown = [...byWorkspace]
          .filter(([tenantId]) => !except.includes(tenantId))
          .map(([, runs]) => runs.slice(0, 16));
        const turns = Array.from({ length: 16 }, (_unused, turn) =>
          shown.flatMap((runs) => runs.slice(turn, turn + 1)),
        ).flat();
        return {
          runs: {
            list: turns.map((runId) => ({ runId, tenantId: tenantOf(runId) })),
            hasMore: shown.some((runs) => runs.length === 16),
          },
          upTo: null,
        };
      },
    });
  }

  #work(by: number): void {
    this.working += by;
    this.most = Math.max(this.most, this.working);
  }

  take(runId: string): boolean {
    return this.places.take({
      outboxId: 0,
      name: 'run',
      id: runId,
      data: { runId, tenantId: tenantOf(runId) },
      notBefore: null,
    });
  }

  release(runId: string): void {
    this.#gates.get(runId)?.resolve();
  }
}

const tenantOf = (runId: string) => runId.slice(0, 1);
const named = (tenant: string, count: number) => Array.from({ length: count }, (_unused, index) => `${tenant}${index}`);
const settled = () => new Promise((resolve) => setImmediate(resolve));

const benches: Bench[] = [];
function bench(options: ConstructorParameters<typeof Bench>[0]): Bench {
  const made = new Bench(options);
  benches.push(made);
  return made;
}
afterEach(async () => {
  for (const { places } of benches.splice(0)) await places.drain(0);
});

describe('the places of a process', () => {
  test('are one number, for what comes by the queue and what begins here together', async () => {
    const own = bench({ concurrency: 2, maxRuns: 100 });
    const { places, begun, ended } = own;
    for (const runId of named('a', 4)) own.take(runId);
    for (const runId of named('b', 4)) unawaited(places.accept({ runId, tenantId: 'b' }));
    for (let count = 0; ended.length < 8; count += 1) {
      expect(count).toBeLessThan(20);
      expect(begun.length - ended.length).toBeLessThanOrEqual(2);
      for (const runId of begun) own.release(runId);
      await settled();
    }
    expect(own.most).toBe(2);
  });

  test('go in turn to the workspaces that have something to do, whoever was first and has most', async () => {
    const own = bench({ concurrency: 1, maxRuns: 100 });
    for (const runId of [...named('a', 10), ...named('b', 3), ...named('c', 1)]) own.take(runId);
    while (own.ended.length < 14) {
      own.release(own.begun.at(-1) as string);
      await settled();
    }
    expect(own.begun.slice(0, 7).map(tenantOf)).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'b']);
  });

  test('are not kept from runs of which only the database knows, although the jobs of another workspace keep the line full', async () => {
    const own = bench({ concurrency: 1, maxRuns: 100 });
    let next = 0;
    const flood = () => {
      while (own.take(`a${next}`)) next += 1;
    };
    flood();
    own.backlog.push('b0');
    own.places.look();
    const goOn = async () => {
      own.release(own.begun.at(-1) as string);
      await settled();
      flood();
      return own.begun.map(tenantOf);
    };
    await expect.poll(goOn, { interval: 5 }).toContain('b');
  });

  test('are free again while a run waits for an answer from outside, and it takes one again after', async () => {
    const own = bench({ concurrency: 1, maxRuns: 100, isOutside: (runId) => tenantOf(runId) === 'o' });
    for (const runId of named('o', 5)) own.take(runId);
    own.take('w0');
    expect([own.begun.length, own.working]).toEqual([6, 1]);
    for (const runId of named('o', 5)) own.release(runId);
    await settled();
    expect(own.ended).toEqual([]);
    own.release('w0');
    await expect.poll(() => own.ended.length).toBe(6);
    expect(own.most).toBe(1);
  });

  test('hold room for the next workspace however many runs wait outside, and what there is no room for is found again', async () => {
    const own = bench({ concurrency: 4, maxRuns: 32, isOutside: (runId) => 'ab'.includes(tenantOf(runId)) });
    own.backlog.push(...named('a', 100), ...named('b', 100));
    own.places.look();
    const countOf = (tenant: string) => own.begun.filter((runId) => tenantOf(runId) === tenant).length;
    // Two that are greedy get a third each and leave a third.
    await expect
      .poll(() => [countOf('a') + countOf('b') >= 20, countOf('a') <= 16 && countOf('b') <= 16])
      .toEqual([true, true]);
    const before = own.begun.length;
    for (const runId of named('c', 3)) expect(own.take(runId)).toBe(true);
    await settled();
    expect(own.begun.slice(before)).toEqual(['c0', 'c1', 'c2']);
    expect(own.begun.length).toBeLessThanOrEqual(32);
    for (const runId of named('c', 3)) own.release(runId);
    // Nobody tells of the rest; it is begun as room comes, to the last.
    const timer = setInterval(() => {
      for (const runId of own.begun) own.release(runId);
    }, 1);
    await expect.poll(() => own.ended.length).toBe(203);
    clearInterval(timer);
    expect(own.begun.length).toBe(new Set(own.begun).size);
  });

  test('are asked for once more by a run whose wake-up came while it was on its way out', async () => {
    const own = bench({ concurrency: 1, maxRuns: 10 });
    own.take('a0');
    expect(own.take('a0')).toBe(true);
    own.release('a0');
    await expect.poll(() => own.begun).toEqual(['a0', 'a0']);
  });

  test('are not looked for ever again because of runs that are not to be had, and the first that is to be had is looked after at once', async () => {
    vi.useFakeTimers();
    try {
      const own = bench({
        concurrency: 4,
        maxRuns: 100,
        lookEveryMs: 60_000,
        isHad: (runId) => tenantOf(runId) !== 'x',
      });
      own.backlog.push(...named('x', 40));
      own.places.look();
      await vi.advanceTimersByTimeAsync(30_000);
      // 10, 20, 40... ms apart, instead of 3,000 of them.
      expect(own.looks).toBeGreaterThan(5);
      expect(own.looks).toBeLessThan(16);
      own.backlog.push('a0');
      await vi.advanceTimersByTimeAsync(60_000);
      expect(own.begun).toEqual(['a0']);
      own.release('a0');
      const before = own.looks;
      own.places.look();
      await vi.advanceTimersByTimeAsync(60_000);
      own.backlog.splice(0);
      expect(own.looks).toBeGreaterThan(before + 5);
    } finally {
      vi.useRealTimers();
    }
  });

  const held = (id: string) => ({ id }) as ClaimedRun;

  test('are kept for runs that are about to be accepted, at most half of what is free for one workspace', async () => {
    const own = bench({ concurrency: 1, maxRuns: 10_000 });
    const kept: Reservation[] = [];
    for (let next = own.places.reserve('a'); next !== null; next = own.places.reserve('a')) kept.push(next);
    expect(kept.length).toBeGreaterThan(32);
    expect(own.take('a0')).toBe(false);
    expect(own.take('b0')).toBe(true);
    kept.pop()?.[Symbol.dispose]();
    kept.pop()?.[Symbol.dispose]();
    expect(own.take('a1')).toBe(true);
    const [first, ...others] = kept as [Reservation, ...Reservation[]];
    first.begin(held('a2'));
    first.begin(held('a3'));
    first[Symbol.dispose]();
    for (const other of others) other[Symbol.dispose]();
    own.release('b0');
    await expect.poll(() => own.begun.toSorted()).toEqual(['a1', 'b0']);
    own.release('a1');
    await expect.poll(() => own.begun.toSorted()).toEqual(['a1', 'a2', 'b0']);
  });

  test('are not waited for longer than a run is kept that this process holds: another may have it', async () => {
    vi.useFakeTimers();
    try {
      const own = bench({ concurrency: 1, maxRuns: 10, lookEveryMs: 3_000 });
      own.take('b0');
      own.places.reserve('a')?.begin(held('a0'));
      own.take('a1');
      await vi.advanceTimersByTimeAsync(9_000);
      expect(own.givenBack).toEqual([]);
      await vi.advanceTimersByTimeAsync(6_000);
      expect([own.givenBack, own.begun]).toEqual([['a0'], ['b0']]);
      own.release('b0');
      await vi.advanceTimersByTimeAsync(1);
      expect(own.begun).toEqual(['b0', 'a1']);
    } finally {
      vi.useRealTimers();
    }
  });

  test('are given back for runs that a process holds when it stops, also for those that it accepts at that moment', async () => {
    const own = bench({ concurrency: 1, maxRuns: 10 });
    own.take('b0');
    const late = own.places.reserve('a');
    own.places.reserve('a')?.begin(held('a0'));
    const drained = own.places.drain(60_000);
    late?.begin(held('a1'));
    expect(own.places.reserve('a')).toBeNull();
    own.release('b0');
    await drained;
    expect([own.begun, own.givenBack]).toEqual([['b0'], ['a0', 'a1']]);
  });

  test('are taken again by a run that came back to this process while it was on its way out, once, and with what was read of it', async () => {
    const own = bench({ concurrency: 2, maxRuns: 10 });
    own.take('a0');
    own.places.reserve('a')?.begin(held('a0'));
    // A job of the queue that asks for it, too, changes nothing.
    expect(own.take('a0')).toBe(true);
    await settled();
    expect([own.begun, own.heldBegun]).toEqual([['a0'], []]);
    own.release('a0');
    await expect.poll(() => own.heldBegun).toEqual(['a0']);
    own.release('a0');
    await expect.poll(() => own.ended).toEqual(['a0', 'a0']);
    await settled();
    expect(own.begun).toEqual(['a0', 'a0']);
  });

  test('are taken once by a run that stood in line already as it came back', async () => {
    const own = bench({ concurrency: 1, maxRuns: 10 });
    own.take('b0');
    own.take('a0');
    own.places.reserve('a')?.begin(held('a0'));
    own.release('b0');
    await expect.poll(() => own.heldBegun).toEqual(['a0']);
    own.release('a0');
    await expect.poll(() => own.ended).toEqual(['b0', 'a0']);
    await settled();
    expect(own.begun).toEqual(['b0', 'a0']);
  });

  test('are not given to a run that came back while its process stops: others have it', async () => {
    const own = bench({ concurrency: 1, maxRuns: 10 });
    own.take('a0');
    own.places.reserve('a')?.begin(held('a0'));
    const drained = own.places.drain(60_000);
    own.release('a0');
    await drained;
    expect([own.begun, own.givenBack]).toEqual([['a0'], ['a0']]);
  });

  test('are waited for by a process that stops as long as a run that it will hold is still being accepted', async () => {
    const own = bench({ concurrency: 1, maxRuns: 10 });
    const late = own.places.reserve('a');
    let isDrained = false;
    const drained = own.places.drain(60_000).then(() => (isDrained = true));
    await settled();
    expect(isDrained).toBe(false);
    late?.begin(held('a0'));
    await drained;
    expect(own.givenBack).toEqual(['a0']);
  });

  test('are begun or given back once each for all runs that a process holds, in whatever order things come', async () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      let state = seed;
      const dice = (sides: number) => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        return Math.floor((state / 2 ** 32) * sides);
      };
      const all = ['a', 'b', 'c'].flatMap((tenant) => named(tenant, 3));
      const own = bench({
        concurrency: 1 + dice(3),
        maxRuns: 2 + dice(8),
        isOutside: (runId) => runId.endsWith('1'),
      });
      const holds: string[] = [];
      const timesOf = (runId: string, list: readonly string[]) => list.filter((id) => id === runId).length;
      // Nobody holds a run anew that waits here already to go on.
      const isWaiting = (runId: string) =>
        timesOf(runId, holds) > timesOf(runId, own.heldBegun) + timesOf(runId, own.givenBack);
      const open: { tenantId: string; reservation: Reservation }[] = [];
      let drained: Promise<void> | undefined;
      const stopsAt = dice(2) === 0 ? dice(80) : -1;
      for (let turn = 0; turn < 80; turn += 1) {
        if (turn === stopsAt) drained = own.places.drain(60_000);
        const runId = all[dice(all.length)] as string;
        const [chosen] = open.slice(dice(open.length));
        switch (dice(7)) {
          case 0:
            own.take(runId);
            break;
          case 1:
            unawaited(own.places.accept(dice(2) === 0 ? { runId } : { runId, tenantId: tenantOf(runId) }));
            break;
          case 2: {
            const reservation = own.places.reserve(tenantOf(runId));
            if (reservation !== null) open.push({ tenantId: tenantOf(runId), reservation });
            break;
          }
          case 3: {
            const going = open.find(({ tenantId }) => tenantId === tenantOf(runId));
            if (going === undefined || isWaiting(runId)) break;
            holds.push(runId);
            going.reservation.begin(held(runId));
            // A reservation is ended once, however often that is said.
            if (dice(2) === 0) going.reservation[Symbol.dispose]();
            open.splice(open.indexOf(going), 1);
            break;
          }
          case 4:
            if (chosen === undefined) break;
            chosen.reservation[Symbol.dispose]();
            open.splice(open.indexOf(chosen), 1);
            break;
          case 5:
            own.release(runId);
            break;
          default:
            await settled();
        }
      }
      for (const { reservation } of open) reservation[Symbol.dispose]();
      const none = { known: 0, returned: 0, workspaces: 0, working: 0, inHand: 0, inLine: 0, reserved: 0 };
      const isOver = () => Object.values(own.places.counts).every((count) => count === 0);
      for (let turns = 0; turns < 1_000 && !isOver(); turns += 1) {
        for (const runId of all) own.release(runId);
        await settled();
      }
      expect(own.places.counts, `dice ${seed}`).toEqual(none);
      await drained;
      expect([...own.heldBegun, ...own.givenBack].toSorted(), `dice ${seed}`).toEqual(holds.toSorted());
      expect(own.ended.length, `dice ${seed}`).toBe(own.begun.length);
    }
  });

  test('are left to others by a process that stops', async () => {
    const own = bench({ concurrency: 1, maxRuns: 10 });
    own.take('a0');
    const waits = own.places.accept({ runId: 'b0', tenantId: 'b' });
    const drained = own.places.drain(60_000);
    await waits;
    expect(own.take('c0')).toBe(false);
    own.release('a0');
    await drained;
    expect(own.begun).toEqual(['a0']);
  });
});
