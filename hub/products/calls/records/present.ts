import type { CallDirection, CallRecord, CallResult, CallProvider } from '../../../../shared/contract/calls/records.ts';
import { callStates } from '../../../../shared/contract/calls/records.ts';

/** Columns read for a call. */
export interface CallRow {
  id: string;
  provider: CallProvider;
  call_sid: string;
  direction: CallDirection | null;
  from_id: string | null;
  to_id: string | null;
  from_name: string | null;
  to_name: string | null;
  rank: number;
  result: CallResult | null;
  reason: string | null;
  sip_code: number | null;
  hangup_by: 'caller' | 'callee' | null;
  started_at: Date;
  answered_at: Date | null;
  ended_at: Date | null;
  last_event_at: Date;
  duration_secs: number;
  mos_score: number | null;
}

/**
 * SQL for the name of the member whose SIP user (`personUsername`) is in a column of `calls`. Null for other values.
 */
const memberNameIn = (column: 'from_id' | 'to_id') =>
  `CASE WHEN calls.${column} LIKE '%w________________-%' THEN (SELECT coalesce(u.display_name, u.email) FROM users u
     WHERE u.tenant_id = calls.tenant_id AND u.id = (substring(calls.${column} FROM '^(?:sips?:)?w[0-9a-f]{16}-([0-9a-f]{32})(?:@.*)?$'))::uuid
       AND substring(calls.${column} FROM '^(?:sips?:)?w([0-9a-f]{16})-') = left(encode(sha256(calls.tenant_id::text::bytea), 'hex'), 16)) END`;

export const callColumns = `id, provider, call_sid, direction, from_id, to_id, ${memberNameIn('from_id')} AS from_name, ${memberNameIn('to_id')} AS to_name,
  rank, result, reason, sip_code, hangup_by, started_at, answered_at, ended_at, last_event_at, duration_secs, mos_score`;

/** The public form of a call. The database function `call_json` builds the same form for live streams. */
export function presentCall(row: CallRow): CallRecord {
  // Without a reported end, use the time of the last event.
  const endedAt = row.rank === 3 ? (row.ended_at ?? row.last_event_at) : null;
  // Some carriers report only the talk time. The answer time follows from it.
  const answeredAt =
    row.answered_at ??
    (row.result === 'answered' && endedAt !== null ? new Date(endedAt.getTime() - row.duration_secs * 1000) : null);
  const ringEnd = answeredAt ?? endedAt;
  return {
    id: row.id,
    provider: row.provider,
    callSid: row.call_sid,
    direction: row.direction,
    fromId: row.from_id,
    toId: row.to_id,
    fromName: row.from_name,
    toName: row.to_name,
    state: callStates[row.rank] ?? 'ended',
    result: row.result,
    reason: row.reason,
    startedAt: row.started_at.toISOString(),
    answeredAt: answeredAt?.toISOString() ?? null,
    endedAt: endedAt?.toISOString() ?? null,
    durationSecs: row.duration_secs,
    ringSecs: ringEnd === null ? null : Math.max(0, Math.round((ringEnd.getTime() - row.started_at.getTime()) / 1000)),
    hangupBy: row.hangup_by,
    sipCode: row.sip_code,
    mosScore: row.mos_score,
  };
}
