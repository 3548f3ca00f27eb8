import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { SipSyntaxError, endOfHead, headerOf, headersOf, parseHead, parseMessage, writeMessage } from '../sip/index.ts';
import type { SipMessage, SipRequest } from '../sip/index.ts';
import { findAmbiguousHeader, isInDialog } from './dialog-identifiers.ts';

/** Whether a frame is a keep-alive ping or pong (RFC 5626). */
export const isKeepAlive = (frame: Buffer): boolean => frame.length <= 4 && /^[\r\n]*$/.test(frame.toString('latin1'));

/** Parses a frame (RFC 7118) that contains exactly one message in unambiguous syntax. @throws SipSyntaxError. */
export function readFrame(frame: Buffer): SipMessage {
  if (!isUtf8(frame)) throw new SipSyntaxError('a frame must be UTF-8');
  const message = parseMessage(frame);
  const end = endOfHead(frame);
  if (end === null || end.bodyAt !== end.headBytes + 4 || end.bodyAt + message.body.length !== frame.length)
    throw new SipSyntaxError('a frame must contain exactly one message');
  if (/(^|[^\r])\n|\r(?!\n)/.test(frame.toString('latin1', 0, end.headBytes)))
    throw new SipSyntaxError('a line must end with CRLF');
  return message;
}

/**
 * Parses a frame of the SIP server. Null for an invalid or ambiguous message, which must not disconnect the softphone.
 */
export function readFromServer(frame: Buffer): SipMessage | null {
  try {
    const message = parseMessage(frame);
    return findAmbiguousHeader(message) === null ? message : null;
  } catch (error) {
    if (!(error instanceof SipSyntaxError)) throw error;
    return null;
  }
}

// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\r(?!\n)/g;

/** The response to an invalid request. Null if the frame is not a request or lacks the headers for a response. */
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

/** Whether a header continues on another line. Servers join such lines differently. */
export const isFolded = (frame: Buffer): boolean =>
  /\r\n[ \t]/.test(frame.toString('latin1', 0, endOfHead(frame)?.headBytes));

/** Replaces the request URI of a frame. */
export function withAddress(frame: Buffer, { method, uri: before }: SipRequest, uri: string): Buffer {
  if (uri === before) return frame;
  const rest = frame.subarray(frame.indexOf('\r\n'));
  return Buffer.concat([Buffer.from(`${method} ${uri} SIP/2.0`), rest]);
}

/** Removes the Route headers of a frame. */
export function withoutRoute(frame: Buffer): Buffer {
  const at = endOfHead(frame)?.headBytes ?? frame.length;
  const head = frame.toString('latin1', 0, at).replaceAll(/\r\nroute[ \t]*:[^\r]*/gi, '');
  return Buffer.concat([Buffer.from(head, 'latin1'), frame.subarray(at)]);
}

/** Builds the final response to a request on behalf of the addressed party. */
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

/** Builds the CANCEL for an unanswered INVITE. */
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
