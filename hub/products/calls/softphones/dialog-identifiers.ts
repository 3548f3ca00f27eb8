import { headerOf, headersOf, parseAddress } from '../sip/index.ts';
import type { SipMessage } from '../sip/index.ts';

export const tagOf = (message: SipMessage, name: 'from' | 'to'): string =>
  parseAddress(headerOf(message, name) ?? '').parameters.get('tag') ?? '';

export const callIdOf = (message: SipMessage): string => headerOf(message, 'call-id') ?? '';

export const isInDialog = (message: SipMessage): boolean => tagOf(message, 'to') !== '';

/** The method of a request, or of the request that a response answers. */
export const methodOf = (message: SipMessage): string =>
  message.kind === 'request' ? message.method : (/\s(\S+)$/.exec(headerOf(message, 'cseq') ?? '')?.[1] ?? '');

/** Both tags in a fixed order, independent of which side is the sender. */
export const pairOf = (one: string, other: string): string => [one, other].toSorted().join(' ');

const maxLength = 255;
const callId = /^[\w.!%*+`'~()<>:\\"/[\]?{}-]+(?:@[\w.!%*+`'~()<>:\\"/[\]?{}-]+)?$/;
const address = /^(?:"(?:[^"\\]|\\.)*"[ \t]*<[^<>"]*>|[^<>";]*<[^<>"]*>|[^<>"\s;,]+)((?:;[^<>",;]*(?:"[^"\\]*")?)*)$/;
const tag = /;[ \t]*tag(?![\w.!%*+`'~-])/gi;
const oneTag = /;[ \t]*tag=[\w.!%*+`'~-]{1,255}[ \t]*(?=;|$)/i;

/**
 * Returns the name of a header that identifies the call and that two servers could parse differently, or null.
 * With such a header, one server could apply a message to another call than the other server.
 */
export function findAmbiguousHeader(message: SipMessage): string | null {
  const [id = '', ...moreIds] = headersOf(message, 'call-id');
  if (moreIds.length > 0 || id.length > maxLength || !callId.test(id)) return 'Call-ID';
  const [sequence = '', ...moreSequences] = headersOf(message, 'cseq');
  const [, method] = /^\d{1,10}[ \t]+(\S+)$/.exec(sequence) ?? [];
  if (moreSequences.length > 0 || method !== methodOf(message)) return 'CSeq';
  if (countTags(headersOf(message, 'from')) !== 1) return 'From';
  const tags = countTags(headersOf(message, 'to'));
  const needsTag = message.kind === 'response' && method === 'INVITE' && message.status >= 200 && message.status < 300;
  return tags === 1 || (tags === 0 && !needsTag) ? null : 'To';
}

/** Number of tags in the value of From or To. NaN for an ambiguous value. */
function countTags([value, ...more]: string[]): number {
  const parameters = value === undefined || more.length > 0 ? undefined : address.exec(value)?.[1];
  if (parameters === undefined) return Number.NaN;
  const count = [...parameters.matchAll(tag)].length;
  return count === 0 || (count === 1 && oneTag.test(parameters)) ? count : Number.NaN;
}
