import type { Clock } from '../../../platform/clock.ts';

/** Calls of one trunk that are recorded: more than a carrier brings to a number that nobody answers, and not what would fill the database. */
export const maxCallsPerSecond = 10;
export const maxCallsPerDay = 5_000;

const dayMs = 86_400_000;

/** Bounds how many calls of a trunk are written. */
export class CallBudget {
  readonly #clock: Clock;
  readonly #second = { beganAt: -Infinity, calls: 0 };
  readonly #day = { beganAt: -Infinity, calls: 0, isTold: false };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the place of one call. @param onSpent told, once a day, that there was none. */
  take(onSpent: () => void): boolean {
    const now = this.#clock.now();
    if (now - this.#second.beganAt >= 1_000) Object.assign(this.#second, { beganAt: now, calls: 0 });
    if (now - this.#day.beganAt >= dayMs) Object.assign(this.#day, { beganAt: now, calls: 0, isTold: false });
    if (this.#second.calls < maxCallsPerSecond && this.#day.calls < maxCallsPerDay) {
      this.#second.calls += 1;
      this.#day.calls += 1;
      return true;
    }
    if (!this.#day.isTold) {
      this.#day.isTold = true;
      onSpent();
    }
    return false;
  }
}
