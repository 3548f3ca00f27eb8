import { APICallError } from '@ai-sdk/provider';
import { EgressFailed, EgressRefused } from '../egress/egress.ts';
import type { EgressFailure } from '../egress/failure.ts';

/**
 * Why a model returned no answer:
 * - Connection: `address_refused` by the egress guard, `connect_refused`, `connect_timeout`, `connect_failed`, `tls`,
 *   `no_tls`, `reset`.
 * - Time limits: `stalled_before_first_part`, `stalled_after_first_part` and `timeout`.
 * - Response: `status` for an HTTP error without a kind of its own, `stream_error` for an error event in the middle of
 *   an answer, `context_too_long`, `content_filter`, `empty` for an answer without text, and `rubbish` for unusable
 *   data: HTML, truncated JSON, a stream without its end event, or more than 8 MiB.
 */
export type InferenceFailure =
  | 'address_refused'
  | 'connect_refused'
  | 'connect_timeout'
  | 'connect_failed'
  | 'tls'
  | 'no_tls'
  | 'reset'
  | 'stalled_before_first_part'
  | 'stalled_after_first_part'
  | 'timeout'
  | 'status'
  | 'stream_error'
  | 'context_too_long'
  | 'content_filter'
  | 'empty'
  | 'rubbish';

/**
 * A model call failed. The message names the model and the problem, and contains nothing of the prompt or the answer.
 * A provider's message can quote both, so it is kept, without secrets, only for statuses about the key, the account or
 * the model.
 */
export class InferenceError extends Error {
  readonly kind: InferenceFailure;
  /** HTTP status of the response; null when there was none. */
  readonly status: number | null;
  /** Value of `Retry-After`, in milliseconds; null when absent. */
  readonly retryAfterMs: number | null;
  /** Tokens that the failed call used, as counted by the provider; null when unknown. */
  readonly usage: { inputTokens: number; outputTokens: number } | null;
  /**
   * The provider's message about the key, the account or the model, without secrets; null when there is none or it
   * could quote the prompt.
   */
  readonly providerMessage: string | null;

  constructor(
    kind: InferenceFailure,
    message: string,
    {
      status = null,
      retryAfterMs = null,
      usage = null,
      providerMessage = null,
    }: {
      status?: number | null;
      retryAfterMs?: number | null;
      usage?: InferenceError['usage'];
      providerMessage?: string | null;
    } = {},
  ) {
    super(message);
    this.name = 'InferenceError';
    this.kind = kind;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.usage = usage;
    this.providerMessage = providerMessage;
  }
}

/**
 * Error codes and texts for a prompt that exceeds the context window: OpenAI, Anthropic, vLLM, llama.cpp, Mistral,
 * Gemini, TGI, Groq.
 */
const tooLongPattern =
  /context_length_exceeded|exceed_context_size|request_too_large|string_above_max_length|maximum context length|context (length|window|size|limit)|prompt is too long|too many (input )?tokens|input token count|maximum (number of tokens|model length)|max_new_tokens`? must be|reduce the length of (the|your) (messages|prompt|input)/i;
/** Error codes and texts of content filters: OpenAI, Azure, Gemini, OpenRouter. */
const filteredPattern =
  /content_filter|content_policy_violation|ResponsibleAIPolicyViolation|content management policy|prohibited_content|input was flagged|content[_ ]moderation/i;
/** Statuses for an invalid request, whose message is matched against the patterns above. */
const requestStatuses = new Set([400, 403, 413, 422]);

const statusOfType: Readonly<Record<string, number>> = {
  authentication_error: 401,
  invalid_api_key: 401,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  invalid_request_error: 400,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  overloaded_error: 529,
};

const kindOfEgress: Readonly<Record<EgressFailure, InferenceFailure>> = {
  refused: 'connect_refused',
  unresolved: 'connect_failed',
  unreachable: 'connect_failed',
  connect_timeout: 'connect_timeout',
  tls: 'tls',
  no_tls: 'no_tls',
  reset: 'reset',
  first_byte_timeout: 'stalled_before_first_part',
  idle_timeout: 'stalled_after_first_part',
  timeout: 'timeout',
  too_large: 'rubbish',
  malformed: 'rubbish',
  other: 'connect_failed',
};

type Fields = Record<string, unknown>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse((text ?? '').slice(0, 100_000));
  } catch {
    return null;
  }
}

/** Reads status, code and message of a provider's error, from an HTTP response or an event in a stream. */
function readProviderError(error: unknown): { status: number | null; code: string; allText: string; message: string } {
  const body = APICallError.isInstance(error) ? parseJson(error.responseBody) : (fieldsOf(error)['data'] ?? error);
  const outer = fieldsOf(body);
  const inner = typeof outer['error'] === 'object' ? fieldsOf(outer['error']) : outer;
  const codes = [inner['code'], inner['type'], inner['status'], fieldsOf(inner['innererror'])['code']];
  const texts = codes.filter((code) => typeof code === 'string');
  const number = [fieldsOf(error)['statusCode'], ...codes].find(
    (code) => typeof code === 'number' && code >= 100 && code <= 599,
  );
  const allText = [
    ...texts,
    inner['message'],
    outer['error'],
    fieldsOf(error)['message'],
    body === null ? fieldsOf(error)['responseBody'] : '',
  ]
    .filter((word) => typeof word === 'string')
    .join(' ')
    .slice(0, 10_000);
  return {
    status: typeof number === 'number' ? number : (texts.flatMap((text) => statusOfType[text] ?? [])[0] ?? null),
    code: (texts[0] ?? '').replaceAll(/[^\w.-]/g, '').slice(0, 60),
    allText,
    message: [inner['message'], outer['error']].find((text) => typeof text === 'string') ?? '',
  };
}

/** Statuses about the key, the account or the model. Their messages do not quote the prompt. */
const accountStatuses = new Set([401, 402, 403, 404, 429]);
const maxMessageLength = 300;

/** The provider's message in one line, without anything that resembles a key. */
function withoutSecrets(text: string, apiKey: string | null): string {
  const plain = apiKey !== null && apiKey.length >= 8 ? text.replaceAll(apiKey, '[key removed]') : text;
  return plain
    .replaceAll(/(?<!\S)\S*?\*{3}\S*/g, '[key removed]')
    .replaceAll(/\b(?:sk|pk|key|api|token|gsk|xai)[-_][\w.-]{6,}/gi, '[key removed]')
    .replaceAll(/[\w+/=-]{32,}/g, '[key removed]')
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, maxMessageLength);
}

/** Parses a `Retry-After` header to milliseconds; null when it is missing or invalid. */
export function parseRetryAfter(header: string | undefined, nowMs = Date.now()): number | null {
  const text = header?.trim() ?? '';
  if (text === '') return null;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

/**
 * Converts any error of a call to an InferenceError. Only this function knows the error formats of the providers.
 * @param hasPart whether a part of the answer had arrived.
 * @param apiKey is removed from the provider's message.
 */
export function toInferenceError(
  error: unknown,
  model: string,
  hasPart: boolean,
  apiKey: string | null = null,
): InferenceError {
  if (error instanceof InferenceError) return error;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof EgressRefused) return new InferenceError('address_refused', cause.message);
    if (cause instanceof EgressFailed) {
      const kind = kindOfEgress[cause.failure];
      // Bytes that are not part of an answer, such as a keep-alive comment, do not count as its beginning.
      return new InferenceError(
        kind === 'stalled_after_first_part' && !hasPart ? 'stalled_before_first_part' : kind,
        `${model}: ${cause.message}`,
      );
    }
  }
  const { status, code, allText, message } = readProviderError(error);
  if (status === null || (status >= 200 && status <= 299)) {
    if (tooLongPattern.test(allText))
      return new InferenceError('context_too_long', `The text exceeds the context window of ${model}.`);
    if (filteredPattern.test(allText)) return filterRefused(model);
    // An error event of the provider is a plain object. An Error instance comes from the parser.
    return error instanceof Error
      ? new InferenceError('rubbish', `${model} returned no usable answer.`)
      : new InferenceError(
          'stream_error',
          `${model} ended its answer with an error${code === '' ? '' : ` (${code})`}.`,
        );
  }
  if (status === 413 || (requestStatuses.has(status) && tooLongPattern.test(allText)))
    return new InferenceError('context_too_long', `The text exceeds the context window of ${model} (${status}).`, {
      status,
    });
  if (requestStatuses.has(status) && filteredPattern.test(allText)) return filterRefused(model, status);
  const headers = APICallError.isInstance(error) ? error.responseHeaders : undefined;
  const shown = accountStatuses.has(status) ? withoutSecrets(message.slice(0, 10_000), apiKey) : '';
  const answered = `${model} answered ${status}${code === '' ? '' : ` (${code})`}`;
  return new InferenceError('status', shown === '' ? `${answered}.` : `${answered}: ${shown.replace(/\.$/, '')}.`, {
    status,
    providerMessage: shown === '' ? null : shown,
    retryAfterMs: parseRetryAfter(headers?.['retry-after']),
  });
}

/** The content filter of the provider blocked the answer. */
export const filterRefused = (model: string, status: number | null = null, usage: InferenceError['usage'] = null) =>
  new InferenceError('content_filter', `${model}'s content filter refused to answer.`, { status, usage });
