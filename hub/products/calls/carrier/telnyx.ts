import { ranks } from '../records/index.ts';
import type { CallEvent } from '../records/index.ts';
import { callSidLength, directionOf, mosOf, objectOf, textOf, timeOf, integerBetween } from './fields.ts';

const outcomes: Record<string, CallEvent['outcome']> = {
  normal_clearing: 'completed',
  time_limit: 'completed',
  user_busy: 'busy',
  originator_cancel: 'not_taken',
  call_rejected: 'not_taken',
  no_answer: 'not_taken',
  no_user_response: 'not_taken',
  timeout: 'not_taken',
};

/** Reads an event. Returns null if it does not report the state of a call. */
export function readTelnyxEvent(body: unknown): CallEvent | null {
  const data = objectOf(objectOf(body)['data']);
  const payload = objectOf(data['payload']);
  const type = textOf(data['event_type'], 100) ?? '';
  // A leg keeps its id from its first event to its last.
  const callSid = textOf(payload['call_leg_id'], callSidLength) ?? textOf(payload['call_control_id'], callSidLength);
  const at = timeOf(data['occurred_at']);
  const rank = rankOf(type);
  if (callSid === null || at === null || rank === null) return null;
  const isOver = rank === ranks.ended;
  const cause = textOf(payload['hangup_cause'], 200);
  const source = payload['hangup_source'];
  const quality = objectOf(payload['call_quality_stats']);
  const scores = [quality['inbound'], quality['outbound']].map((side) => mosOf(objectOf(side)['mos']));
  const measured = scores.filter((score) => score !== null);
  return {
    provider: 'telnyx',
    callSid,
    direction: directionOf(payload['direction']),
    fromId: textOf(payload['from'], 200),
    toId: textOf(payload['to'], 200),
    rank,
    sequence: 0,
    at,
    outcome: isOver ? (Object.hasOwn(outcomes, cause ?? '') ? (outcomes[cause ?? ''] ?? null) : 'failed') : null,
    reason: isOver && cause !== 'normal_clearing' ? cause : null,
    sipCode: isOver ? integerBetween(payload['sip_hangup_cause'], 100, 699) : null,
    hangupBy: isOver && (source === 'caller' || source === 'callee') ? source : null,
    reportedSecs: null,
    startedAt: timeOf(payload['start_time']) ?? at,
    answeredAt: type === 'call.answered' ? at : null,
    endedAt: isOver ? (timeOf(payload['end_time']) ?? at) : null,
    machine: type.startsWith('call.machine.') && (textOf(payload['result'], 100) ?? '').startsWith('machine'),
    mosScore: measured.length === 0 ? null : Math.min(...measured),
  };
}

function rankOf(type: string): CallEvent['rank'] | null {
  if (type === 'call.initiated') return ranks.ringing;
  if (type === 'call.answered' || type === 'call.bridged' || /^call\.machine\.(premium\.)?detection\.ended$/.test(type))
    return ranks.in_progress;
  return type === 'call.hangup' ? ranks.ended : null;
}
