import { allowedMethods, headerOf, parseAddress } from '../sip/index.ts';
import type { SipAnswer, SipRequest } from '../sip/index.ts';

/** A call that came to a trunk and found nobody. */
export interface MissedCall {
  tenantId: string;
  /** What the carrier calls it: its Call-ID. */
  callSid: string;
  fromId: string | null;
  toId: string | null;
  at: Date;
}

const maxIdLength = 200;

/** Whether it asks anew of a dialog that there is: here is none. */
const isInDialog = (request: SipRequest) => parseAddress(headerOf(request, 'to') ?? '').parameters.has('tag');

/** Answers what a carrier asks; a call is told, once, before it is refused. */
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
  const callSid = shownText(headerOf(request, 'call-id') ?? '');
  if (callSid === null) return { status: 400, reason: 'Bad Request' };
  await onCall({
    callSid,
    fromId: partyOf(headerOf(request, 'from')),
    toId: partyOf(headerOf(request, 'to')),
    at: new Date(),
  });
  return { status: 480, reason: 'Temporarily Unavailable' };
}

/** A number where the address is one, else the address. */
function partyOf(value: string | undefined): string | null {
  if (value === undefined) return null;
  const { uri } = parseAddress(value);
  const user = /^(?:sips?|tel):([^@;?]*)/i.exec(uri)?.[1] ?? '';
  return shownText(/^\+?[0-9]{1,15}$/.test(user) ? user : uri);
}

const shownText = (text: string): string | null => {
  const shown = text
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .slice(0, maxIdLength)
    .toWellFormed();
  return shown === '' ? null : shown;
};
