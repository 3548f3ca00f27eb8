import type { CallDirection, CallRecord, CallResult, CallProvider } from '../../../../shared/contract/calls/records.ts';
import { callStates } from '../../../../shared/contract/calls/records.ts';

/** What is read of a call. */
export interface CallRow {
  id: string;
  provider: CallProvider;
  call_sid: string;
  direction: CallDirection | null;
  from_id: string | null;
  to_id: string | null;
  rank: number;
  result: CallResult | null;
  reason: string | null;
  sip_code: number | null;
  hangup_by: 'caller' | 'callee' | null;
  started_at: Date;
  answered_at: Date | null;
  ended_at: Date | null;
  heard_at: Date;
  duration_secs: number;
  mos_score: number | null;
}

export const callColumns =
  'id, provider, call_sid, direction, from_id, to_id, rank, result, reason, sip_code, hangup_by, started_at, answered_at, ended_at, heard_at, duration_secs, mos_score';

/** A call as it is shown; `shown_call` of the database says the same to those who follow calls live. */
export function presentCall(row: CallRow): CallRecord {
  // Where no time was said, when it was heard.
  const endedAt = row.rank === 3 ? (row.ended_at ?? row.heard_at) : null;
  // A carrier that only says how long was talked says no less.
  const answeredAt =
    row.answered_at ??
    (row.result === 'answered' && endedAt !== null ? new Date(endedAt.getTime() - row.duration_secs * 1000) : null);
  const rangUntil = answeredAt ?? endedAt;
  return {
    id: row.id,
    provider: row.provider,
    callSid: row.call_sid,
    direction: row.direction,
    fromId: row.from_id,
    toId: row.to_id,
    state: callStates[row.rank] ?? 'ended',
    result: row.result,
    reason: row.reason,
    startedAt: row.started_at.toISOString(),
    answeredAt: answeredAt?.toISOString() ?? null,
    endedAt: endedAt?.toISOString() ?? null,
    durationSecs: row.duration_secs,
    ringSecs:
      rangUntil === null ? null : Math.max(0, Math.round((rangUntil.getTime() - row.started_at.getTime()) / 1000)),
    hangupBy: row.hangup_by,
    sipCode: row.sip_code,
    mosScore: row.mos_score,
  };
}
