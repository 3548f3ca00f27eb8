/**
 * A parsed SIP message (RFC 3261). Header names are in full form and lower case, folded lines are joined, and the order
 * is kept.
 */
export type SipMessage = SipRequest | SipResponse;

export type SipHeaders = readonly (readonly [name: string, value: string])[];

export interface SipRequest {
  kind: 'request';
  method: string;
  uri: string;
  headers: SipHeaders;
  body: Buffer;
}

export interface SipResponse {
  kind: 'response';
  status: number;
  reason: string;
  headers: SipHeaders;
  body: Buffer;
}

/** Maximum size of a message and of its head, in bytes. */
export const maxMessageBytes = 64 * 1024;
export const maxHeadBytes = 16 * 1024;
const maxHeaders = 256;

export const newline = 0x0a;
export const carriageReturn = 0x0d;

/** The bytes are not a valid SIP message, or exceed a size limit. */
export class SipSyntaxError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SipSyntaxError';
  }
}

const compactForms = new Map([
  ['a', 'accept-contact'],
  ['b', 'referred-by'],
  ['c', 'content-type'],
  ['d', 'request-disposition'],
  ['e', 'content-encoding'],
  ['f', 'from'],
  ['i', 'call-id'],
  ['j', 'reject-contact'],
  ['k', 'supported'],
  ['l', 'content-length'],
  ['m', 'contact'],
  ['o', 'event'],
  ['r', 'refer-to'],
  ['s', 'subject'],
  ['t', 'to'],
  ['u', 'allow-events'],
  ['v', 'via'],
  ['x', 'session-expires'],
]);

const token = /^[A-Za-z0-9\-.!%*_+`'~]{1,64}$/;
const statusLine = /^SIP\/2\.0 ([1-6]\d\d)(?: (.*))?$/i;
const requestLine = /^(\S{1,64}) (\S{1,2048}) SIP\/2\.0$/i;
// The text has no line breaks at this point, and tabs are valid white space.
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/** The head of a message. `bodyBytes` is null without Content-Length. */
export type SipHead = (Omit<SipRequest, 'body'> | Omit<SipResponse, 'body'>) & { bodyBytes: number | null };

/** @param text the head without the final empty line. @throws SipSyntaxError. */
export function parseHead(text: string): SipHead {
  const lines: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (controls.test(line)) throw new SipSyntaxError('a line contains a control character');
    const isFolded = /^[ \t]/.test(line);
    if (!isFolded) lines.push(line);
    else if (lines.length < 2) throw new SipSyntaxError('the first header is a continuation line');
    else lines[lines.length - 1] += ` ${line.trim()}`;
    if (lines.length > maxHeaders) throw new SipSyntaxError('there are too many headers');
  }
  const [first = '', ...rest] = lines;
  const headers = rest.map(parseHeader);
  const lengths = new Set(headers.flatMap(([name, value]) => (name === 'content-length' ? [value] : [])));
  const [length] = lengths;
  if (lengths.size > 1 || (length !== undefined && !/^\d{1,9}$/.test(length)))
    throw new SipSyntaxError('Content-Length is not a number');
  const common = { headers, bodyBytes: length === undefined ? null : Number(length) };
  const [, status, reason = ''] = statusLine.exec(first) ?? [];
  if (status !== undefined) return { kind: 'response', status: Number(status), reason: reason.trim(), ...common };
  const [, method = '', uri = ''] = requestLine.exec(first) ?? [];
  if (!token.test(method)) throw new SipSyntaxError('the first line is neither a request line nor a status line');
  return { kind: 'request', method, uri, ...common };
}

function parseHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(0, colon)).trimEnd().toLowerCase();
  if (!token.test(name)) throw new SipSyntaxError('a line is not a header');
  return [compactForms.get(name) ?? name, line.slice(colon + 1).trim()];
}

/**
 * Parses a datagram. Without Content-Length the body extends to the end. Bytes after the body are ignored.
 * @throws SipSyntaxError for invalid bytes.
 */
export function parseMessage(bytes: Uint8Array): SipMessage {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length > maxMessageBytes) throw new SipSyntaxError('the message is too large');
  const end = endOfHead(buffer);
  if (end === null || end.headBytes > maxHeadBytes) throw new SipSyntaxError('the head has no end or is too large');
  const { bodyBytes, ...head } = parseHead(buffer.toString('utf8', 0, end.headBytes));
  const rest = buffer.subarray(end.bodyAt);
  if (bodyBytes !== null && bodyBytes > rest.length)
    throw new SipSyntaxError('the body is shorter than Content-Length');
  return { ...head, body: rest.subarray(0, bodyBytes ?? rest.length) } as SipMessage;
}

/**
 * Finds the end of the head and the start of the body. Null while the head is incomplete.
 * @param from position where the search starts.
 */
export function endOfHead(buffer: Buffer, from = 0): { headBytes: number; bodyAt: number } | null {
  // Stop at the end of the head: scanning the rest would repeat for each message of a stream.
  for (let at = buffer.indexOf(newline, from); at >= 0; at = buffer.indexOf(newline, at + 1)) {
    if (buffer[at + 1] === newline) return { headBytes: at, bodyAt: at + 2 };
    if (buffer[at - 1] === carriageReturn && buffer[at + 1] === carriageReturn && buffer[at + 2] === newline)
      return { headBytes: at - 1, bodyAt: at + 3 };
  }
  return null;
}

/** The first header with a lower-case name. */
export const headerOf = ({ headers }: { headers: SipHeaders }, name: string): string | undefined =>
  headers.find(([found]) => found === name)?.[1];

export const headersOf = ({ headers }: { headers: SipHeaders }, name: string): string[] =>
  headers.flatMap(([found, value]) => (found === name ? [value] : []));

/** Parts of a message to write. Header names are written as given. */
export type SipDraft =
  | { method: string; uri: string; headers: SipHeaders }
  | { status: number; reason: string; headers: SipHeaders };

/**
 * Serializes a message without a body.
 * @throws SipSyntaxError for control characters, which prevents header injection.
 */
export function writeMessage(draft: SipDraft): Buffer {
  const first =
    'method' in draft ? `${draft.method} ${draft.uri} SIP/2.0` : `SIP/2.0 ${draft.status} ${draft.reason}`.trimEnd();
  const lines = [first, ...draft.headers.map(([name, value]) => `${name}: ${value}`), 'Content-Length: 0'];
  if (lines.some((line) => controls.test(line))) throw new SipSyntaxError('a line contains a control character');
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}
