import { isEmergencyNumber } from '../../../../shared/emergency-numbers.ts';
import { normalizeText } from '../../../platform/normalize.ts';

/** Where a person may call. */
export interface DialRules {
  domain: string;
  emergency: 'refuse' | 'route';
  /** Numbers begin with one of these, such as `+49`; none may be called where it is empty. */
  allow: readonly string[];
}

/** `isEmergency` where somebody in distress calls, whom no limit refuses. */
export type DialDecision = { dialled: string; isEmergency: boolean } & (
  | {
      kind: 'allowed';
      /** What is to be called, in the place of what was asked for. */
      uri: string;
      isCounted: boolean;
    }
  | { kind: 'refused'; reason: string }
);

/** What is called where somebody asks for help and for no number. */
const generalEmergencyNumber = '112';

const refused = (reason: string, dialled: string): DialDecision => ({
  kind: 'refused',
  reason,
  dialled,
  isEmergency: false,
});

/**
 * Decides of the address that an INVITE asks for. It is judged as it will be called: without escapes, separators and parameters, and what is allowed
 * is called by that form alone, so that no other reading of it gets somewhere else.
 * @param workspace the SIP user of the workspace, whose people may call each other.
 */
export function decideDial(uri: string, workspace: string, { domain, emergency, allow }: DialRules): DialDecision {
  const help = emergencyNumberOf(uri);
  if (help !== null)
    return emergency === 'route'
      ? { kind: 'allowed', uri: `sip:${help}@${domain}`, dialled: help, isCounted: false, isEmergency: true }
      : { kind: 'refused', reason: 'Emergency Calls Not Possible Here', dialled: help, isEmergency: true };
  const user = dialledUser(uri, domain);
  if (user === null) return refused('Address Not Allowed', uri);
  const number = toNumber(user);
  if (number !== null)
    return allow.some((prefix) => number.startsWith(prefix))
      ? { kind: 'allowed', uri: `sip:${number}@${domain}`, dialled: number, isCounted: true, isEmergency: false }
      : refused('Number Not Allowed', number);
  const name = user.toLowerCase();
  if (
    name === workspace ||
    (name.startsWith(`${workspace}-`) && /^[0-9a-f]{32}$/.test(name.slice(workspace.length + 1)))
  )
    return {
      kind: 'allowed',
      uri: `sip:${name}@${domain}`,
      dialled: name,
      isCounted: false,
      isEmergency: false,
    };
  return refused('Address Not Allowed', user);
}

/**
 * The emergency number that an address asks for, however it is written and wherever it is said to be: whoever is in distress is never told that they
 * wrote it wrongly. Null for none.
 */
function emergencyNumberOf(uri: string): string | null {
  if (/^urn:service:sos(?:\.[a-z0-9.-]*)?$/i.test(uri)) return generalEmergencyNumber;
  const written = /^(?:sips?|tel):([^@;:?]*)/i.exec(uri)?.[1];
  if (written === undefined) return null;
  const digits = normalizeText(unescape(written) ?? written, 'NFKC')
    .replaceAll(/\p{Nd}/gu, digitOf)
    .replaceAll(/[^\p{L}\d+*#]/gu, '');
  // A last # says on many phones that the number is complete.
  const number = digits
    .replace(/(?<!#)#+$/, '')
    .replace(/^\++/, '+')
    .replace(/^00(?=[1-9])/, '+');
  return isEmergencyNumber(number) ? number : null;
}

/** Digits of a script stand in a row, from that of zero; and rows may, too. */
function digitOf(digit: string): string {
  let value = 0;
  for (let code = digit.codePointAt(0) as number; /\p{Nd}/u.test(String.fromCodePoint(code - 1)); code -= 1) value += 1;
  return String(value % 10);
}

/** The user of an address at the domain, or the number of a `tel:`, unescaped; null for any other address. */
function dialledUser(uri: string, domain: string): string | null {
  const tel = /^tel:([^;?@]+)((?:;[^?]*)?)$/i.exec(uri);
  if (tel !== null) {
    const number = unescape(tel[1] as string);
    const context = /;phone-context=(\+[0-9]{1,3})(?=;|$)/i.exec(tel[2] as string)?.[1];
    return number === null || number.startsWith('+') || context === undefined ? number : context + number;
  }
  const [, user, host] = /^sips?:([^@?]+)@([^@;?]+)(?:;[^?]*)?$/i.exec(uri) ?? [];
  if (user === undefined || host?.toLowerCase() !== domain) return null;
  return unescape(user.split(/[;:]/, 1)[0] as string);
}

function unescape(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** A number in its one form: without separators, and with `+` for the international prefix `00`; null for what is none. */
function toNumber(user: string): string | null {
  const bare = user.replaceAll(/[-. ()/]/g, '');
  return /^\+?[0-9*#]{1,32}$/.test(bare) ? bare.replace(/^00(?=[1-9])/, '+') : null;
}
