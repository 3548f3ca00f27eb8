import { isEmergencyNumber } from '../../../shared/emergency-numbers.ts';
import type { Words } from './words/english.ts';

/** How a call came to its end, by the word of the page for it. */
export type Outcome = Extract<
  keyof Words,
  | 'callOver'
  | 'connectionBroken'
  | 'cancelled'
  | 'declined'
  | 'youDeclined'
  | 'answeredElsewhere'
  | 'busy'
  | 'noAnswer'
  | 'notReachable'
  | 'noSuchNumber'
  | 'noWayToNumbers'
  | 'numberNotAllowed'
  | 'emergencyNotPossible'
  | 'tooManyCalls'
  | 'minutesUsedUp'
  | 'connectionLost'
  | 'noCommonSound'
  | 'microphoneNeeded'
  | 'callFailed'
>;

/** What a SIP library tells of the end of a call. */
export interface CallEnd {
  originator: string;
  cause: string;
  /** The final answer, where there was one. */
  status?: number | undefined;
  reason?: string | undefined;
}

/** Refusals of the hub's own, by what it writes into them. */
const refusals: Readonly<Record<string, Outcome>> = {
  'Emergency Calls Not Possible Here': 'emergencyNotPossible',
  'No Way To Numbers': 'noWayToNumbers',
  'Number Not Allowed': 'numberNotAllowed',
  'Address Not Allowed': 'numberNotAllowed',
  'Too Many Calls At Once': 'tooManyCalls',
  'Too Many Calls': 'tooManyCalls',
  'Minutes Of The Day Used Up': 'minutesUsedUp',
};

const statuses: Readonly<Record<number, Outcome>> = {
  403: 'declined',
  404: 'noSuchNumber',
  408: 'noAnswer',
  410: 'noSuchNumber',
  480: 'notReachable',
  484: 'noSuchNumber',
  486: 'busy',
  487: 'cancelled',
  488: 'noCommonSound',
  600: 'busy',
  603: 'declined',
  604: 'noSuchNumber',
  606: 'noCommonSound',
};

const causes: Readonly<Record<string, Outcome>> = {
  Canceled: 'cancelled',
  Rejected: 'declined',
  'No Answer': 'noAnswer',
  Expires: 'noAnswer',
  'Request Timeout': 'connectionLost',
  'Connection Error': 'connectionLost',
  'Dialog Error': 'connectionLost',
  'WebRTC Error': 'noCommonSound',
  'Bad Media Description': 'noCommonSound',
  'Incompatible SDP': 'noCommonSound',
  'Missing SDP': 'noCommonSound',
  'User Denied Media Access': 'microphoneNeeded',
};

/** What a call that was never answered came to. */
export function outcomeOf({ originator, cause, status, reason = '' }: CallEnd): Outcome {
  if (originator === 'local' && cause === 'Canceled') return 'cancelled';
  return refusals[reason] ?? statuses[status ?? 0] ?? causes[cause] ?? 'callFailed';
}

/** What a call that came and was not taken here came to. @param reasonHeader the `Reason` (RFC 3326) by which it was. */
export function outcomeOfIncoming(end: CallEnd, isDeclined: boolean, reasonHeader = ''): Outcome {
  const status = Number(/cause\s*=\s*([0-9]{3})/i.exec(reasonHeader)?.[1] ?? 0);
  if (status === 200) return 'answeredElsewhere';
  // Declined at another phone of the same person, too.
  return isDeclined || status >= 600 ? 'youDeclined' : outcomeOf(end);
}

/** What a call that was answered came to. */
export function outcomeOfAnswered(cause: string): Outcome {
  const outcome = causes[cause];
  return outcome === 'connectionLost' ? 'connectionBroken' : (outcome ?? 'callOver');
}

/** What is said of a call that nobody answered: whoever is in distress hears of another phone, whatever went wrong. */
export const shownOutcome = (outcome: Outcome, called: string | null): Outcome =>
  outcome !== 'cancelled' && called !== null && isEmergencyNumber(called) ? 'emergencyNotPossible' : outcome;
