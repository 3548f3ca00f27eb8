import { allowedMethods, headerOf, parseAddress } from '../sip/index.ts';
import type { SipAnswer, SipRequest } from '../sip/index.ts';

/** A call to a trunk that was refused because no phone can receive it. */
export interface MissedCall {
  tenantId: string;
  /** Call-ID of the carrier. */
  callSid: string;
  fromId: string | null;
  toId: string | null;
  at: Date;
}

const maxIdLength = 200;

/** Whether a request belongs to an existing dialog. A trunk never has one. */
const isInDialog = (request: SipRequest) => parseAddress(headerOf(request, 'to') ?? '').parameters.has('tag');

/** Builds the response to a request of a carrier. `onCall` is called once per call, before the call is refused. */
export async function answerCarrier(
  request: SipRequest,
  onCall: (call: Omit<MissedCall, 'tenantId'>) => Promise<void>,
): Promise<SipAnswer> {
  const allow = [['Allow', allowedMethods]] as const;
  if (request.method === 'OPTIONS')
    return { status: 200, reason: 'OK', headers: [...allow, ['Accept', 'application/sdp']] };
  if (request.method === 'BYE' || (request.method === 'INVITE' && isInDialog(request)))
    return { status: 481, reason: 'Call/Transaction Does Not Exist' };
  if (request.method !== 'INVITE') return { status: 405, reason: 'Method Not Allowed', headers: allow };
  const callSid = printable(headerOf(request, 'call-id') ?? '');
  if (callSid === null) return { status: 400, reason: 'Bad Request' };
  await onCall({
    callSid,
    fromId: partyOf(headerOf(request, 'from')),
    toId: partyOf(headerOf(request, 'to')),
    at: new Date(),
  });
  return { status: 480, reason: 'Temporarily Unavailable' };
}

/** The phone number of an address, otherwise the whole address. */
function partyOf(value: string | undefined): string | null {
  if (value === undefined) return null;
  const { uri } = parseAddress(value);
  const user = /^(?:sips?|tel):([^@;?]*)/i.exec(uri)?.[1] ?? '';
  return printable(/^\+?[0-9]{1,15}$/.test(user) ? user : uri);
}

const printable = (text: string): string | null => {
  const kept = text
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .slice(0, maxIdLength)
    .toWellFormed();
  return kept === '' ? null : kept;
};
