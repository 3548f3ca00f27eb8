import { createHash } from 'node:crypto';
import type { Database } from '../db/database.ts';
import { EgressFailed, EgressRefused } from '../egress/egress.ts';
import type { Egress } from '../egress/egress.ts';
import { retryAfterOf } from '../egress/retry-after.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { encryptPush } from './encrypt.ts';
import type { PushKeys } from './encrypt.ts';
import { loadVapidKey } from './vapid.ts';
import type { VapidKey } from './vapid.ts';

/** A browser that receives messages. */
export interface PushReceiver extends PushKeys {
  /** URL at the push service of the browser. It is a secret, because it allows sending to the browser: never log it. */
  endpoint: string;
}

export interface PushMessage {
  /** JSON object of at most 2,047 bytes. */
  content: object;
  /** How long the push service keeps the message for a browser that is offline. */
  ttlSeconds: number;
  /** What the message is about. A newer message about the same subject replaces one that is not delivered yet. */
  subject: string;
}

/**
 * The result of one attempt: `accepted` by the push service; `gone`, when the subscription has ended; or `failed`.
 */
export type PushOutcome =
  | { result: 'accepted' | 'gone' }
  | { result: 'failed'; isTemporary: boolean; retryAfterSeconds: number; reason: string };

/** Sends messages to browsers through the push services of their makers (Web Push, RFC 8030). */
export interface Push {
  /** The public key with which browsers subscribe. */
  publicKey(): Promise<string>;
  /** Makes one attempt. @throws the reason of `signal`. */
  send(receiver: PushReceiver, message: PushMessage, signal: AbortSignal): Promise<PushOutcome>;
}

/** Time limit for one attempt, in milliseconds. */
export const pushTimeoutMs = 10_000;
/** The body of a response is not used. */
const maxResponseBytes = 1_024;
const topicLength = 32;

/** @param contact `mailto:` or `https:` URL of the operator, which push services require. */
export function createPush({
  db,
  secrets,
  egress,
  contact,
}: {
  db: Database;
  secrets: Secrets;
  egress: Egress;
  contact: string;
}): Push {
  let key: VapidKey | undefined;
  const loadKey = async () => (key ??= await loadVapidKey(db, secrets, contact));
  return {
    publicKey: async () => (await loadKey()).publicKey,
    async send({ endpoint, ...keys }, { content, ttlSeconds, subject }, signal) {
      const { authorization } = await loadKey();
      try {
        const { status, headers } = await egress.fetch(endpoint, {
          method: 'POST',
          headers: {
            authorization: authorization(new URL(endpoint).origin),
            'content-type': 'application/octet-stream',
            'content-encoding': 'aes128gcm',
            ttl: String(ttlSeconds),
            topic: createHash('sha256').update(subject).digest('base64url').slice(0, topicLength),
            urgency: 'high',
          },
          body: encryptPush(JSON.stringify(content), keys),
          signal,
          timeoutMs: pushTimeoutMs,
          maxResponseBytes,
          truncatesResponse: true,
          followsRedirects: false,
        });
        if (status >= 200 && status <= 299) return { result: 'accepted' };
        if (status === 404 || status === 410) return { result: 'gone' };
        return {
          result: 'failed',
          isTemporary: status === 429 || status >= 500,
          retryAfterSeconds: retryAfterOf(headers['retry-after']) ?? 0,
          reason: `The push service answered ${status}.`,
        };
      } catch (error) {
        if (error instanceof EgressRefused)
          return { result: 'failed', isTemporary: false, retryAfterSeconds: 0, reason: error.message };
        if (error instanceof EgressFailed)
          return { result: 'failed', isTemporary: true, retryAfterSeconds: 0, reason: error.message };
        throw error;
      }
    },
  };
}
