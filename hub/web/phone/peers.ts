import type { CallRecord } from '../../../shared/contract/calls/records.ts';

/** Somebody of the workspace, and the SIP user that they are. */
export interface Colleague {
  id: string;
  email: string;
  user: string;
}

/** Who is at the other end. */
export interface Peer {
  /** What is called to reach them: a number or a SIP user of the domain; null where nobody can be called back. */
  user: string | null;
  /** What they are shown as; empty for somebody who tells no name. */
  name: string;
  /** What stands below the name: the number; empty where the name says all. */
  number: string;
}

const memberUser = /^w[0-9a-f]{16}(?:-[0-9a-f]{32})?$/;

/** The SIP user of a member of the workspace, by that of another one. */
export const userOf = (own: string, memberId: string): string =>
  `${own.split('-', 1)[0] ?? ''}-${memberId.replaceAll('-', '')}`;

/** A number without what people write between its digits; null for what is none. */
function numberOf(text: string): string | null {
  // As in +49 (0)30, where the 0 is only for callers of that country; in Italy everybody dials it.
  const international = text.replace(/^(\s*(?:\+|00)(?!39)[1-9][0-9]{0,2}[-. /\u00a0]*)\(0\)/, '$1');
  const bare = international.replaceAll(/[-. ()/\u00a0]/g, '');
  return /^\+?[0-9*#]{1,32}$/.test(bare) ? bare : null;
}

export interface Directory {
  domain: string;
  colleagues: readonly Colleague[];
}

/** Whom somebody means who writes a number, an address or the email of a colleague; null where nobody can tell. */
export function targetOf(text: string, { domain, colleagues }: Directory): string | null {
  const given = text.trim();
  const colleague = colleagues.find(({ email }) => email.toLowerCase() === given.toLowerCase());
  if (colleague !== undefined) return colleague.user;
  const [, user, host] = /^sips?:([^@;?]+)@([^:;?]+)/i.exec(given) ?? [];
  if (user !== undefined)
    return host?.toLowerCase() === domain ? targetOf(unescaped(user), { domain, colleagues }) : null;
  return memberUser.test(given) ? given : numberOf(given.replace(/^tel:/i, ''));
}

/** The other side of a call, by its SIP user and what it calls itself. A name that it gives itself never stands in the place of its number. */
export function peerOf(user: string, displayName: string, colleagues: readonly Colleague[]): Peer {
  const colleague = colleagues.find((each) => each.user === user);
  if (colleague !== undefined) return { user, name: colleague.email, number: '' };
  const number = memberUser.test(user) ? '' : user;
  return { user, name: displayName || number, number: displayName === '' ? '' : number };
}

/** A call of the workspace as the memberUser who looks at it sees it. */
export interface CallListItem {
  kind: 'inbound' | 'outbound' | 'between';
  /** Whom a click calls: the other side, or the colleague who called somebody else. */
  peer: Peer;
  /** Whom that colleague called; null for calls of one's own, and of carriers. */
  other: Peer | null;
}

/** Who a call was with. @param own the SIP user of the memberUser who looks. */
export function callListItemOf(
  { direction, fromId, toId }: Pick<CallRecord, 'direction' | 'fromId' | 'toId'>,
  own: string,
  directory: Directory,
): CallListItem {
  const from = fromId === null ? null : targetOf(fromId, directory);
  if (toId !== null && targetOf(toId, directory) === own)
    return { kind: 'inbound', peer: peerOfRecord(fromId, directory), other: null };
  if (from === own) return { kind: 'outbound', peer: peerOfRecord(toId, directory), other: null };
  if (from !== null && memberUser.test(from))
    return { kind: 'between', peer: peerOfRecord(fromId, directory), other: peerOfRecord(toId, directory) };
  const kind = direction === 'inbound' ? 'inbound' : 'outbound';
  return { kind, peer: peerOfRecord(kind === 'inbound' ? fromId : toId, directory), other: null };
}

/** Somebody by the address of a record. */
function peerOfRecord(address: string | null, directory: Directory): Peer {
  if (address === null) return { user: null, name: '', number: '' };
  const user = targetOf(address, directory);
  if (user === null) return { user: null, name: address, number: '' };
  return peerOf(user, '', directory.colleagues);
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
