import { ranks } from '../records/index.ts';
import type { CallEvent } from '../records/index.ts';
import { callSidLength, directionOf, textOf, timeOf, integerBetween } from './fields.ts';

/** States of a call as named by Twilio, in callbacks and in its list. */
const states: Record<string, Pick<CallEvent, 'rank' | 'outcome'>> = {
  queued: { rank: ranks.queued, outcome: null },
  initiated: { rank: ranks.queued, outcome: null },
  ringing: { rank: ranks.ringing, outcome: null },
  'in-progress': { rank: ranks.in_progress, outcome: null },
  completed: { rank: ranks.ended, outcome: 'answered' },
  'no-answer': { rank: ranks.ended, outcome: 'not_taken' },
  canceled: { rank: ranks.ended, outcome: 'not_taken' },
  busy: { rank: ranks.ended, outcome: 'busy' },
  failed: { rank: ranks.ended, outcome: 'failed' },
};

/** Time of events without a timestamp. It precedes every real time, so a repeated event changes nothing. */
const untimed = new Date(0);

/** Reads a status callback. Returns null if it does not concern a call. @param now used for an event without a time. */
export function readTwilioEvent(fields: Record<string, unknown>, now: Date): CallEvent | null {
  const callSid = textOf(fields['CallSid'], callSidLength);
  const status = textOf(fields['CallStatus'], 50) ?? '';
  const state = Object.hasOwn(states, status) ? states[status] : undefined;
  if (callSid === null || state === undefined) return null;
  const at = timeOf(fields['Timestamp']);
  const isOver = state.rank === ranks.ended;
  const seconds = integerBetween(fields['CallDuration'], 0, 10_000_000);
  const talked = state.outcome === 'answered' ? seconds : null;
  return {
    provider: 'twilio',
    callSid,
    direction: directionOf(fields['Direction']),
    fromId: textOf(fields['From'], 200),
    toId: textOf(fields['To'], 200),
    ...state,
    sequence: integerBetween(fields['SequenceNumber'], 0, 1_000_000) ?? 0,
    at: at ?? untimed,
    reason: isOver && state.outcome !== 'answered' ? status : null,
    sipCode: integerBetween(fields['SipResponseCode'], 100, 699),
    hangupBy: null,
    reportedSecs: talked,
    startedAt: new Date((at ?? now).getTime() - (isOver ? (seconds ?? 0) * 1000 : 0)),
    answeredAt: state.rank === ranks.in_progress ? at : null,
    endedAt: isOver ? at : null,
    machine: (textOf(fields['AnsweredBy'], 50) ?? '').startsWith('machine'),
    mosScore: null,
  };
}

/** Reads a call from the list of Twilio. Returns null if the call has not ended. */
export function readTwilioCall(call: Record<string, unknown>): CallEvent | null {
  const event = readTwilioEvent(
    {
      CallSid: call['sid'],
      CallStatus: call['status'],
      Direction: call['direction'],
      From: call['from'],
      To: call['to'],
      CallDuration: call['duration'],
      AnsweredBy: call['answered_by'],
      Timestamp: call['end_time'],
    },
    untimed,
  );
  if (event === null || event.rank !== ranks.ended || event.endedAt === null) return null;
  return { ...event, startedAt: timeOf(call['start_time']) ?? event.startedAt };
}
