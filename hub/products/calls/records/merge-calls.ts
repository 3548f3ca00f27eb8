import type { CallDirection, CallProvider } from '../../../../shared/contract/calls/records.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newIdAt } from '../../../platform/ids.ts';

export const ranks = { queued: 0, ringing: 1, in_progress: 2, ended: 3 } as const;

/** The state of a call at one time as its carrier reports it. Null means not reported. */
export interface CallEvent {
  provider: CallProvider;
  callSid: string;
  direction: CallDirection | null;
  fromId: string | null;
  toId: string | null;
  rank: (typeof ranks)[keyof typeof ranks];
  /** Sequence number of the event within the call. 0 if the carrier does not number events. */
  sequence: number;
  at: Date;
  /** How the call ended. `completed` counts as answered if the call was ever answered, otherwise as not taken. */
  outcome: 'answered' | 'completed' | 'not_taken' | 'busy' | 'failed' | null;
  reason: string | null;
  sipCode: number | null;
  hangupBy: 'caller' | 'callee' | null;
  /** Talk time as the carrier measured it. */
  reportedSecs: number | null;
  /** The start of the call, or any later time if the start is unknown (see `beganAt`). */
  startedAt: Date;
  answeredAt: Date | null;
  endedAt: Date | null;
  machine: boolean;
  mosScore: number | null;
}

const detailColumns = ['outcome', 'reason', 'sip_code', 'hangup_by', 'reported_secs'];
const leastColumns = ['direction', 'from_id', 'to_id', 'started_at', 'answered_at', 'mos_score'];
const latestColumns = ['rank', 'sequence', 'at', 'tie', ...detailColumns];

const wins =
  '(excluded.rank, excluded.sequence, excluded.at, excluded.tie) > (calls.rank, calls.sequence, calls.at, calls.tie)';
// The end of a call that was closed for silence was an estimate, so a real end replaces it.
const mergedEnd =
  'CASE WHEN calls.rank = 3 AND calls.sequence = -1 AND excluded.rank = 3 THEN excluded.ended_at ELSE greatest(calls.ended_at, excluded.ended_at) END';

/** One statement text for any number of events, because a statement name has one text. */
const mergeStatement = `INSERT INTO calls (id, tenant_id, provider, call_sid, ${leastColumns.join(', ')}, ${latestColumns.join(', ')}, ended_at, machine)
  SELECT e.id, t.id, e.provider, e.call_sid, ${leastColumns.map((name) => `e.${name}`).join(', ')}, ${latestColumns.map((name) => `e.${name}`).join(', ')}, e.ended_at, e.machine
  FROM tenants t, jsonb_to_recordset($2::jsonb) AS e (id uuid, provider text, call_sid text, direction text, from_id text, to_id text, rank integer,
    sequence integer, at timestamptz, tie text, outcome text, reason text, sip_code integer, hangup_by text, reported_secs integer, started_at timestamptz,
    answered_at timestamptz, ended_at timestamptz, machine boolean, mos_score double precision)
  WHERE t.id = $1 ORDER BY e.provider, e.call_sid
  ON CONFLICT (tenant_id, provider, call_sid) DO UPDATE SET
    ${leastColumns.map((name) => `${name} = least(calls.${name}, excluded.${name})`).join(', ')},
    ${latestColumns.map((name) => `${name} = CASE WHEN ${wins} THEN excluded.${name} ELSE calls.${name} END`).join(', ')},
    ended_at = ${mergedEnd}, machine = calls.machine OR excluded.machine, last_event_at = now()
  WHERE ${wins} OR (excluded.machine AND NOT calls.machine) OR calls.ended_at IS DISTINCT FROM ${mergedEnd}
    OR ${leastColumns.map((name) => `calls.${name} IS DISTINCT FROM least(calls.${name}, excluded.${name})`).join(' OR ')}`;

/**
 * The earliest time that an event implies for the start of a call.
 * An event without a start carries its own time, which may be long after the start. The result is never later than the
 * answer or the end.
 */
export function beganAt({ startedAt, answeredAt, endedAt, reportedSecs }: CallEvent): Date {
  const times = [startedAt.getTime()];
  if (answeredAt !== null) times.push(answeredAt.getTime());
  if (endedAt !== null) times.push(endedAt.getTime() - (reportedSecs ?? 0) * 1000);
  return new Date(Math.min(...times));
}

/** Orders events with equal rank, sequence and time, so that the result does not depend on arrival order. */
const tieOf = (event: CallEvent) =>
  [event.outcome, event.reason, event.sipCode, event.hangupBy, event.reportedSecs].map((each) => each ?? '').join('|');

const toRow = (event: CallEvent) => ({
  id: newIdAt(beganAt(event)),
  provider: event.provider,
  call_sid: event.callSid,
  direction: event.direction,
  from_id: event.fromId,
  to_id: event.toId,
  rank: event.rank,
  sequence: event.sequence,
  at: event.at,
  tie: tieOf(event),
  outcome: event.outcome,
  reason: event.reason,
  sip_code: event.sipCode,
  hangup_by: event.hangupBy,
  reported_secs: event.reportedSecs,
  started_at: beganAt(event),
  answered_at: event.answeredAt,
  ended_at: event.endedAt,
  machine: event.machine,
  mos_score: event.mosScore,
});

/**
 * Splits events into passes with at most one event per call, because one statement can update a row only once. The
 * first pass contains every call.
 */
function splitIntoPasses(events: readonly CallEvent[]): CallEvent[][] {
  const passes: CallEvent[][] = [];
  const seen = new Map<string, number>();
  for (const event of events) {
    const key = `${event.provider} ${event.callSid}`;
    const pass = seen.get(key) ?? 0;
    seen.set(key, pass + 1);
    (passes[pass] ??= []).push(event);
  }
  return passes;
}

/**
 * Merges events into the records of their calls.
 * The result does not depend on the order, repetition or concurrency of merges. An event without new information writes
 * nothing.
 * @returns the number of changed records, after all statements finish.
 */
export async function mergeCalls(tx: Transaction, tenantId: string, events: readonly CallEvent[]): Promise<number> {
  // Every process locks rows in the same order. Later passes touch only rows that the first pass locked.
  const answers = await Promise.all(
    splitIntoPasses(events).map((pass) =>
      tx.query('merge_calls', mergeStatement, [tenantId, JSON.stringify(pass.map(toRow))]),
    ),
  );
  return answers.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0);
}
