import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import type { ClaimedRun } from '../runs/store.ts';
import type { Reservation } from '../starts/start-batch.ts';
import { WorkerPool } from './worker-pool.ts';

const tenantOf = (runId: string) => runId.slice(0, 1);
const claimed = (id: string) => ({ id, tenant_id: tenantOf(id) }) as ClaimedRun;
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A pool with runs that execute until the test ends them. */
class Fixture {
  readonly started: string[] = [];
  readonly ended: string[] = [];
  readonly released: string[] = [];
  working = 0;
  maxWorking = 0;
  readonly pool: WorkerPool;
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  constructor({ concurrency = 1, maxRuns = 100, isOutside = (_runId: string): boolean => false } = {}) {
    this.pool = new WorkerPool({
      concurrency,
      maxRuns,
      holderId: 'this process',
      logger: pino({ level: 'silent' }),
      releaseRun: async ({ id }) => void this.released.push(id),
      execute: async ({ id }, slot) => {
        this.started.push(id);
        const gate = Promise.withResolvers<void>();
        this.#gates.set(id, gate);
        this.#changeWorking(1);
        if (isOutside(id)) {
          await slot.outside(async () => {
            this.#changeWorking(-1);
            await gate.promise;
          });
          this.#changeWorking(1);
        } else {
          await gate.promise;
        }
        this.#changeWorking(-1);
        this.ended.push(id);
      },
    });
    fixtures.push(this);
  }

  #changeWorking(by: number): void {
    this.working += by;
    this.maxWorking = Math.max(this.maxWorking, this.working);
  }

  add(...runIds: string[]): void {
    for (const id of runIds) this.pool.add(claimed(id));
    this.pool.begin();
  }

  end(runId: string): void {
    this.#gates.get(runId)?.resolve();
  }
}

const fixtures: Fixture[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const { pool } of fixtures.splice(0)) await pool.drain(0);
});

test('a run that waits for an external response frees its slot, and needs a slot again to continue', async () => {
  const fixture = new Fixture({ isOutside: (runId) => tenantOf(runId) === 'o' });
  for (const runId of ['o0', 'o1', 'o2']) fixture.add(runId);
  fixture.add('w0');
  expect([fixture.started.length, fixture.working]).toEqual([4, 1]);
  for (const runId of ['o0', 'o1', 'o2']) fixture.end(runId);
  await settled();
  expect(fixture.ended).toEqual([]);
  fixture.end('w0');
  await expect.poll(() => fixture.ended.length).toBe(4);
  expect(fixture.maxWorking).toBe(1);
});

test('the capacity listener is called when a run has ended', async () => {
  const fixture = new Fixture({ maxRuns: 2 });
  fixture.add('a0');
  expect(fixture.pool.capacityFor('a')).toBe(0);
  const capacities: number[] = [];
  fixture.pool.onCapacity(() => capacities.push(fixture.pool.capacityFor('a')));
  fixture.end('a0');
  await expect.poll(() => capacities.at(-1)).toBe(1);
});

test('a run that gets no slot within a second is released for other processes', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'performance'] });
  const fixture = new Fixture();
  fixture.add('b0', 'a0');
  await vi.advanceTimersByTimeAsync(900);
  expect(fixture.released).toEqual([]);
  await vi.advanceTimersByTimeAsync(700);
  expect([fixture.released, fixture.started]).toEqual([['a0'], ['b0']]);
});

test('a reservation can be used by at most one run, and ends once', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  const fixture = new Fixture();
  const [first, second] = [fixture.pool.reserve('a'), fixture.pool.reserve('a')] as [Reservation, Reservation];
  first.begin(claimed('a0'));
  first.begin(claimed('a1'));
  first[Symbol.dispose]();
  second[Symbol.dispose]();
  second.begin(claimed('a2'));
  await expect.poll(() => fixture.started).toEqual(['a0']);
  fixture.end('a0');
  await expect.poll(() => fixture.pool.counts.workspaces).toBe(0);
  expect(fixture.started).toEqual(['a0']);
});

test('a drain releases waiting runs and runs that are still added, and waits for runs in progress', async () => {
  const fixture = new Fixture();
  fixture.add('b0', 'b1');
  const late = fixture.pool.reserve('a');
  fixture.pool.reserve('a')?.begin(claimed('a0'));
  const claiming = Promise.withResolvers<void>();
  let isDrained = false;
  const drained = fixture.pool.drain(60_000, claiming.promise).then(() => (isDrained = true));
  expect(fixture.pool.reserve('c')).toBeNull();
  fixture.end('b0');
  await settled();
  expect(isDrained).toBe(false);
  late?.begin(claimed('a1'));
  await settled();
  expect(isDrained).toBe(false);
  fixture.add('c0');
  claiming.resolve();
  await drained;
  expect(fixture.started).toEqual(['b0']);
  expect(fixture.released.toSorted()).toEqual(['a0', 'a1', 'b1', 'c0']);
});

test('each run is executed or released exactly once, for 200 random sequences of calls', async () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    let state = seed;
    const random = (limit: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * limit);
    };
    const fixture = new Fixture({
      concurrency: 1 + random(3),
      maxRuns: 2 + random(8),
      isOutside: (runId) => runId.endsWith('1'),
    });
    const added: string[] = [];
    const next = () => {
      const runId = `${['a', 'b', 'c'][random(3)]}${added.length}`;
      added.push(runId);
      return runId;
    };
    const open: Reservation[] = [];
    let drained: Promise<void> | undefined;
    const drainsAt = random(2) === 0 ? random(80) : -1;
    for (let turn = 0; turn < 80; turn += 1) {
      if (turn === drainsAt) drained = fixture.pool.drain(60_000);
      switch (random(6)) {
        case 0:
        case 1:
          if (fixture.pool.capacityFor('a') > 0 || random(4) === 0) fixture.add(next());
          break;
        case 2: {
          const reservation = fixture.pool.reserve(['a', 'b', 'c'][random(3)] as string);
          if (reservation !== null) open.push(reservation);
          break;
        }
        case 3: {
          const [reservation] = open.splice(random(open.length), 1);
          if (reservation === undefined) break;
          if (random(2) === 0) reservation.begin(claimed(next()));
          reservation[Symbol.dispose]();
          break;
        }
        case 4:
          fixture.end(added[random(added.length)] ?? '');
          break;
        default:
          await settled();
      }
    }
    for (const reservation of open) reservation[Symbol.dispose]();
    const none = { workspaces: 0, working: 0, inProgress: 0, waiting: 0, reserved: 0 };
    const isIdle = () => Object.values(fixture.pool.counts).every((count) => count === 0);
    for (let turns = 0; turns < 1_000 && !isIdle(); turns += 1) {
      for (const runId of added) fixture.end(runId);
      await settled();
    }
    expect(fixture.pool.counts, `seed ${seed}`).toEqual(none);
    await drained;
    expect([...fixture.started, ...fixture.released].toSorted(), `seed ${seed}`).toEqual(added.toSorted());
    expect(fixture.ended.length, `seed ${seed}`).toBe(fixture.started.length);
    await fixture.pool.drain(0);
  }
});
