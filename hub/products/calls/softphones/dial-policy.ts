import { isEmergencyNumber } from '../../../../shared/emergency-numbers.ts';
import { normalizeText } from '../../../platform/normalize.ts';

/** Rules for the addresses that a user may call. */
export interface DialRules {
  domain: string;
  emergency: 'refuse' | 'route';
  /** Allowed prefixes of numbers, for example `+49`. An empty list allows no numbers. */
  allow: readonly string[];
}

/** `isEmergency` marks a call to an emergency number. No limit applies to it. */
export type DialDecision = { dialled: string; isEmergency: boolean } & (
  | {
      kind: 'allowed';
      /** Normalized address that replaces the dialled one. */
      uri: string;
      isCounted: boolean;
    }
  | { kind: 'refused'; reason: string }
);

/** Number for an emergency service URN, which contains no number. */
const generalEmergencyNumber = '112';

const refused = (reason: string, dialled: string): DialDecision => ({
  kind: 'refused',
  reason,
  dialled,
  isEmergency: false,
});

/**
 * Decides whether an address may be called.
 * The decision applies to the normalized address, without escapes, separators and parameters. An allowed call uses only
 * that form, so that no server can interpret the address differently.
 * @param workspace SIP user of the workspace, whose members may call each other.
 */
export function decideDial(uri: string, workspace: string, { domain, emergency, allow }: DialRules): DialDecision {
  const emergencyNumber = emergencyNumberOf(uri);
  if (emergencyNumber !== null)
    return emergency === 'route'
      ? {
          kind: 'allowed',
          uri: `sip:${emergencyNumber}@${domain}`,
          dialled: emergencyNumber,
          isCounted: false,
          isEmergency: true,
        }
      : { kind: 'refused', reason: 'Emergency Calls Not Possible Here', dialled: emergencyNumber, isEmergency: true };
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
 * The emergency number that an address means, in any notation and at any host, or null.
 * A caller in an emergency must never fail because of the notation.
 */
function emergencyNumberOf(uri: string): string | null {
  if (/^urn:service:sos(?:\.[a-z0-9.-]*)?$/i.test(uri)) return generalEmergencyNumber;
  const written = /^(?:sips?|tel):([^@;:?]*)/i.exec(uri)?.[1];
  if (written === undefined) return null;
  const digits = normalizeText(unescape(written) ?? written, 'NFKC')
    .replaceAll(/\p{Nd}/gu, digitOf)
    .replaceAll(/[^\p{L}\d+*#]/gu, '');
  // Many phones append # to mark the end of the number.
  const number = digits
    .replace(/(?<!#)#+$/, '')
    .replace(/^\++/, '+')
    .replace(/^00(?=[1-9])/, '+');
  return isEmergencyNumber(number) ? number : null;
}

/**
 * Value of a decimal digit of any script. Unicode places the digits of a script in a row that starts at zero, and rows
 * can be adjacent.
 */
function digitOf(digit: string): string {
  let value = 0;
  for (let code = digit.codePointAt(0) as number; /\p{Nd}/u.test(String.fromCodePoint(code - 1)); code -= 1) value += 1;
  return String(value % 10);
}

/** The unescaped user of an address in the domain, or the number of a `tel:` URI. Null for other addresses. */
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

/** A number without separators, with `+` instead of the prefix `00`. Null for other text. */
function toNumber(user: string): string | null {
  const bare = user.replaceAll(/[-. ()/]/g, '');
  return /^\+?[0-9*#]{1,32}$/.test(bare) ? bare.replace(/^00(?=[1-9])/, '+') : null;
}
