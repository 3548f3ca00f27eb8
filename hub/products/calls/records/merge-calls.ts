import type { CallDirection, CallProvider } from '../../../../shared/contract/calls/records.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newIdAt } from '../../../platform/ids.ts';

export const ranks = { queued: 0, ringing: 1, in_progress: 2, ended: 3 } as const;

/** What a carrier says of a call at one time; null is what it does not say. */
export interface CallEvent {
  provider: CallProvider;
  callSid: string;
  direction: CallDirection | null;
  fromId: string | null;
  toId: string | null;
  rank: (typeof ranks)[keyof typeof ranks];
  /** Its place among the events of the call, where the carrier numbers them; else 0. */
  sequence: number;
  at: Date;
  /** How it ended: `completed` is `answered` where it ever was, and else was given up. */
  outcome: 'answered' | 'completed' | 'not_taken' | 'busy' | 'failed' | null;
  reason: string | null;
  sipCode: number | null;
  hangupBy: 'caller' | 'callee' | null;
  /** How long was talked, as the carrier measured it. */
  reportedSecs: number | null;
  /** The start, else a time that it was not after (`beganAt`). */
  startedAt: Date;
  answeredAt: Date | null;
  endedAt: Date | null;
  machine: boolean;
  mosScore: number | null;
}

const told = ['outcome', 'reason', 'sip_code', 'hangup_by', 'reported_secs'];
const leasts = ['direction', 'from_id', 'to_id', 'started_at', 'answered_at', 'mos_score'];
const standing = ['rank', 'sequence', 'at', 'tie', ...told];

const wins =
  '(excluded.rank, excluded.sequence, excluded.at, excluded.tie) > (calls.rank, calls.sequence, calls.at, calls.tie)';
// Where it was closed for being silent, its end was a guess.
const shownEnd =
  'CASE WHEN calls.rank = 3 AND calls.sequence = -1 AND excluded.rank = 3 THEN excluded.ended_at ELSE greatest(calls.ended_at, excluded.ended_at) END';

/** The name goes with the text, which is the same for any number of events. */
const mergeStatement = `INSERT INTO calls (id, tenant_id, provider, call_sid, ${leasts.join(', ')}, ${standing.join(', ')}, ended_at, machine)
  SELECT e.id, t.id, e.provider, e.call_sid, ${leasts.map((name) => `e.${name}`).join(', ')}, ${standing.map((name) => `e.${name}`).join(', ')}, e.ended_at, e.machine
  FROM tenants t, jsonb_to_recordset($2::jsonb) AS e (id uuid, provider text, call_sid text, direction text, from_id text, to_id text, rank integer,
    sequence integer, at timestamptz, tie text, outcome text, reason text, sip_code integer, hangup_by text, reported_secs integer, started_at timestamptz,
    answered_at timestamptz, ended_at timestamptz, machine boolean, mos_score double precision)
  WHERE t.id = $1 ORDER BY e.provider, e.call_sid
  ON CONFLICT (tenant_id, provider, call_sid) DO UPDATE SET
    ${leasts.map((name) => `${name} = least(calls.${name}, excluded.${name})`).join(', ')},
    ${standing.map((name) => `${name} = CASE WHEN ${wins} THEN excluded.${name} ELSE calls.${name} END`).join(', ')},
    ended_at = ${shownEnd}, machine = calls.machine OR excluded.machine, heard_at = now()
  WHERE ${wins} OR (excluded.machine AND NOT calls.machine) OR calls.ended_at IS DISTINCT FROM ${shownEnd}
    OR ${leasts.map((name) => `calls.${name} IS DISTINCT FROM least(calls.${name}, excluded.${name})`).join(' OR ')}`;

/**
 * When a call began at the latest, by an event: an event that only says the end comes long after the start, and whoever says no start
 * says when the event was. Nothing is answered, or ends, before it begins.
 */
export function beganAt({ startedAt, answeredAt, endedAt, reportedSecs }: CallEvent): Date {
  const times = [startedAt.getTime()];
  if (answeredAt !== null) times.push(answeredAt.getTime());
  if (endedAt !== null) times.push(endedAt.getTime() - (reportedSecs ?? 0) * 1000);
  return new Date(Math.min(...times));
}

/** Says of events that stand at the same time which one counts, whichever comes first. */
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

/** Events in turns that have each call once, since a statement writes a row once: the first turn has every call. */
function turnsOf(events: readonly CallEvent[]): CallEvent[][] {
  const turns: CallEvent[][] = [];
  const seen = new Map<string, number>();
  for (const event of events) {
    const key = `${event.provider} ${event.callSid}`;
    const turn = seen.get(key) ?? 0;
    seen.set(key, turn + 1);
    (turns[turn] ??= []).push(event);
  }
  return turns;
}

/**
 * Merges events into the records of their calls. The records come out the same in whatever order, how often and by how many processes events
 * are merged; what brings nothing new writes nothing.
 * @returns how many records changed; to be waited for once the statements are sent.
 */
export async function mergeCalls(tx: Transaction, tenantId: string, events: readonly CallEvent[]): Promise<number> {
  // Rows are locked in one order by all: those of later turns are locked already.
  const answers = await Promise.all(
    turnsOf(events).map((turn) => tx.query('merge_calls', mergeStatement, [tenantId, JSON.stringify(turn.map(toRow))])),
  );
  return answers.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0);
}
