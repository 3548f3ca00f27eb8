import type { Clock } from '../../../platform/clock.ts';

/** Recorded calls per trunk. Real carriers stay below these limits, which protect the database from floods. */
export const maxCallsPerSecond = 10;
export const maxCallsPerDay = 5_000;

const dayMs = 86_400_000;

/** Limits the recorded calls of a trunk, including calls that other processes recorded. */
export class CallBudget {
  readonly #clock: Clock;
  readonly #countRecorded: (since: Date, limit: number) => Promise<number>;
  readonly #second = { startedAt: -Infinity, calls: 0 };
  /** Counters of the current day in UTC. */
  #day: { startedAt: number; recordedBefore: Promise<number>; calls: number; isReported: boolean } | null = null;

  /** @param countRecorded counts the calls recorded since a time, up to a limit. */
  constructor(clock: Clock, countRecorded: (since: Date, limit: number) => Promise<number>) {
    this.#clock = clock;
    this.#countRecorded = countRecorded;
  }

  /**
   * Whether one more call may be recorded.
   * @param onSpent called at the first refusal of a day.
   * @throws the error of `countRecorded`.
   */
  async take(onSpent: () => void): Promise<boolean> {
    const now = this.#clock.now();
    if (now - this.#second.startedAt >= 1_000) Object.assign(this.#second, { startedAt: now, calls: 0 });
    const day = this.#today(now);
    if (this.#second.calls < maxCallsPerSecond && day.calls < maxCallsPerDay) {
      this.#second.calls += 1;
      day.calls += 1;
      const number = day.calls;
      if ((await day.recordedBefore) + number <= maxCallsPerDay) return true;
    }
    if (!day.isReported) {
      day.isReported = true;
      onSpent();
    }
    return false;
  }

  #today(now: number) {
    const startedAt = now - (now % dayMs);
    if (this.#day?.startedAt === startedAt) return this.#day;
    const recordedBefore = this.#countRecorded(new Date(startedAt), maxCallsPerDay);
    const day = { startedAt, recordedBefore, calls: 0, isReported: false };
    this.#day = day;
    // After a failure, the next call counts again.
    recordedBefore.catch(() => (this.#day = this.#day === day ? null : this.#day));
    return day;
  }
}
