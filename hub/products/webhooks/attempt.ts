import { maxStoredResponseBytes, retrySeconds } from '../../../shared/contract/webhooks/webhooks.ts';
import { toStorableText } from '../../../shared/json.ts';
import { EgressFailed, EgressRefused } from '../../platform/egress/egress.ts';
import type { Egress, EgressResponse } from '../../platform/egress/egress.ts';
import type { AttemptOutcome } from './delivery-store.ts';
import { signatureHeaders } from './signature.ts';

/** What an answer may take, its body included, in milliseconds. */
export const attemptTimeoutMs = 15_000;
const maxRetryAfterSeconds = 86_400;
/** Of an answer so much is read; whatever follows is left unread. */
const readAnswerBytes = 16 * 1024;

export interface AttemptRequest {
  url: string;
  eventId: string;
  body: string;
  /** How many there were before. */
  attempts: number;
  secrets: { secret: string; previous: string | null };
}

/**
 * Makes one attempt at a delivery; while an old secret still counts, one that is refused with 400, 401 or 403 is repeated with that at once.
 * @throws the reason of `signal` when that aborts.
 */
export async function attemptDelivery(
  egress: Egress,
  request: AttemptRequest,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  const startedAt = new Date();
  const began = performance.now();
  const { secret, previous } = request.secrets;
  let answer = await post(egress, request, { secret, previous }, signal);
  if (previous !== null && 'status' in answer && [400, 401, 403].includes(answer.status))
    answer = await post(egress, request, { secret: previous, previous: null }, signal);
  const measured = { startedAt, responseMs: Math.round(performance.now() - began), endsWebhook: null };
  if ('refusal' in answer)
    return { ...measured, ...failed(request, null), responseStatus: null, error: answer.refusal, response: '' };
  const { status } = answer;
  const seen = {
    responseStatus: status,
    response: toStorableText(answer.body.subarray(0, maxStoredResponseBytes).toString('utf8')),
  };
  if (status >= 200 && status <= 299)
    return { ...measured, ...seen, status: 'delivered', retryAfterSeconds: null, error: null };
  return {
    ...measured,
    ...seen,
    ...failed(request, retryAfterOf(answer.headers['retry-after'])),
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
      maxResponseBytes: readAnswerBytes,
      cutsResponse: true,
      followsRedirects: false,
    });
  } catch (error) {
    if (error instanceof EgressFailed || error instanceof EgressRefused)
      return { refusal: toStorableText(error.message).slice(0, 1_000) };
    throw error;
  }
}

/** What came of an attempt that could not be made. */
export const unmadeAttempt = (request: Pick<AttemptRequest, 'attempts'>, error: string): AttemptOutcome => ({
  startedAt: new Date(),
  responseMs: 0,
  ...failed(request, null),
  responseStatus: null,
  error,
  response: '',
  endsWebhook: null,
});

/** When to try again: by the schedule, or later where the address asks for that. */
function failed(
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

/** The seconds that a `Retry-After` asks for, as a number or as a date. */
export function retryAfterOf(header: string | undefined): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, (at - Date.now()) / 1000);
}
