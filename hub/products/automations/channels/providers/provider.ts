import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { SessionScope } from '../../../../../shared/contract/automations/sessions.ts';
import { AppError } from '../../../../../shared/errors.ts';
import type { JsonObject, JsonValue } from '../../../../../shared/json.ts';
import { EgressFailed, EgressRefused } from '../../../../platform/egress/egress.ts';
import type { Egress, EgressResponse } from '../../../../platform/egress/egress.ts';

/** The configuration of a channel with its secrets opened. */
export type ChannelConfig = Record<string, string | undefined>;

/** What a provider signs of a call of the inbound endpoint. */
export interface SignedCall {
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
}

/** A call of the inbound endpoint, as it came. */
export interface InboundCall extends SignedCall {
  body: JsonObject;
}

/** A message that came in, whatever provider it came through. */
export interface InboundMessage {
  /** The provider's own id, the same each time it sends the message; null when it names none. */
  messageId: string | null;
  from: string;
  /** Where an answer goes to. */
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

/** How one provider is spoken to. */
export interface ChannelAdapter {
  /** Whether a call carries the provider's own proof that it comes from there. */
  isSigned(config: ChannelConfig, call: SignedCall): boolean;
  /** A check of the provider's that is answered at once. */
  challenge?(body: JsonObject): string | null;
  /** What a call says; empty for what is no message. */
  parse(body: JsonObject): InboundMessage[];
  /** Sends a message; answers the provider's id of it. @throws AppError. */
  send(
    config: ChannelConfig,
    message: OutboundMessage,
    context: SendContext,
  ): Promise<{ providerMessageId: string | null }>;
}

/** Compares two secrets without telling by its time how far they agree. */
export function equalSecrets(left: string | undefined, right: string | undefined): boolean {
  if (left === undefined || right === undefined || left === '' || right === '') return false;
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

export function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** A text at a path of a JSON value, whatever the value really is; undefined when there is none. */
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

/** Items of a list at a path; none when it is no list. */
export function listAt(value: JsonValue | undefined, ...path: (string | number)[]): JsonValue[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

const sendTimeoutMs = 15_000;
const maxResponseBytes = 256 * 1024;
/** Failures to connect: nothing was sent, so that a further try does no harm. */
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
 * @throws AppError `skill_failed` on 429 and 5xx with the provider's own delay, `delivery_refused` on another refusal,
 *   `outcome_unknown` when the connection broke after the message may have gone.
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
      `${error.message} Nobody knows whether the message arrived; look there before you send it again.`,
      { cause: error },
    );
  }
  const text = response.body.toString('utf8');
  let answer: JsonValue = text;
  try {
    answer = JSON.parse(text) as JsonValue;
  } catch {
    // An error page is kept as the text that it is.
  }
  if (response.status >= 200 && response.status < 300) return answer;
  // The address may hold a token, so only the host is named.
  const said = `${host} answered ${response.status}${text === '' ? '' : `: ${text.slice(0, 300)}`}`;
  if (response.status !== 429 && response.status < 500) throw new AppError('delivery_refused', said);
  const asked = Number(response.headers['retry-after']);
  const retryAfterSeconds = delayOf(answer) ?? (Number.isFinite(asked) && asked >= 0 ? asked : undefined);
  throw new AppError('skill_failed', said, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
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
