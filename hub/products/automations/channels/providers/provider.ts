import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { SessionScope } from '../../../../../shared/contract/automations/sessions.ts';
import { AppError } from '../../../../../shared/errors.ts';
import type { JsonObject, JsonValue } from '../../../../../shared/json.ts';
import { EgressFailed, EgressRefused } from '../../../../platform/egress/egress.ts';
import type { Egress, EgressResponse } from '../../../../platform/egress/egress.ts';

/** The configuration of a channel with its decrypted secrets. */
export type ChannelConfig = Record<string, string | undefined>;

/** The parts of an inbound call that a provider signs. */
export interface SignedCall {
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
}

/** A call of the inbound endpoint. */
export interface InboundCall extends SignedCall {
  body: JsonObject;
}

/** An inbound message of any provider. */
export interface InboundMessage {
  /** The message id of the provider, which is stable over repeated calls; null when the provider sends none. */
  messageId: string | null;
  from: string;
  /** Address for replies. */
  replyTo: string;
  text: string;
  scope: SessionScope;
  sessionKey: string;
  title: string;
}

export interface OutboundMessage {
  to: string;
  text: string;
  mediaUrl?: string | undefined;
}

export interface SendContext {
  egress: Egress;
  idempotencyKey: string;
  signal: AbortSignal;
}

/** The protocol of one provider. */
export interface ChannelAdapter {
  /** Whether a call has a valid signature of the provider. */
  isSigned(config: ChannelConfig, call: SignedCall): boolean;
  /** The response to a verification request of the provider; null for other calls. */
  challenge?(body: JsonObject): string | null;
  /** The messages of a call; empty for calls without messages. */
  parse(body: JsonObject): InboundMessage[];
  /** Sends a message. @returns the message id of the provider. @throws AppError. */
  send(
    config: ChannelConfig,
    message: OutboundMessage,
    context: SendContext,
  ): Promise<{ providerMessageId: string | null }>;
}

/** Compares two secrets in constant time. */
export function equalSecrets(left: string | undefined, right: string | undefined): boolean {
  if (left === undefined || right === undefined || left === '' || right === '') return false;
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

export function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** The text at a path of a JSON value; undefined when the path holds no text. */
export function textAt(value: JsonValue | undefined, ...path: (string | number)[]): string | undefined {
  const found = valueAt(value, ...path);
  if (typeof found === 'number') return String(found);
  return typeof found === 'string' ? found : undefined;
}

export function valueAt(value: JsonValue | undefined, ...path: (string | number)[]): JsonValue | undefined {
  let current: JsonValue | undefined = value;
  for (const part of path) {
    if (Array.isArray(current)) current = typeof part === 'number' ? current[part] : undefined;
    else if (typeof current === 'object' && current !== null && Object.hasOwn(current, part)) current = current[part];
    else return undefined;
  }
  return current;
}

/** The items of the list at a path of a JSON value; empty when the path holds no list. */
export function listAt(value: JsonValue | undefined, ...path: (string | number)[]): JsonValue[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

const sendTimeoutMs = 15_000;
const maxResponseBytes = 256 * 1024;
/** Connection failures before anything was sent. A retry cannot send the message twice. */
const neverSent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/**
 * POSTs JSON to a provider.
 * @throws AppError `skill_failed` on 429 and 5xx with the delay that the provider sends; `delivery_refused` on other
 * refusals; `outcome_unknown` when the connection broke after the message may have been sent.
 */
export async function postJson(
  context: SendContext,
  url: string,
  headers: Record<string, string>,
  body: JsonValue,
  delayOf: (answer: JsonValue) => number | undefined = () => undefined,
): Promise<JsonValue> {
  let response: EgressResponse;
  const host = URL.canParse(url) ? new URL(url).host : url;
  try {
    response = await context.egress.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Outrigger', ...headers },
      body: JSON.stringify(body),
      signal: context.signal,
      timeoutMs: sendTimeoutMs,
      maxResponseBytes,
    });
  } catch (error) {
    if (error instanceof EgressRefused) throw new AppError('egress_refused', error.message, { cause: error });
    if (!(error instanceof EgressFailed)) throw error;
    const { code } = (error.cause ?? {}) as { code?: string };
    if (code !== undefined && neverSent.has(code)) throw new AppError('skill_failed', error.message, { cause: error });
    throw new AppError(
      'outcome_unknown',
      `${error.message} It is unknown whether the message arrived. Check at the provider before you send it again.`,
      { cause: error },
    );
  }
  const text = response.body.toString('utf8');
  let answer: JsonValue = text;
  try {
    answer = JSON.parse(text) as JsonValue;
  } catch {
    // A response that is not JSON is kept as text.
  }
  if (response.status >= 200 && response.status < 300) return answer;
  // The URL may contain a token, so the error only contains the host.
  const summary = `${host} answered ${response.status}${text === '' ? '' : `: ${text.slice(0, 300)}`}`;
  if (response.status !== 429 && response.status < 500) throw new AppError('delivery_refused', summary);
  const retryAfter = Number(response.headers['retry-after']);
  const retryAfterSeconds =
    delayOf(answer) ?? (Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : undefined);
  throw new AppError('skill_failed', summary, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
}

/** Whether a header is the hex HMAC-SHA256 of a text, with a prefix. */
export function isHmac(
  key: string | undefined,
  content: string | Buffer,
  presented: string | undefined,
  prefix: string,
): boolean {
  if (key === undefined || presented === undefined) return false;
  return equalSecrets(`${prefix}${createHmac('sha256', key).update(content).digest('hex')}`, presented.toLowerCase());
}
