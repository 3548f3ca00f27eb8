import { headersOf } from '../sip/index.ts';
import type { SipMessage } from '../sip/index.ts';

/** The addresses that a softphone may use as its own. */
export interface OwnAddresses {
  /** `user@domain`, in lower case. */
  address: string;
  /** The address that the INVITE of a received call used, as `user@domain`. Undefined for other calls. */
  calledAs(callId: string): string | undefined;
}

// The patterns are strict: an address that two parsers could read differently is never accepted.
const nameAddress = /^(?:"(?:[^"\\]|\\.)*" *|[A-Za-z0-9 .!%*_+`'~-]*)<([^<>"\s]+)>((?:;[^<>",;]*(?:"[^"\\]*")?)*)$/;
const bareAddress = /^([^<>"\s;,?]+)((?:;[^<>",;\s]*)*)$/;
const sipUri = /^sips?:([^@;?]+)@([^@;?]+?)(?:;[^?]*)?$/i;
const identityHeaders = [
  'p-asserted-identity',
  'p-preferred-identity',
  'remote-party-id',
  'p-charge-info',
  'diversion',
];
/** Headers that only servers may add to a request. */
const serverHeaders = ['record-route', 'path'];

/** Parses a value of From, To or Contact to `user@host` in lower case. Null for anything but one address. */
export function addressOf(value: string): { address: string; host: string; isTagged: boolean } | null {
  const [, uri = '', parameters = ''] = nameAddress.exec(value) ?? bareAddress.exec(value) ?? [];
  const [, user, host] = sipUri.exec(uri) ?? [];
  if (user === undefined || host === undefined) return null;
  return {
    address: `${user}@${host}`.toLowerCase(),
    host: host.toLowerCase(),
    isTagged: /;\s*tag\s*=/i.test(parameters),
  };
}

/** Returns the name of a header in which a softphone claims another identity, or null. */
export function findForeignHeader(message: SipMessage, own: OwnAddresses): string | null {
  const contacts = headersOf(message, 'contact');
  if (contacts.length > 1 || contacts.some((value) => !isOwnContact(value, message, own))) return 'Contact';
  const identity = identityHeaders.find((name) => headersOf(message, name).length > 0);
  if (identity !== undefined) return identity;
  if (message.kind === 'response') return null;
  const route = serverHeaders.find((name) => headersOf(message, name).length > 0);
  if (route !== undefined) return route;
  const [from, ...moreFrom] = headersOf(message, 'from');
  const [to, ...moreTo] = headersOf(message, 'to');
  const [callId, ...moreIds] = headersOf(message, 'call-id');
  if (callId === undefined || moreIds.length > 0) return 'Call-ID';
  const sender = from === undefined || moreFrom.length > 0 ? null : addressOf(from);
  // To names the sender only in a registration.
  if (to === undefined || moreTo.length > 0) return 'To';
  const isOwn =
    sender?.address === own.address ||
    (sender !== null && sender.address === own.calledAs(callId) && /;tag=/i.test(to));
  if (!isOwn) return 'From';
  return message.method === 'REGISTER' && addressOf(to)?.address !== own.address ? 'To' : null;
}

/**
 * A browser has no address of its own. Its Contact uses a host below `.invalid` (RFC 7118) or the SIP user of the
 * softphone.
 */
function isOwnContact(value: string, message: SipMessage, own: OwnAddresses): boolean {
  if (value === '*') return message.kind === 'request' && message.method === 'REGISTER';
  const contact = addressOf(value);
  // Only the SIP server may set `alias`, which names the network address of a phone.
  if (/;[ \t]*alias[ \t]*=/i.test(value)) return false;
  return contact !== null && (contact.address === own.address || /^[a-z0-9-]{1,64}\.invalid$/.test(contact.host));
}
