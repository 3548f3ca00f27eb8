import { z } from 'zod';
import { callDirections, callResults } from '../../../../shared/contract/calls/records.ts';
import { parsePart } from '../../../platform/http/routing/errors.ts';
import { callTimeRule, ranks } from '../records/index.ts';
import type { CallEvent } from '../records/index.ts';
import { callSidLength, mosOf, textOf, timeOf } from './fields.ts';

const time = z.unknown().transform((value, context) => {
  const at = timeOf(value);
  if (at === null)
    context.addIssue(
      value === undefined ? 'is required' : `must be ISO 8601, or seconds since 1970; it ${callTimeRule}`,
    );
  return at ?? z.NEVER;
});
const textField = (maxLength: number) => {
  const rule = `must be text of 1 to ${maxLength} characters`;
  return z.string(rule).refine((value) => textOf(value, maxLength) !== null, rule);
};
const wholeNumber = (least: number, most: number) => {
  const rule = `must be a whole number from ${least} to ${most.toLocaleString('en')}`;
  return z.int(rule).min(least, rule).max(most, rule);
};
const oneOf = <const Name extends string>(names: readonly Name[]) =>
  z.enum(names, `must be one of ${names.join(', ')}`);

/**
 * Message format of the operator's Kamailio. Outrigger defines it, so invalid fields are errors. Unknown fields are
 * ignored.
 */
const message = z.object(
  {
    callId: textField(callSidLength),
    event: oneOf(['queued', 'ringing', 'answered', 'ended', 'quality']),
    at: time,
    sequence: wholeNumber(0, 1_000_000).default(0),
    direction: oneOf(callDirections).nullish(),
    from: textField(200).nullish(),
    to: textField(200).nullish(),
    startedAt: time.nullish(),
    answeredAt: time.nullish(),
    endedAt: time.nullish(),
    durationSecs: wholeNumber(0, 10_000_000).nullish(),
    result: oneOf(callResults).nullish(),
    sipCode: wholeNumber(100, 699).nullish(),
    reason: textField(200).nullish(),
    hangupBy: oneOf(['caller', 'callee']).nullish(),
    mosScore: z
      .unknown()
      .optional()
      .transform((value, context) => {
        const score = mosOf(value);
        if (score === null && value !== undefined && value !== null) context.addIssue('must be a number from 1 to 5');
        return score;
      }),
  },
  'must be an object',
);

const rankOf = {
  queued: ranks.queued,
  quality: ranks.queued,
  ringing: ranks.ringing,
  answered: ranks.in_progress,
  ended: ranks.ended,
};

/** Reads a message. @throws AppError `validation_failed` that names each invalid field. */
export function readKamailioEvent(body: unknown): CallEvent {
  const data = parsePart('body', message, body);
  const rank = rankOf[data.event];
  const isOver = rank === ranks.ended;
  return {
    provider: 'kamailio',
    callSid: data.callId,
    direction: data.direction ?? null,
    fromId: data.from ?? null,
    toId: data.to ?? null,
    rank,
    sequence: data.sequence,
    at: data.at,
    outcome: isOver ? outcomeOf(data) : null,
    reason: isOver ? (data.reason ?? null) : null,
    sipCode: isOver ? (data.sipCode ?? null) : null,
    hangupBy: isOver ? (data.hangupBy ?? null) : null,
    reportedSecs: isOver ? (data.durationSecs ?? null) : null,
    startedAt: data.startedAt ?? data.at,
    answeredAt: data.answeredAt ?? (data.event === 'answered' ? data.at : null),
    endedAt: isOver ? (data.endedAt ?? data.at) : null,
    machine: data.result === 'voicemail',
    mosScore: data.mosScore ?? null,
  };
}

/** The outcome from the reported result, otherwise from the final SIP status. */
function outcomeOf({ result, sipCode }: z.output<typeof message>): CallEvent['outcome'] {
  if (result === 'answered' || result === 'busy' || result === 'failed') return result;
  if (result === 'missed' || result === 'cancelled') return 'not_taken';
  if (result === 'voicemail' || sipCode === null || sipCode === undefined || sipCode < 300) return 'completed';
  if (sipCode === 486 || sipCode === 600) return 'busy';
  return [408, 480, 487, 603].includes(sipCode) ? 'not_taken' : 'failed';
}
