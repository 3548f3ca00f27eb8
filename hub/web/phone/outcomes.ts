import { isEmergencyNumber } from '../../../shared/emergency-numbers.ts';
import type { Words } from './words/english.ts';

/** How a call ended. Each outcome is the key of a text of the page. */
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

/** How the SIP library reports the end of a call. */
export interface CallEnd {
  originator: string;
  cause: string;
  /** Status code of the final SIP response, if there was one. */
  status?: number | undefined;
  reason?: string | undefined;
}

/** Outcomes of refusals by the hub itself, by the reason phrase of the SIP response. */
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

/** Outcome of a call that was never answered. */
export function outcomeOf({ originator, cause, status, reason = '' }: CallEnd): Outcome {
  if (originator === 'local' && cause === 'Canceled') return 'cancelled';
  return refusals[reason] ?? statuses[status ?? 0] ?? causes[cause] ?? 'callFailed';
}

/** Outcome of an incoming call not answered here. @param reasonHeader the `Reason` header (RFC 3326) of the CANCEL. */
export function outcomeOfIncoming(end: CallEnd, isDeclined: boolean, reasonHeader = ''): Outcome {
  const status = Number(/cause\s*=\s*([0-9]{3})/i.exec(reasonHeader)?.[1] ?? 0);
  if (status === 200) return 'answeredElsewhere';
  // A status of 600 or more means that the user declined the call on another phone.
  return isDeclined || status >= 600 ? 'youDeclined' : outcomeOf(end);
}

/** Outcome of a call that was answered. */
export function outcomeOfAnswered(cause: string): Outcome {
  const outcome = causes[cause];
  return outcome === 'connectionLost' ? 'connectionBroken' : (outcome ?? 'callOver');
}

/**
 * The outcome that the page shows for an unanswered call. After a failed emergency call the page always tells the user
 * to use another phone, whatever the cause was.
 */
export const shownOutcome = (outcome: Outcome, called: string | null): Outcome =>
  outcome !== 'cancelled' && called !== null && isEmergencyNumber(called) ? 'emergencyNotPossible' : outcome;
