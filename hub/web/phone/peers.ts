import type { CallRecord } from '../../../shared/contract/calls/records.ts';

/** Another member of the workspace, with the SIP user of that member. */
export interface Colleague {
  id: string;
  email: string;
  user: string;
}

/** The other side of a call. */
export interface Peer {
  /** What to dial: a phone number, or a SIP user of the workspace's domain. Null if the other side cannot be called. */
  user: string | null;
  /** Name to show. Empty if the other side sent no name. */
  name: string;
  /** The number to show below the name. Empty if the name already is the number or an email address. */
  number: string;
}

const memberUser = /^w[0-9a-f]{16}(?:-[0-9a-f]{32})?$/;

/** Derives the SIP user of a member of the workspace from the SIP user of another member. */
export const userOf = (own: string, memberId: string): string =>
  `${own.split('-', 1)[0] ?? ''}-${memberId.replaceAll('-', '')}`;

/** Removes separators from a phone number. Returns null if the text is not a phone number. */
function numberOf(text: string): string | null {
  // In +49 (0)30 only callers within the country dial the 0. In Italy (+39) every caller dials it.
  const international = text.replace(/^(\s*(?:\+|00)(?!39)[1-9][0-9]{0,2}[-. /\u00a0]*)\(0\)/, '$1');
  const bare = international.replaceAll(/[-. ()/\u00a0]/g, '');
  return /^\+?[0-9*#]{1,32}$/.test(bare) ? bare : null;
}

export interface Directory {
  domain: string;
  colleagues: readonly Colleague[];
}

/** Resolves a phone number, a SIP address or the email of a colleague to a SIP user. Null if the text is none of them. */
export function targetOf(text: string, { domain, colleagues }: Directory): string | null {
  const trimmed = text.trim();
  const colleague = colleagues.find(({ email }) => email.toLowerCase() === trimmed.toLowerCase());
  if (colleague !== undefined) return colleague.user;
  const [, user, host] = /^sips?:([^@;?]+)@([^:;?]+)/i.exec(trimmed) ?? [];
  if (user !== undefined)
    return host?.toLowerCase() === domain ? targetOf(unescaped(user), { domain, colleagues }) : null;
  return memberUser.test(trimmed) ? trimmed : numberOf(trimmed.replace(/^tel:/i, ''));
}

/**
 * The other side of a call, from its SIP user and the name it sent.
 * The name never replaces the number, because callers choose it themselves.
 */
export function peerOf(user: string, displayName: string, colleagues: readonly Colleague[]): Peer {
  const colleague = colleagues.find((each) => each.user === user);
  if (colleague !== undefined) return { user, name: colleague.email, number: '' };
  const number = memberUser.test(user) ? '' : user;
  return { user, name: displayName || number, number: displayName === '' ? '' : number };
}

/** A call of the workspace, from the point of view of the signed-in user. */
export interface CallListItem {
  kind: 'inbound' | 'outbound' | 'between';
  /** The peer that a click on the item calls: the other side, or the caller of a call between others. */
  peer: Peer;
  /** The called member of a call between others. Null for calls of the user and calls of carriers. */
  other: Peer | null;
}

/** @param own the SIP user of the signed-in user. */
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
