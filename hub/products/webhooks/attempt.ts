import { maxStoredResponseBytes, retrySeconds } from '../../../shared/contract/webhooks/webhooks.ts';
import { toStorableText } from '../../../shared/json.ts';
import { EgressFailed, EgressRefused } from '../../platform/egress/egress.ts';
import type { Egress, EgressResponse } from '../../platform/egress/egress.ts';
import { retryAfterOf } from '../../platform/egress/retry-after.ts';
import type { AttemptOutcome } from './delivery-store.ts';
import { signatureHeaders } from './signature.ts';

/** Time limit for one attempt, including reading the response body, in milliseconds. */
export const attemptTimeoutMs = 15_000;
const maxRetryAfterSeconds = 86_400;
/** Bytes of a response that are read. The rest of the response is left unread. */
const maxReadResponseBytes = 16 * 1024;

export interface AttemptRequest {
  url: string;
  eventId: string;
  body: string;
  /** Number of attempts made before this one. */
  attempts: number;
  secrets: { secret: string; previous: string | null };
}

/**
 * Makes one attempt at a delivery. While the previous secret is valid, a response of 400, 401 or 403 is retried
 * immediately with the previous secret.
 * @throws the reason of `signal` when `signal` aborts.
 */
export async function attemptDelivery(
  egress: Egress,
  request: AttemptRequest,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  const startedAt = new Date();
  const startedMs = performance.now();
  const { secret, previous } = request.secrets;
  let response = await post(egress, request, { secret, previous }, signal);
  if (previous !== null && 'status' in response && [400, 401, 403].includes(response.status))
    response = await post(egress, request, { secret: previous, previous: null }, signal);
  const measured = { startedAt, responseMs: Math.round(performance.now() - startedMs), endsWebhook: null };
  if ('refusal' in response)
    return { ...measured, ...failureOf(request, null), responseStatus: null, error: response.refusal, response: '' };
  const { status } = response;
  const seen = {
    responseStatus: status,
    response: toStorableText(response.body.subarray(0, maxStoredResponseBytes).toString('utf8')),
  };
  if (status >= 200 && status <= 299)
    return { ...measured, ...seen, status: 'delivered', retryAfterSeconds: null, error: null };
  return {
    ...measured,
    ...seen,
    ...failureOf(request, retryAfterOf(response.headers['retry-after'])),
    error:
      status >= 300 && status <= 399
        ? `The address answered ${status}, and redirects are not followed.`
        : `The address answered ${status}.`,
    endsWebhook: status === 410 ? 'The address answered 410 Gone.' : null,
  };
}

async function post(
  egress: Egress,
  { url, eventId, body }: AttemptRequest,
  secrets: AttemptRequest['secrets'],
  signal: AbortSignal,
): Promise<EgressResponse | { refusal: string }> {
  try {
    return await egress.fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Outrigger-Webhooks/1',
        ...signatureHeaders({ eventId, body }, secrets, Math.floor(Date.now() / 1000)),
      },
      body,
      signal,
      timeoutMs: attemptTimeoutMs,
      maxResponseBytes: maxReadResponseBytes,
      truncatesResponse: true,
      followsRedirects: false,
    });
  } catch (error) {
    if (error instanceof EgressFailed || error instanceof EgressRefused)
      return { refusal: toStorableText(error.message).slice(0, 1_000) };
    throw error;
  }
}

/** The outcome of an attempt that could not be made. */
export const failedWithoutRequest = (request: Pick<AttemptRequest, 'attempts'>, error: string): AttemptOutcome => ({
  startedAt: new Date(),
  responseMs: 0,
  ...failureOf(request, null),
  responseStatus: null,
  error,
  response: '',
  endsWebhook: null,
});

/** The time of the next attempt: the retry schedule, or later when the endpoint sends `Retry-After`. */
function failureOf(
  { attempts }: Pick<AttemptRequest, 'attempts'>,
  retryAfter: number | null,
): Pick<AttemptOutcome, 'status' | 'retryAfterSeconds'> {
  const planned = retrySeconds[attempts];
  if (planned === undefined) return { status: 'exhausted', retryAfterSeconds: null };
  const seconds = planned * (1 + Math.random() / 10);
  return {
    status: 'failed',
    retryAfterSeconds: Math.max(seconds, Math.min(retryAfter ?? 0, maxRetryAfterSeconds)),
  };
}
