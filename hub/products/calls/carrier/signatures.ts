import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { signatureSeconds } from '../../../../shared/contract/calls/connections.ts';
import type { Carrier } from '../../../../shared/contract/calls/records.ts';

/** A carrier request whose signature is checked. */
export interface SignedRequest {
  headers: IncomingHttpHeaders;
  /** The address to which the carrier sends, with the received query. */
  url: string;
  body: Buffer;
}

type Check = (request: SignedRequest, secret: string, now: Date) => boolean;

/** Whether any of the secrets signed the request. Without secrets the check takes about as long as with one. */
export function isSigned(provider: Carrier, request: SignedRequest, secrets: readonly string[], now: Date): boolean {
  let signed = false;
  for (const secret of secrets.length === 0 ? [placeholderSecrets[provider]] : secrets)
    signed = checks[provider](request, secret, now) || signed;
  return signed && secrets.length > 0;
}

/** Secrets used to keep the response time constant when a connection does not exist. */
const placeholderSecrets: Record<Carrier, string> = {
  twilio: 'placeholder',
  telnyx: Buffer.alloc(32, 1).toString('base64'),
  kamailio: 'placeholder',
};

const checks: Record<Carrier, Check> = {
  /**
   * Base64 HMAC-SHA1 over the address plus, for a form, each name with its values in sorted order.
   * For other bodies it covers the address alone, whose `bodySHA256` is the hash of the body. Twilio includes the port
   * in some signed addresses and omits it in others.
   */
  twilio({ headers, url, body }, authToken) {
    const signature = single(headers['x-twilio-signature']);
    const { searchParams } = new URL(url);
    const bodyHash = searchParams.get('bodySHA256');
    const isForm = (headers['content-type'] ?? '').toLowerCase().startsWith('application/x-www-form-urlencoded');
    if (bodyHash !== null && !equalBytes(createHash('sha256').update(body).digest(), Buffer.from(bodyHash, 'hex')))
      return false;
    if (bodyHash === null && !isForm && body.length > 0) return false;
    const parameters = isForm && bodyHash === null ? signedForm(body.toString('utf8')) : '';
    return addressForms(url)
      .map((address) => {
        const expected = createHmac('sha1', authToken).update(`${address}${parameters}`, 'utf8').digest();
        return equalBytes(expected, Buffer.from(signature, 'base64'));
      })
      .includes(true);
  },
  telnyx({ headers, body }, publicKey, now) {
    const timestamp = single(headers['telnyx-timestamp']);
    const signature = Buffer.from(single(headers['telnyx-signature-ed25519']), 'base64');
    if (!isRecent(timestamp, now)) return false;
    const key = createPublicKey({
      key: Buffer.concat([ed25519Prefix, Buffer.from(publicKey, 'base64')]),
      format: 'der',
      type: 'spki',
    });
    return verify(null, Buffer.concat([Buffer.from(`${timestamp}|`), body]), key, signature);
  },
  kamailio({ headers, body }, secret, now) {
    const parts = new Map(
      single(headers['x-signature'])
        .split(',')
        .map((part) => part.trim().split('=', 2) as [string, string]),
    );
    const timestamp = parts.get('t') ?? '';
    if (!isRecent(timestamp, now)) return false;
    const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest();
    return equalBytes(expected, Buffer.from(parts.get('v1') ?? '', 'hex'));
  },
};

/** DER prefix of a 32-byte ed25519 public key. */
const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex');

const single = (value: string | string[] | undefined): string => (typeof value === 'string' ? value : '');
const equalBytes = (one: Buffer, other: Buffer) => one.length === other.length && timingSafeEqual(one, other);
const isRecent = (seconds: string, now: Date) =>
  /^[0-9]{1,12}$/.test(seconds) && Math.abs(now.getTime() / 1000 - Number(seconds)) <= signatureSeconds;

/** Concatenates the sorted names, each followed by its sorted values without repetition. */
function signedForm(form: string): string {
  const values = Map.groupBy(new URLSearchParams(form), ([name]) => name);
  return [...values.keys()]
    .toSorted()
    .map((name) =>
      [...new Set(values.get(name)?.map(([, value]) => value))]
        .toSorted()
        .map((value) => name + value)
        .join(''),
    )
    .join('');
}

/** The address as given, and its other form with or without the default port. */
function addressForms(url: string): string[] {
  const parsed = new URL(url);
  const origin = /^[a-z]+:\/\/[^/?#]*/i.exec(url)?.[0] ?? '';
  const rest = url.slice(origin.length);
  const port = parsed.protocol === 'https:' ? 443 : 80;
  return [
    ...new Set([
      url,
      parsed.port === ''
        ? `${parsed.protocol}//${parsed.hostname}:${port}${rest}`
        : `${parsed.protocol}//${parsed.hostname}${rest}`,
    ]),
  ];
}
