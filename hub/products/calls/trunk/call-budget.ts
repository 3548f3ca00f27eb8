import type { Clock } from '../../../platform/clock.ts';

/** Calls of one trunk that are recorded: more than a carrier brings to a number that nobody answers, and not what would fill the database. */
export const maxCallsPerSecond = 10;
export const maxCallsPerDay = 5_000;

const dayMs = 86_400_000;

/** Bounds how many calls of a trunk are written, whichever process wrote those before. */
export class CallBudget {
  readonly #clock: Clock;
  readonly #written: (since: Date, limit: number) => Promise<number>;
  readonly #second = { beganAt: -Infinity, calls: 0 };
  /** In UTC. */
  #day: { beganAt: number; before: Promise<number>; calls: number; isTold: boolean } | null = null;

  /** @param written how many were written since a time, but no more than a limit. */
  constructor(clock: Clock, written: (since: Date, limit: number) => Promise<number>) {
    this.#clock = clock;
    this.#written = written;
  }

  /** Takes the place of one call. @param onSpent told, once a day, that there was none. @throws whatever the count of those before throws. */
  async take(onSpent: () => void): Promise<boolean> {
    const now = this.#clock.now();
    if (now - this.#second.beganAt >= 1_000) Object.assign(this.#second, { beganAt: now, calls: 0 });
    const day = this.#today(now);
    if (this.#second.calls < maxCallsPerSecond && day.calls < maxCallsPerDay) {
      this.#second.calls += 1;
      day.calls += 1;
      const place = day.calls;
      if ((await day.before) + place <= maxCallsPerDay) return true;
    }
    if (!day.isTold) {
      day.isTold = true;
      onSpent();
    }
    return false;
  }

  #today(now: number) {
    const beganAt = now - (now % dayMs);
    if (this.#day?.beganAt === beganAt) return this.#day;
    const before = this.#written(new Date(beganAt), maxCallsPerDay);
    const day = { beganAt, before, calls: 0, isTold: false };
    this.#day = day;
    // It is counted anew for the next call.
    before.catch(() => (this.#day = this.#day === day ? null : this.#day));
    return day;
  }
}
