import { headersOf } from '../sip/index.ts';
import type { SipMessage } from '../sip/index.ts';

/** In whose name a softphone may speak. */
export interface OwnName {
  /** `user@domain`, in lower case. */
  address: string;
  /** Under which name a call of this Call-ID reached it, as `user@domain`; undefined for other calls. */
  calledAs(callId: string): string | undefined;
}

// Read as strictly as can be: what two parsers could read in two ways is nobody's name.
const nameAddress = /^(?:"(?:[^"\\]|\\.)*" *|[A-Za-z0-9 .!%*_+`'~-]*)<([^<>"\s]+)>((?:;[^<>",;]*(?:"[^"\\]*")?)*)$/;
const bareAddress = /^([^<>"\s;,?]+)((?:;[^<>",;\s]*)*)$/;
const sipUri = /^sips?:([^@;?]+)@([^@;?]+?)(?:;[^?]*)?$/i;
const claimed = ['p-asserted-identity', 'p-preferred-identity', 'remote-party-id', 'p-charge-info', 'diversion'];
/** What only servers write into requests. */
const routed = ['record-route', 'path'];

/** The address of a value of From, To or Contact, as `user@host` in lower case; null for what is no single one. */
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

/** Finds the header by which a message that a softphone sends claims to be somebody else's; null where none does. */
export function findForeign(message: SipMessage, own: OwnName): string | null {
  const contacts = headersOf(message, 'contact');
  if (contacts.length > 1 || contacts.some((value) => !isOwnContact(value, message, own))) return 'Contact';
  const identity = claimed.find((name) => headersOf(message, name).length > 0);
  if (identity !== undefined) return identity;
  if (message.kind === 'response') return null;
  const route = routed.find((name) => headersOf(message, name).length > 0);
  if (route !== undefined) return route;
  const [from, ...moreFrom] = headersOf(message, 'from');
  const [to, ...moreTo] = headersOf(message, 'to');
  const [callId, ...moreIds] = headersOf(message, 'call-id');
  if (callId === undefined || moreIds.length > 0) return 'Call-ID';
  const sender = from === undefined || moreFrom.length > 0 ? null : addressOf(from);
  // Of a To only that of a registration says who somebody is.
  if (to === undefined || moreTo.length > 0) return 'To';
  const isOwn =
    sender?.address === own.address ||
    (sender !== null && sender.address === own.calledAs(callId) && /;tag=/i.test(to));
  if (!isOwn) return 'From';
  return message.method === 'REGISTER' && addressOf(to)?.address !== own.address ? 'To' : null;
}

/** A browser has no address of its own: it gives one below `.invalid` (RFC 7118), or its name. */
function isOwnContact(value: string, message: SipMessage, own: OwnName): boolean {
  if (value === '*') return message.kind === 'request' && message.method === 'REGISTER';
  const contact = addressOf(value);
  // By which the SIP server alone says where somebody is.
  if (/;[ \t]*alias[ \t]*=/i.test(value)) return false;
  return contact !== null && (contact.address === own.address || /^[a-z0-9-]{1,64}\.invalid$/.test(contact.host));
}
