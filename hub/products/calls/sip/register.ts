import { answerChallenge, chooseChallenge } from './digest.ts';
import type { SipEndpoint } from './endpoint.ts';
import { challengesOf, listOf, parseAddress, secondsOf } from './header-values.ts';
import { headerOf } from './message.ts';
import type { SipHeaders, SipResponse } from './message.ts';

export interface Registration {
  /** Domain of the registrar, for example `sip.example.com`. */
  registrar: string;
  username: string;
  password: string;
  /** URI that receives calls, without angle brackets. */
  contact: string;
  /** UUID of the registering instance. It never changes. */
  instanceId: string;
  callId: string;
  /** Requested lifetime of the registration. 0 removes it. */
  expiresSeconds: number;
  /** Returns a greater CSeq number on each call. */
  nextSequence: () => number;
  userAgent: string;
}

/** Final result of a registration. */
export type RegisterOutcome =
  | { kind: 'registered'; code: number; reason: string; expiresSeconds: number }
  | {
      kind: 'refused';
      code: number;
      reason: string;
      /** Whether the registrar rejected the user name or password. */
      isCredentials: boolean;
      retryAfterSeconds: number | null;
    };

/**
 * Upper bound of requests per attempt: challenges of a proxy and a registrar, two stale nonces for each, and one longer
 * lifetime.
 */
export const maxRegisterRequests = 8;
const maxStale = 2;
const maxExpiresSeconds = 86_400;
const maxReasonLength = 200;

/**
 * Registers once. Answers challenges with the strongest supported digest, and a 423 with the requested minimum
 * lifetime. Follows no redirects.
 * @throws the errors of `SipEndpoint.request` if no final response arrives.
 */
export async function register(
  endpoint: Pick<SipEndpoint, 'request'>,
  registration: Registration,
  signal: AbortSignal,
): Promise<RegisterOutcome> {
  const uri = `sip:${registration.registrar}`;
  const answers = new Map<string, string>();
  let { expiresSeconds } = registration;
  let stale = 0;
  for (let requests = 1; ; requests += 1) {
    const headers = headersFor(registration, expiresSeconds, answers);
    const response = await endpoint.request('REGISTER', uri, headers, signal);
    const { status } = response;
    if (status < 300)
      return {
        kind: 'registered',
        code: status,
        reason: printable(response.reason),
        expiresSeconds: grantedSeconds(response, registration, expiresSeconds),
      };
    const refused = (reason = response.reason, isCredentials = false): RegisterOutcome => ({
      kind: 'refused',
      code: status,
      reason: printable(reason),
      isCredentials,
      retryAfterSeconds: secondsOf(headerOf(response, 'retry-after')),
    });
    if (requests === maxRegisterRequests) return refused();
    if (status === 423) {
      const least = secondsOf(headerOf(response, 'min-expires'));
      if (least === null || least <= expiresSeconds || least > maxExpiresSeconds) return refused();
      expiresSeconds = least;
      continue;
    }
    if (status !== 401 && status !== 407) return refused();
    const [challengeHeader, answerHeader] =
      status === 401
        ? (['www-authenticate', 'Authorization'] as const)
        : (['proxy-authenticate', 'Proxy-Authorization'] as const);
    const challenges = challengesOf(response, challengeHeader);
    const challenge = chooseChallenge(challenges);
    if (challenge === null) return refused('challenge_not_supported');
    if (answers.has(answerHeader)) {
      const isStale = challenges.some(({ parameters }) => parameters.get('stale')?.toLowerCase() === 'true');
      if (!isStale) return refused(undefined, true);
      stale += 1;
      if (stale > maxStale) return refused('nonce_always_stale');
    }
    const { username, password } = registration;
    answers.set(answerHeader, answerChallenge(challenge, { method: 'REGISTER', uri, username, password }));
  }
}

function headersFor(
  { registrar, username, contact, instanceId, callId, nextSequence, userAgent }: Registration,
  expiresSeconds: number,
  answers: ReadonlyMap<string, string>,
): SipHeaders {
  const own = `<sip:${escapeUser(username)}@${registrar}>`;
  return [
    ['From', `${own};tag=${instanceId.replaceAll('-', '').slice(-16)}`],
    ['To', own],
    ['Call-ID', callId],
    ['CSeq', `${nextSequence()} REGISTER`],
    ['Contact', `<${contact}>;+sip.instance="<urn:uuid:${instanceId}>";expires=${expiresSeconds}`],
    ['Expires', String(expiresSeconds)],
    ['Allow', allowedMethods],
    ['User-Agent', userAgent],
    ...answers,
  ];
}

export const allowedMethods = 'INVITE, ACK, CANCEL, BYE, OPTIONS';

/** Percent-encodes characters that RFC 3261 does not allow in the user part of a URI. */
export const escapeUser = (username: string): string =>
  Array.from(Buffer.from(username), (byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9\-_.!~*'()&=+$,;?/]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');

/** The granted lifetime: of the own binding if the response lists it, otherwise of the Expires header. */
function grantedSeconds(response: SipResponse, { contact }: Registration, requestedSeconds: number): number {
  const user = userOf(contact);
  const own = listOf(response, 'contact')
    .map(parseAddress)
    .find(({ uri }) => userOf(uri) === user);
  const granted =
    secondsOf(own?.parameters.get('expires')) ?? secondsOf(headerOf(response, 'expires')) ?? requestedSeconds;
  return Math.min(granted, maxExpiresSeconds);
}

const userOf = (uri: string): string => /^sips?:([^@]*)@/i.exec(uri)?.[1] ?? uri;

/** Limits the length of a received reason and removes control characters. */
const printable = (reason: string): string =>
  reason
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .slice(0, maxReasonLength)
    .toWellFormed();
