import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { SipSyntaxError, endOfHead, headerOf, headersOf, parseHead, parseMessage, writeMessage } from '../sip/index.ts';
import type { SipMessage, SipRequest } from '../sip/index.ts';
import { findUnclear, isInDialog } from './dialog-identifiers.ts';

/** Whether a frame asks whether somebody is there (RFC 5626), or says so. */
export const isKeepAlive = (frame: Buffer): boolean => frame.length <= 4 && /^[\r\n]*$/.test(frame.toString('latin1'));

/**
 * The message of a frame (RFC 7118): one, whole, and written so that nobody can read it in another way.
 * @throws SipSyntaxError.
 */
export function readFrame(frame: Buffer): SipMessage {
  if (!isUtf8(frame)) throw new SipSyntaxError('a frame must be UTF-8');
  const message = parseMessage(frame);
  const end = endOfHead(frame);
  if (end === null || end.bodyAt !== end.headBytes + 4 || end.bodyAt + message.body.length !== frame.length)
    throw new SipSyntaxError('a frame must hold one message');
  if (/(^|[^\r])\n|\r(?!\n)/.test(frame.toString('latin1', 0, end.headBytes)))
    throw new SipSyntaxError('a line must end with CRLF');
  return message;
}

/** What the SIP server sends; null for what nobody can read, or not in one way: a softphone is not cut off for what others say. */
export function readFromServer(frame: Buffer): SipMessage | null {
  try {
    const message = parseMessage(frame);
    return findUnclear(message) === null ? message : null;
  } catch (error) {
    if (!(error instanceof SipSyntaxError)) throw error;
    return null;
  }
}

// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\r(?!\n)/g;

/** What a request that can't be read is answered; null for what is none, or says too little to be answered. */
export function refuseUnreadable(frame: Buffer): Buffer | null {
  const end = endOfHead(frame);
  if (end === null) return null;
  try {
    const request = parseHead(frame.toString('utf8', 0, end.headBytes).replaceAll(controls, ' '));
    const isWhole = ['via', 'from', 'to', 'call-id', 'cseq'].every((name) => headerOf(request, name) !== undefined);
    if (request.kind !== 'request' || request.method === 'ACK' || !isWhole) return null;
    return refuse({ ...request, body: Buffer.alloc(0) }, 400, 'Bad Request');
  } catch {
    return null;
  }
}

/** Whether a header goes on in another line, which not every server joins in the same way. */
export const isFolded = (frame: Buffer): boolean =>
  /\r\n[ \t]/.test(frame.toString('latin1', 0, endOfHead(frame)?.headBytes));

/** The frame of a request with another address that it asks for. */
export function withAddress(frame: Buffer, { method, uri: before }: SipRequest, uri: string): Buffer {
  if (uri === before) return frame;
  const rest = frame.subarray(frame.indexOf('\r\n'));
  return Buffer.concat([Buffer.from(`${method} ${uri} SIP/2.0`), rest]);
}

/** The frame of a request, without what says by way of whom it is to go. */
export function withoutRoute(frame: Buffer): Buffer {
  const at = endOfHead(frame)?.headBytes ?? frame.length;
  const head = frame.toString('latin1', 0, at).replaceAll(/\r\nroute[ \t]*:[^\r]*/gi, '');
  return Buffer.concat([Buffer.from(head, 'latin1'), frame.subarray(at)]);
}

/** The final answer to a request, in the name of whoever would have been asked. */
export function refuse(request: SipRequest, status: number, reason: string): Buffer {
  const copied = (name: string, written: string) => headersOf(request, name).map((value) => [written, value] as const);
  const to = headerOf(request, 'to') ?? '';
  return writeMessage({
    status,
    reason,
    headers: [
      ...copied('via', 'Via'),
      ...copied('from', 'From'),
      ['To', isInDialog(request) ? to : `${to};tag=${randomBytes(8).toString('hex')}`],
      ...copied('call-id', 'Call-ID'),
      ...copied('cseq', 'CSeq'),
    ],
  });
}

/** What takes back an INVITE that was not answered yet. */
export function cancel(invite: SipRequest): Buffer {
  const copied = (name: string, written: string) => headersOf(invite, name).map((value) => [written, value] as const);
  const sequence = (headerOf(invite, 'cseq') ?? '').split(/\s/, 1)[0];
  return writeMessage({
    method: 'CANCEL',
    uri: invite.uri,
    headers: [
      ...copied('via', 'Via').slice(0, 1),
      ['Max-Forwards', '70'],
      ...copied('from', 'From'),
      ...copied('to', 'To'),
      ...copied('call-id', 'Call-ID'),
      ['CSeq', `${sequence} CANCEL`],
    ],
  });
}
