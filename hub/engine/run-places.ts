import type { Logger } from '../platform/observability/logger.ts';
import type { OutboxJob } from '../platform/queue/queue.ts';
import type { DueRuns } from './due-runs.ts';
import type { Place } from './held-run.ts';
import type { Reservation } from './locked-starts.ts';
import { setAsideInput } from './run-outputs.ts';
import type { ClaimedRun } from './store.ts';

export interface RunPlacesOptions {
  /** Runs that are worked on at a time, whoever brought them. */
  concurrency: number;
  /** Runs in hand at a time, those that wait for an answer from outside among them. */
  maxRuns: number;
  /** Moves a run on until it ends or waits, also one that this process holds already; answers whether it was to be had. */
  handler: (run: string | ClaimedRun, place: Place) => Promise<boolean>;
  /** Gives a run that this process holds to others. Never rejects. */
  giveBack: (run: ClaimedRun) => Promise<void>;
  /** Looks for runs that want a worker, some of each workspace but those named; there is room for so many. */
  listDue: (after: string | null, except: readonly string[], room: number) => Promise<DueRuns>;
  /** How often to look for runs of which nobody told this process, in milliseconds. */
  lookEveryMs?: number;
  logger: Logger;
}

/** Between two looks, in milliseconds; twice as long after each that brought nothing but runs that were not to be had. */
const pauseMs = 10;
/** While the line is well filled it may be by one workspace alone, so others are looked for all the same, but less often. */
const crowdedPauseMs = 250;

/** How long a run that this process holds may wait here for a place, before another process could have it, in milliseconds. */
const heldInLineMs = 10_000;

/** A run that waits for a place to begin. */
interface Waiting {
  runId: string;
  left: () => void;
  /** Null unless this process holds it already. */
  held: ClaimedRun | null;
  since: number;
}

/** What one workspace has of the places of this process. */
interface Share {
  line: Waiting[];
  /** Places in line for runs that are about to be accepted. */
  reserved: number;
  /** Runs in hand that come back from outside and wait for a place to go on. */
  returning: (() => void)[];
  working: number;
  inHand: number;
  /** When it last got a place, by the count of places given. */
  servedAt: number;
}

/**
 * The places of this process, shared by the workspaces that have something to do. Two things are scarce:
 * - places for work, of which a run holds one except while it waits for an answer from outside. A free one goes to the workspace that
 *   has the fewest, and of equal ones to that which waited longest; work is short, so nobody waits long.
 * - runs in hand, which may wait outside for minutes. A workspace takes at most as many as are free, so that however many slow runs it has,
 *   and however many such workspaces there are, the next one finds room at once.
 * What there is no room for stays in the database, where nobody's backlog stands before another's: it is looked for, some of each workspace
 * in turn, as soon as there is room. Jobs of the queue are hints where to look, so one that is let go is not lost.
 *
 * Over 300 lines: it is one set of numbers, which must agree at every moment.
 */
export class RunPlaces {
  readonly #options: RunPlacesOptions;
  readonly #lookEveryMs: number;
  readonly #shares = new Map<string, Share>();
  /** Runs in line or in hand; of one in hand also whether it was asked for again meanwhile. */
  readonly #known = new Map<string, 'in line' | 'in hand' | 'wanted again'>();
  /** Runs that this process holds anew while their last visit has not ended. */
  readonly #returned = new Map<string, ClaimedRun>();
  readonly #running = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  /** Workspaces with more to do than they may have in hand. */
  readonly #full = new Set<string>();
  #working = 0;
  #inHand = 0;
  #inLine = 0;
  /** Reservations that are open. */
  #reserved = 0;
  readonly #noneReserved = Promise.withResolvers<void>();
  #served = 0;
  #hasMore = false;
  #looking: Promise<void> | null = null;
  #pause: NodeJS.Timeout | null = null;
  #givesSoon = false;
  #lookedUpTo: string | null = null;
  /** Runs that were begun since the last look, by whether they were to be had. */
  #begun = { had: 0, refused: 0 };
  /** Looks in a row that brought none that was to be had. */
  #barrenLooks = 0;
  /** When the last look ended. */
  #lookedAt = Number.NEGATIVE_INFINITY;
  #draining = false;

  constructor(options: RunPlacesOptions) {
    this.#options = options;
    this.#lookEveryMs = options.lookEveryMs ?? 3_000;
    this.#timer = setInterval(() => {
      this.#leaveOld();
      this.look();
    }, this.#lookEveryMs);
  }

  /** All that is counted: nothing of it is left once all runs have ended or were given back. */
  get counts(): Record<'known' | 'returned' | 'workspaces' | 'working' | 'inHand' | 'inLine' | 'reserved', number> {
    return {
      known: this.#known.size,
      returned: this.#returned.size,
      workspaces: this.#shares.size,
      working: this.#working,
      inHand: this.#inHand,
      inLine: this.#inLine,
      reserved: this.#reserved,
    };
  }

  /** How many jobs of the queue wait here for a place at most: enough to fill the places while the next are looked for. */
  get maxFromQueue(): number {
    return Math.max(32, this.#options.concurrency * 4);
  }

  /** How many runs wait here for a place at most. Those of this very process cost nobody anything, and few milliseconds. */
  get #maxInLine(): number {
    return this.maxFromQueue * 4;
  }

  /** Takes a job of this very process if there is room for it, so that it need not travel through the queue. */
  take(job: OutboxJob): boolean {
    if (job.notBefore !== null && job.notBefore.getTime() > Date.now()) return false;
    return this.#enter(job.data.tenantId, job.data.runId, () => undefined);
  }

  /** Keeps room for a run of a workspace that is about to be accepted; null when there is none. */
  reserve(tenantId: string): Reservation | null {
    if (this.#draining || this.#full.has(tenantId) || this.#freeInLine(this.#shares.get(tenantId)) <= 0) return null;
    const share = this.#shareOf(tenantId);
    share.reserved += 1;
    this.#reserved += 1;
    this.#inLine += 1;
    let isOpen = true;
    const end = () => {
      const wasOpen = isOpen;
      isOpen = false;
      if (!wasOpen) return false;
      share.reserved -= 1;
      this.#reserved -= 1;
      this.#inLine -= 1;
      return true;
    };
    return {
      begin: (run) => {
        if (!end()) return;
        setAsideInput(run);
        if (this.#draining) {
          this.#leave(run);
          this.#forgetIfIdle(tenantId, share);
          this.#noteIfNoneReserved();
        } else {
          this.#lineHeld(share, run);
          this.#forgetIfIdle(tenantId, share);
          // First whoever asked for it hears that it was accepted.
          this.#giveSoon();
        }
      },
      [Symbol.dispose]: () => {
        if (!end()) return;
        this.#forgetIfIdle(tenantId, share);
        this.#noteIfNoneReserved();
        this.#lookIfRoom();
      },
    };
  }

  /** Takes a job of the queue; resolves once its run begins, or there is no room and it is looked for later. */
  async accept({ runId, tenantId }: { runId?: string | undefined; tenantId?: string | undefined }): Promise<void> {
    if (runId === undefined) {
      this.look();
      return;
    }
    // Jobs of an older version do not say whose they are; such a run is a workspace of its own.
    await new Promise<void>((resolve) => {
      if (!this.#enter(tenantId ?? runId, runId, resolve)) resolve();
    });
  }

  /** Looks for runs that want a worker, now or as soon as there is room for them. */
  look(): void {
    this.#hasMore = true;
    this.#lookIfRoom();
  }

  /** Takes no more runs and waits for those in hand, at most until the deadline. What waits in line is left to others. */
  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true;
    clearInterval(this.#timer);
    if (this.#pause !== null) clearTimeout(this.#pause);
    for (const [tenantId, share] of this.#shares) {
      const line = share.line.splice(0);
      this.#inLine -= line.length;
      for (const { runId, left, held } of line) {
        this.#known.delete(runId);
        left();
        // A job that did not say whose it is stands in another line than the run that came back meanwhile.
        const own = held ?? this.#returned.get(runId);
        this.#returned.delete(runId);
        if (own !== undefined) this.#leave(own);
      }
      this.#forgetIfIdle(tenantId, share);
    }
    this.#noteIfNoneReserved();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, deadlineMs);
    await Promise.race([this.#settled(), late.promise]);
    clearTimeout(timer);
  }

  /** Resolves once nothing is in hand, also of what was still being accepted. */
  async #settled(): Promise<void> {
    while (this.#running.size > 0 || this.#looking !== null || this.#reserved > 0)
      await Promise.allSettled([...this.#running, this.#looking, this.#noneReserved.promise]);
  }

  #noteIfNoneReserved(): void {
    if (this.#draining && this.#reserved === 0) this.#noneReserved.resolve();
  }

  #shareOf(tenantId: string): Share {
    const known = this.#shares.get(tenantId);
    if (known !== undefined) return known;
    const share: Share = { line: [], reserved: 0, returning: [], working: 0, inHand: 0, servedAt: 0 };
    this.#shares.set(tenantId, share);
    return share;
  }

  /** Whether a workspace may have one more run in hand. */
  #hasRoom(share: Share | undefined): boolean {
    const free = Math.max(this.#options.maxRuns, this.#options.concurrency) - this.#inHand;
    return free > 0 && (share?.inHand ?? 0) < free;
  }

  /** For how many more runs of a workspace there is room in line: at most half of what is free. */
  #freeInLine(share: Share | undefined): number {
    if (!this.#hasRoom(share)) return 0;
    const free = this.#maxInLine - this.#inLine;
    return free - (share === undefined ? 0 : share.line.length + share.reserved);
  }

  /** Gives a run that this process holds to others. */
  #leave(run: ClaimedRun): void {
    const left = this.#options.giveBack(run).finally(() => this.#running.delete(left));
    this.#running.add(left);
  }

  /** Gives back what this process holds and has had no place for. */
  #leaveOld(): void {
    const before = performance.now() - heldInLineMs;
    for (const [tenantId, share] of this.#shares) {
      const old = share.line.filter(({ held, since }) => held !== null && since < before);
      if (old.length === 0) continue;
      share.line = share.line.filter((waiting) => !old.includes(waiting));
      this.#inLine -= old.length;
      for (const { runId, held } of old) {
        this.#known.delete(runId);
        this.#leave(held as ClaimedRun);
      }
      this.#forgetIfIdle(tenantId, share);
    }
  }

  #forgetIfIdle(tenantId: string, share: Share): void {
    if (share.inHand === 0 && share.line.length === 0 && share.reserved === 0) this.#shares.delete(tenantId);
  }

  #line(share: Share, waiting: Waiting): void {
    share.line.push(waiting);
    this.#known.set(waiting.runId, 'in line');
    this.#inLine += 1;
  }

  /** Puts a run that this process holds into the line of its workspace. */
  #lineHeld(share: Share, held: ClaimedRun): void {
    const state = this.#known.get(held.id);
    const inLine = state === 'in line' ? share.line.find(({ runId }) => runId === held.id) : undefined;
    if (inLine !== undefined) Object.assign(inLine, { held, since: performance.now() });
    // Whoever let it go has not left it yet.
    else if (state !== undefined) this.#returned.set(held.id, held);
    else this.#line(share, { runId: held.id, left: () => undefined, held, since: performance.now() });
  }

  /** Puts a run into the line of its workspace; false when that may have no more here now. */
  #enter(tenantId: string, runId: string, left: () => void): boolean {
    if (this.#draining) return false;
    const state = this.#known.get(runId);
    if (state !== undefined) {
      // What it waits for may have come while it was on its way out.
      if (state === 'in hand') this.#known.set(runId, 'wanted again');
      left();
      return true;
    }
    const before = this.#shares.get(tenantId);
    if (!this.#hasRoom(before)) this.#full.add(tenantId);
    if (this.#full.has(tenantId) || this.#freeInLine(before) <= 0) {
      this.#hasMore = true;
      return false;
    }
    this.#line(this.#shareOf(tenantId), { runId, left, held: null, since: performance.now() });
    this.#give();
    return true;
  }

  #giveSoon(): void {
    if (this.#givesSoon) return;
    this.#givesSoon = true;
    setImmediate(() => {
      this.#givesSoon = false;
      this.#give();
    });
  }

  /** Gives free places to whoever is next. */
  #give(): void {
    while (this.#working < this.#options.concurrency) {
      let next: [string, Share] | undefined;
      for (const [tenantId, share] of this.#shares) {
        const wants = share.returning.length > 0 || (share.line.length > 0 && this.#hasRoom(share));
        if (!wants) continue;
        if (
          next === undefined ||
          share.working < next[1].working ||
          (share.working === next[1].working && share.servedAt < next[1].servedAt)
        )
          next = [tenantId, share];
      }
      if (next === undefined) break;
      const [tenantId, share] = next;
      this.#served += 1;
      this.#working += 1;
      share.working += 1;
      share.servedAt = this.#served;
      const goOn = share.returning.shift();
      if (goOn === undefined) this.#begin(tenantId, share);
      else goOn();
    }
    this.#lookIfRoom();
  }

  #begin(tenantId: string, share: Share): void {
    const { runId, left, held } = share.line.shift() as Waiting;
    this.#inLine -= 1;
    this.#inHand += 1;
    share.inHand += 1;
    this.#known.set(runId, 'in hand');
    left();
    let holds = true;
    let ended = false;
    const release = () => {
      if (!holds) return;
      holds = false;
      this.#working -= 1;
      share.working -= 1;
    };
    const place: Place = {
      release: () => {
        ended = true;
        release();
        this.#give();
      },
      outside: async (work) => {
        release();
        this.#give();
        try {
          return await work();
        } finally {
          // Only a place that is still wanted is waited for.
          if (!ended)
            await new Promise<void>((goOn) => {
              share.returning.push(goOn);
              this.#give();
            });
          holds = true;
        }
      },
    };
    const work: Promise<void> = this.#options
      .handler(held ?? runId, place)
      .catch((error: unknown) => {
        this.#options.logger.error({ err: error, runId }, 'a run was left; it is taken again when its lease ends');
        return false;
      })
      .then((wasHad) => {
        this.#begun[wasHad ? 'had' : 'refused'] += 1;
        ended = true;
        release();
        this.#inHand -= 1;
        share.inHand -= 1;
        const isWanted = this.#known.get(runId) === 'wanted again';
        const returned = this.#returned.get(runId);
        this.#known.delete(runId);
        this.#returned.delete(runId);
        this.#running.delete(work);
        if (returned !== undefined && this.#draining) this.#leave(returned);
        else if (returned !== undefined) this.#lineHeld(share, returned);
        else if (isWanted) this.#enter(tenantId, runId, () => undefined);
        if (this.#full.size > 0) this.#wakeFull();
        this.#forgetIfIdle(tenantId, share);
        this.#give();
      });
    this.#running.add(work);
  }

  /** Looks again for workspaces that had all they may have, once they have a little room. */
  #wakeFull(): void {
    for (const tenantId of this.#full) {
      if (!this.#hasRoom(this.#shares.get(tenantId))) continue;
      this.#full.delete(tenantId);
      this.#hasMore = true;
    }
  }

  #lookIfRoom(): void {
    if (!this.#hasMore || this.#looking !== null || this.#pause !== null || this.#draining) return;
    if (this.#inLine > this.#maxInLine / 4 && performance.now() < this.#lookedAt + crowdedPauseMs) return;
    this.#hasMore = false;
    this.#looking = this.#look()
      .catch((error: unknown) => {
        this.#options.logger.warn({ err: error }, 'could not look for runs that want a worker; it is tried again');
      })
      .finally(() => {
        this.#looking = null;
        this.#lookedAt = performance.now();
        if (this.#draining) return;
        // However much there is, looking leaves the database time for the runs themselves.
        this.#pause = setTimeout(
          () => {
            this.#pause = null;
            this.#lookIfRoom();
          },
          Math.min(pauseMs * 2 ** this.#barrenLooks, this.#lookEveryMs),
        );
      });
  }

  async #look(): Promise<void> {
    const { had, refused } = this.#begun;
    this.#begun = { had: 0, refused: 0 };
    if (had > 0) this.#barrenLooks = 0;
    else if (refused > 0) this.#barrenLooks += 1;
    const { runs, upTo } = await this.#options.listDue(
      this.#lookedUpTo,
      [...this.#full],
      // No workspace may have more than half of it.
      Math.max(0, (this.#maxInLine - this.#inLine) >> 1),
    );
    this.#lookedUpTo = upTo;
    // Where the last workspace was not reached, or one has more than it showed, there is more.
    if (upTo !== null || runs.hasMore) this.#hasMore = true;
    for (const { runId, tenantId } of runs.list) this.#enter(tenantId, runId, () => undefined);
  }
}
