import { answerChallenge, chooseChallenge } from './digest.ts';
import type { SipEndpoint } from './endpoint.ts';
import { challengesOf, listOf, parseAddress, secondsOf } from './header-values.ts';
import { headerOf } from './message.ts';
import type { SipHeaders, SipResponse } from './message.ts';

export interface Registration {
  /** The domain at which it registers, such as `sip.example.com`. */
  registrar: string;
  username: string;
  password: string;
  /** The address that calls are to come to, without brackets. */
  contact: string;
  /** The same for all of its life, as a UUID. */
  instanceId: string;
  callId: string;
  /** How long it shall hold; 0 takes it back. */
  expiresSeconds: number;
  /** Answers a greater number each time. */
  nextSequence: () => number;
  userAgent: string;
}

/** What the registrar said in the end. */
export type RegisterOutcome =
  | { kind: 'registered'; code: number; reason: string; expiresSeconds: number }
  | {
      kind: 'refused';
      code: number;
      reason: string;
      /** Whether user name and password are what it did not take. */
      isCredentials: boolean;
      retryAfterSeconds: number | null;
    };

/** The requests that one attempt may need: two challenges, of a proxy and a registrar, each stale twice, and one wish for a longer time. */
export const maxRegisterRequests = 8;
const maxStale = 2;
const maxExpiresSeconds = 86_400;
const maxReasonLength = 200;

/**
 * Registers once: answers challenges with the strongest digest that is offered, and a 423 with the time that it asks for. Follows no redirect.
 * @throws as `SipEndpoint.request`, where nothing final was answered.
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
        reason: shown(response.reason),
        expiresSeconds: grantedSeconds(response, registration, expiresSeconds),
      };
    const refused = (reason = response.reason, isCredentials = false): RegisterOutcome => ({
      kind: 'refused',
      code: status,
      reason: shown(reason),
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
    const [asked, answering] =
      status === 401
        ? (['www-authenticate', 'Authorization'] as const)
        : (['proxy-authenticate', 'Proxy-Authorization'] as const);
    const challenges = challengesOf(response, asked);
    const challenge = chooseChallenge(challenges);
    if (challenge === null) return refused('challenge_not_supported');
    if (answers.has(answering)) {
      const isStale = challenges.some(({ parameters }) => parameters.get('stale')?.toLowerCase() === 'true');
      if (!isStale) return refused(undefined, true);
      stale += 1;
      if (stale > maxStale) return refused('nonce_always_stale');
    }
    const { username, password } = registration;
    answers.set(answering, answerChallenge(challenge, { method: 'REGISTER', uri, username, password }));
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

/** A user name as the user of a SIP address: what RFC 3261 does not allow there is escaped. */
export const escapeUser = (username: string): string =>
  Array.from(Buffer.from(username), (byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9\-_.!~*'()&=+$,;?/]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');

/** How long the registrar says that it holds: of our binding among all that it lists, else of all of them. */
function grantedSeconds(response: SipResponse, { contact }: Registration, asked: number): number {
  const user = userOf(contact);
  const own = listOf(response, 'contact')
    .map(parseAddress)
    .find(({ uri }) => userOf(uri) === user);
  const granted = secondsOf(own?.parameters.get('expires')) ?? secondsOf(headerOf(response, 'expires')) ?? asked;
  return Math.min(granted, maxExpiresSeconds);
}

const userOf = (uri: string): string => /^sips?:([^@]*)@/i.exec(uri)?.[1] ?? uri;

/** What a stranger wrote, bounded and without what does not show. */
const shown = (reason: string): string =>
  reason
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .slice(0, maxReasonLength)
    .toWellFormed();
