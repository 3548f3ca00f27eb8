import { isEmergencyNumber } from '../../../../shared/emergency-numbers.ts';

/** Where a person may call. */
export interface DialRules {
  domain: string;
  emergency: 'refuse' | 'route';
  /** Numbers begin with one of these, such as `+49`; none may be called where it is empty. */
  allow: readonly string[];
}

export type DialDecision =
  /** `uri` is to be called, in the place of what was asked for; `isCounted` where it is a number that nobody needs in distress. */
  | { kind: 'allowed'; uri: string; dialled: string; isCounted: boolean }
  | { kind: 'refused'; reason: string; dialled: string };

const maxShownLength = 64;

const refused = (reason: string, dialled: string): DialDecision => ({
  kind: 'refused',
  reason,
  dialled: dialled.slice(0, maxShownLength),
});

/**
 * Decides of the address that an INVITE asks for. It is judged as it will be called: without escapes, separators and parameters, and what is allowed
 * is called by that form alone, so that no other reading of it gets somewhere else.
 * @param workspace the SIP user of the workspace, whose people may call each other.
 */
export function decideDial(uri: string, workspace: string, { domain, emergency, allow }: DialRules): DialDecision {
  const user = dialledUser(uri, domain);
  if (user === null) return refused('Address Not Allowed', uri);
  const number = toNumber(user);
  if (number !== null) {
    const target = `sip:${number}@${domain}`;
    if (isEmergencyNumber(number))
      return emergency === 'route'
        ? { kind: 'allowed', uri: target, dialled: number, isCounted: false }
        : refused('Emergency Calls Not Possible Here', number);
    return allow.some((prefix) => number.startsWith(prefix))
      ? { kind: 'allowed', uri: target, dialled: number, isCounted: true }
      : refused('Number Not Allowed', number);
  }
  const name = user.toLowerCase();
  if (
    name === workspace ||
    (name.startsWith(`${workspace}-`) && /^[0-9a-f]{32}$/.test(name.slice(workspace.length + 1)))
  )
    return { kind: 'allowed', uri: `sip:${name}@${domain}`, dialled: name, isCounted: false };
  return refused('Address Not Allowed', user);
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
