import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';

/** The purpose under which webhook secrets are encrypted at rest. */
export const secretPurpose = 'webhook secret';

/** A new secret: `whsec_` and 32 random bytes as base64. */
export const newSecret = () => `${prefix}${randomBytes(32).toString('base64')}`;

/** The last characters of a secret, by which its owner recognises the secret. */
export const hintOf = (secret: string) => `${prefix}…${secret.slice(-5)}`;

/** Lowercase hex HMAC-SHA256 of `<seconds>.<body>`. The key is the UTF-8 bytes of the whole secret, prefix included. */
const serviceSignature = (secret: string, seconds: number, body: string) =>
  createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');

/** A Standard Webhooks signature. The key is the decoded base64 part of the secret. */
const standardSignature = (secret: string, id: string, seconds: number, body: string) =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
    .update(`${id}.${seconds}.${body}`)
    .digest('base64')}`;

/** The signature headers of one attempt. While a previous secret is valid, both secrets sign. */
export function signatureHeaders(
  { eventId, body }: { eventId: string; body: string },
  { secret, previous }: { secret: string; previous: string | null },
  seconds: number,
): Record<string, string> {
  const secrets = previous === null ? [secret] : [secret, previous];
  return {
    'x-service-timestamp': String(seconds),
    'x-service-signature': serviceSignature(secret, seconds, body),
    ...(previous === null ? {} : { 'x-service-signature-previous': serviceSignature(previous, seconds, body) }),
    'webhook-id': eventId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map((each) => standardSignature(each, eventId, seconds, body)).join(' '),
  };
}
