/**
 * What is known of how a model fares, shared by all processes. Times are milliseconds of the database's clock.
 *
 * Invariants: closed is `openUntil === null`; open is `openUntil` in the future; from then on it is half open, until the probe that one process claimed
 * (`probeUntil`, a lease, so that one which died holds nobody up) has ended. `openings` counts in a row, without an answer between them.
 */
export interface BreakerState {
  /** Calls of the last minute while it was closed, summed up by the second. */
  recent: { at: number; calls: number; failed: number }[];
  openings: number;
  openUntil: number | null;
  probeUntil: number | null;
  /** When the admins were told last that the model refuses its calls. */
  toldAt: number | null;
}

/** What calls of a model came to. */
export interface Observation {
  calls: { ageMs: number; isFailed: boolean }[];
  /** Whether one of them was refused with 401: no call after it will fare better. */
  isUnauthorised: boolean;
  /** Whether one of them was refused in a way that only an admin can mend. */
  isRefused: boolean;
  /** What came of the probe, if it was one; `released` when nobody knows. */
  probe: 'answered' | 'failed' | 'released' | null;
}

export const windowMs = 60_000;
const leastCalls = 5;
const firstOpenMs = 5_000;
const maxOpenMs = 60_000;
/** Admins that were told of a model are told again when its breaker opens, but not of what they heard just now; */
const tellOfOpeningMs = 3_600_000;
/** and when it goes on being refused, without that. */
const tellAgainMs = 24 * 3_600_000;

export const closedState = (): BreakerState => ({
  recent: [],
  openings: 0,
  openUntil: null,
  probeUntil: null,
  toldAt: null,
});

/** Whether nothing is left that would have to be remembered. */
export const isForgettable = (state: BreakerState) =>
  state.openUntil === null && state.toldAt === null && state.recent.every(({ failed }) => failed === 0);

/** What a breaker comes to with what was seen. */
export function observe(
  before: BreakerState,
  seen: Observation,
  now: number,
): { state: BreakerState; change: 'opened' | 'reopened' | 'closed' | null; tells: boolean } {
  if (before.openUntil !== null) {
    switch (seen.probe) {
      case 'answered':
        return { state: closedState(), change: 'closed', tells: false };
      case 'failed':
        return { state: openAgain(before, now), change: 'reopened', tells: false };
      case 'released':
        return { state: { ...before, probeUntil: null }, change: null, tells: false };
      default:
        // Calls that were under way when it opened say nothing new.
        return { state: before, change: null, tells: false };
    }
  }
  const recent = new Map(
    before.recent.filter(({ at }) => at > now - windowMs && at <= now).map((second) => [second.at, { ...second }]),
  );
  for (const { ageMs, isFailed } of seen.calls) {
    if (ageMs >= windowMs) continue;
    const at = Math.floor((now - ageMs) / 1000) * 1000;
    const second = recent.get(at) ?? { at, calls: 0, failed: 0 };
    second.calls += 1;
    second.failed += isFailed ? 1 : 0;
    recent.set(at, second);
  }
  const sum = (count: 'calls' | 'failed') => [...recent.values()].reduce((total, second) => total + second[count], 0);
  const opens = seen.isUnauthorised || (sum('calls') >= leastCalls && sum('failed') * 2 >= sum('calls'));
  const tells =
    seen.isRefused && (before.toldAt === null || before.toldAt <= now - (opens ? tellOfOpeningMs : tellAgainMs));
  const state = { ...before, recent: [...recent.values()], toldAt: tells ? now : before.toldAt };
  return opens ? { state: openAgain(state, now), change: 'opened', tells } : { state, change: null, tells };
}

function openAgain(state: BreakerState, now: number): BreakerState {
  const openings = state.openings + 1;
  const openMs = Math.min(maxOpenMs, firstOpenMs * 2 ** Math.min(openings - 1, 10));
  return { ...state, recent: [], openings, openUntil: now + openMs, probeUntil: null };
}
