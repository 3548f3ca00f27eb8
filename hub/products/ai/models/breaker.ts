/**
 * The state of a breaker, shared by all processes. Times are milliseconds of the database clock.
 * `openUntil === null` means closed, and `openUntil` in the future means open. After that time the breaker is half open
 * until its probe ends.
 * One process claims the probe with the lease `probeUntil`, so that a crashed process does not block it. `openings`
 * counts consecutive openings without an answer.
 */
export interface BreakerState {
  /** Calls of the last minute while the breaker was closed, per second. */
  recent: { at: number; calls: number; failed: number }[];
  openings: number;
  openUntil: number | null;
  /** When the breaker opened; kept while its probes fail. */
  openedAt: number | null;
  probeUntil: number | null;
  /** When the admins were last notified that the model refuses calls. */
  notifiedAt: number | null;
}

/** Results of calls of a model. */
export interface Observation {
  calls: { ageMs: number; isFailed: boolean }[];
  /** Whether a call was refused with 401. Later calls will be refused, too. */
  isUnauthorized: boolean;
  /** Whether a call was refused in a way that only an admin can fix. */
  isRefused: boolean;
  /** The result of the probe. `released` means unknown, null means that no call was a probe. */
  probe: 'answered' | 'failed' | 'released' | null;
}

export const windowMs = 60_000;
const minCalls = 5;
const firstOpenMs = 5_000;
const maxOpenMs = 60_000;
/** Minimum time between a notice and a further one when the breaker opens. */
const openingNoticeMs = 3_600_000;
/** Minimum time between notices about a refusing model whose breaker does not open. */
const repeatNoticeMs = 24 * 3_600_000;

export const closedState = (): BreakerState => ({
  recent: [],
  openings: 0,
  openUntil: null,
  openedAt: null,
  probeUntil: null,
  notifiedAt: null,
});

/** Whether the state holds no information and its row can be deleted. */
export const isForgettable = (state: BreakerState) =>
  state.openUntil === null && state.notifiedAt === null && state.recent.every(({ failed }) => failed === 0);

/** Returns the state of a breaker after an observation. */
export function observe(
  before: BreakerState,
  seen: Observation,
  now: number,
): { state: BreakerState; change: 'opened' | 'reopened' | 'closed' | null; notifies: boolean } {
  if (before.openUntil !== null) {
    switch (seen.probe) {
      case 'answered':
        return { state: closedState(), change: 'closed', notifies: false };
      case 'failed':
        return { state: openAgain(before, now), change: 'reopened', notifies: false };
      case 'released':
        return { state: { ...before, probeUntil: null }, change: null, notifies: false };
      default:
        // Calls that started before the opening give no new information.
        return { state: before, change: null, notifies: false };
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
  const opens = seen.isUnauthorized || (sum('calls') >= minCalls && sum('failed') * 2 >= sum('calls'));
  const notifies =
    seen.isRefused &&
    (before.notifiedAt === null || before.notifiedAt <= now - (opens ? openingNoticeMs : repeatNoticeMs));
  const state = { ...before, recent: [...recent.values()], notifiedAt: notifies ? now : before.notifiedAt };
  return opens ? { state: openAgain(state, now), change: 'opened', notifies } : { state, change: null, notifies };
}

function openAgain(state: BreakerState, now: number): BreakerState {
  const openings = state.openings + 1;
  const openMs = Math.min(maxOpenMs, firstOpenMs * 2 ** Math.min(openings - 1, 10));
  return {
    ...state,
    recent: [],
    openings,
    openUntil: now + openMs,
    openedAt: state.openedAt ?? now,
    probeUntil: null,
  };
}
