/** Media counters of a call, read from the browser at one time. */
export interface Counts {
  atMs: number;
  received: number;
  lost: number;
  jitterMs: number;
  /** Null until the browser has measured it. */
  roundTripMs: number | null;
}

/** Quality of the received audio. */
export interface Quality {
  verdict: 'good' | 'fair' | 'poor' | 'silent';
  /** Mean opinion score from 1 to 4.4, estimated from delay and loss with the E-model (ITU-T G.107). */
  score: number;
  lostPercent: number;
  jitterMs: number;
  roundTripMs: number | null;
}

/** Delay that buffer, codec and sound card add to the network delay. */
const ownDelayMs = 20;

/** Quality in the interval between two readings of the counters. */
export function qualityBetween(before: Counts, after: Counts): Quality {
  const received = Math.max(0, after.received - before.received);
  const lost = Math.max(0, after.lost - before.lost);
  const share = received + lost === 0 ? 0 : lost / (received + lost);
  const delayMs = (after.roundTripMs ?? 0) / 2 + 2 * after.jitterMs + ownDelayMs;
  const score = scoreOf(delayMs, share);
  return {
    verdict: received === 0 ? 'silent' : score >= 4 ? 'good' : score >= 3.4 ? 'fair' : 'poor',
    score,
    lostPercent: Math.round(share * 1000) / 10,
    jitterMs: Math.round(after.jitterMs),
    roundTripMs: after.roundTripMs === null ? null : Math.round(after.roundTripMs),
  };
}

function scoreOf(delayMs: number, lostShare: number): number {
  const delayed = 0.024 * delayMs + (delayMs > 177.3 ? 0.11 * (delayMs - 177.3) : 0);
  const spoiled = (95 * lostShare * 100) / (lostShare * 100 + 10);
  const rating = Math.max(0, Math.min(93.2, 93.2 - delayed - spoiled));
  return Math.max(1, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6);
}
