import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import type { ClaimedRun } from '../runs/store.ts';
import type { Reservation } from '../starts/locked-starts.ts';
import { WorkerPool } from './worker-pool.ts';

const tenantOf = (runId: string) => runId.slice(0, 1);
const claimed = (id: string) => ({ id, tenant_id: tenantOf(id) }) as ClaimedRun;
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A pool with runs that continue until they are released. */
class Scene {
  readonly begun: string[] = [];
  readonly ended: string[] = [];
  readonly givenBack: string[] = [];
  working = 0;
  most = 0;
  readonly pool: WorkerPool;
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  constructor({ concurrency = 1, maxRuns = 100, isOutside = (_runId: string): boolean => false } = {}) {
    this.pool = new WorkerPool({
      concurrency,
      maxRuns,
      holderId: 'this process',
      logger: pino({ level: 'silent' }),
      giveBack: async ({ id }) => void this.givenBack.push(id),
      execute: async ({ id }, slot) => {
        this.begun.push(id);
        const gate = Promise.withResolvers<void>();
        this.#gates.set(id, gate);
        this.#work(1);
        if (isOutside(id)) {
          await slot.outside(async () => {
            this.#work(-1);
            await gate.promise;
          });
          this.#work(1);
        } else {
          await gate.promise;
        }
        this.#work(-1);
        this.ended.push(id);
      },
    });
    scenes.push(this);
  }

  #work(by: number): void {
    this.working += by;
    this.most = Math.max(this.most, this.working);
  }

  add(...runIds: string[]): void {
    for (const id of runIds) this.pool.add(claimed(id));
    this.pool.begin();
  }

  release(runId: string): void {
    this.#gates.get(runId)?.resolve();
  }
}

const scenes: Scene[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const { pool } of scenes.splice(0)) await pool.drain(0);
});

test('a run that waits outside gives its slot to others, and waits for one before it continues', async () => {
  const scene = new Scene({ isOutside: (runId) => tenantOf(runId) === 'o' });
  for (const runId of ['o0', 'o1', 'o2']) scene.add(runId);
  scene.add('w0');
  expect([scene.begun.length, scene.working]).toEqual([4, 1]);
  for (const runId of ['o0', 'o1', 'o2']) scene.release(runId);
  await settled();
  expect(scene.ended).toEqual([]);
  scene.release('w0');
  await expect.poll(() => scene.ended.length).toBe(4);
  expect(scene.most).toBe(1);
});

test('the listener is called when a run has ended', async () => {
  const scene = new Scene({ maxRuns: 2 });
  scene.add('a0');
  expect(scene.pool.roomFor('a')).toBe(0);
  const rooms: number[] = [];
  scene.pool.onRoom(() => rooms.push(scene.pool.roomFor('a')));
  scene.release('a0');
  await expect.poll(() => rooms.at(-1)).toBe(1);
});

test('a run without a slot for one second is released for another process', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'performance'] });
  const scene = new Scene();
  scene.add('b0', 'a0');
  await vi.advanceTimersByTimeAsync(900);
  expect(scene.givenBack).toEqual([]);
  await vi.advanceTimersByTimeAsync(700);
  expect([scene.givenBack, scene.begun]).toEqual([['a0'], ['b0']]);
});

test('a reservation ends once, by its run or without one', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  const scene = new Scene();
  const [first, second] = [scene.pool.reserve('a'), scene.pool.reserve('a')] as [Reservation, Reservation];
  first.begin(claimed('a0'));
  first.begin(claimed('a1'));
  first[Symbol.dispose]();
  second[Symbol.dispose]();
  second.begin(claimed('a2'));
  await expect.poll(() => scene.begun).toEqual(['a0']);
  scene.release('a0');
  await expect.poll(() => scene.pool.counts.workspaces).toBe(0);
  expect(scene.begun).toEqual(['a0']);
});

test('a drain gives back waiting runs and those that still come, and waits for the others', async () => {
  const scene = new Scene();
  scene.add('b0', 'b1');
  const late = scene.pool.reserve('a');
  scene.pool.reserve('a')?.begin(claimed('a0'));
  const claiming = Promise.withResolvers<void>();
  let isDrained = false;
  const drained = scene.pool.drain(60_000, claiming.promise).then(() => (isDrained = true));
  expect(scene.pool.reserve('c')).toBeNull();
  scene.release('b0');
  await settled();
  expect(isDrained).toBe(false);
  late?.begin(claimed('a1'));
  await settled();
  expect(isDrained).toBe(false);
  scene.add('c0');
  claiming.resolve();
  await drained;
  expect(scene.begun).toEqual(['b0']);
  expect(scene.givenBack.toSorted()).toEqual(['a0', 'a1', 'b1', 'c0']);
});

test('each run is executed or released exactly once, for 200 random sequences of calls', async () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    let state = seed;
    const dice = (sides: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * sides);
    };
    const scene = new Scene({
      concurrency: 1 + dice(3),
      maxRuns: 2 + dice(8),
      isOutside: (runId) => runId.endsWith('1'),
    });
    const given: string[] = [];
    const next = () => {
      const runId = `${['a', 'b', 'c'][dice(3)]}${given.length}`;
      given.push(runId);
      return runId;
    };
    const open: Reservation[] = [];
    let drained: Promise<void> | undefined;
    const stopsAt = dice(2) === 0 ? dice(80) : -1;
    for (let turn = 0; turn < 80; turn += 1) {
      if (turn === stopsAt) drained = scene.pool.drain(60_000);
      switch (dice(6)) {
        case 0:
        case 1:
          if (scene.pool.roomFor('a') > 0 || dice(4) === 0) scene.add(next());
          break;
        case 2: {
          const reservation = scene.pool.reserve(['a', 'b', 'c'][dice(3)] as string);
          if (reservation !== null) open.push(reservation);
          break;
        }
        case 3: {
          const [reservation] = open.splice(dice(open.length), 1);
          if (reservation === undefined) break;
          if (dice(2) === 0) reservation.begin(claimed(next()));
          reservation[Symbol.dispose]();
          break;
        }
        case 4:
          scene.release(given[dice(given.length)] ?? '');
          break;
        default:
          await settled();
      }
    }
    for (const reservation of open) reservation[Symbol.dispose]();
    const none = { workspaces: 0, working: 0, inProgress: 0, waiting: 0, reserved: 0 };
    const isOver = () => Object.values(scene.pool.counts).every((count) => count === 0);
    for (let turns = 0; turns < 1_000 && !isOver(); turns += 1) {
      for (const runId of given) scene.release(runId);
      await settled();
    }
    expect(scene.pool.counts, `dice ${seed}`).toEqual(none);
    await drained;
    expect([...scene.begun, ...scene.givenBack].toSorted(), `dice ${seed}`).toEqual(given.toSorted());
    expect(scene.ended.length, `dice ${seed}`).toBe(scene.begun.length);
    await scene.pool.drain(0);
  }
});
