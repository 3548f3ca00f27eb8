import { AppError } from '../../../../shared/errors.ts';
import type { ModelAnswer, ModelAttempt, ModelRequest } from '../../../engine/index.ts';
import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import { InferenceError } from '../../../platform/inference/inference.ts';
import type { Inference, InferenceEnd, ModelBinding } from '../../../platform/inference/inference.ts';
import { usageOfCall } from './call-usage.ts';
import type { CallUsage } from './call-usage.ts';

/** A model that may be called. */
export interface Candidate {
  name: string;
  /** Null for the hub's own model. */
  modelId: string | null;
  binding: ModelBinding;
  inference: Inference;
  /** Remaining pause in milliseconds. 0 if the model may be called, at least as a probe. */
  pausedMs: number;
  /** Decides whether the model may be called now, and whether the call is a probe. */
  admit(): Promise<Admission>;
  /** Records the result of a call. */
  record(end: CallEnd): void;
}

export type Admission = { kind: 'call'; isProbe: boolean } | { kind: 'paused'; forMs: number };

/** The result of one call of a model. */
export interface CallEnd {
  outcome: string;
  /**
   * What the result shows about the model. A refusal of the request counts as `answered`. `unknown` means that the
   * caller aborted.
   */
  health: 'answered' | 'failed' | 'unknown';
  status: number | null;
  isProbe: boolean;
}

/** The result of one call of a model, for usage and metrics. */
export interface EndedCall extends CallUsage {
  outcome: string;
  ms: number;
}

/** No model answered. `attempts` lists the calls and their outcomes. */
export class ModelsFailed extends AppError {
  readonly attempts: readonly ModelAttempt[];

  constructor(message: string, attempts: readonly ModelAttempt[], retryAfterMs: number | null) {
    super(
      'inference_failed',
      message,
      retryAfterMs === null ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) },
    );
    this.name = 'ModelsFailed';
    this.attempts = attempts;
  }
}

/** Time limit for all attempts together, in milliseconds. */
const budgetMs = 30_000;
const retryPauseMs = 500;
/** Minimum time for an attempt. */
const minAttemptMs = 1_000;
/** Minimum share of a model while enough time is left. With less time few models begin their answer. */
const minShareMs = 5_000;
const maxTries = 2;

const retriedStatuses = new Set([408, 409, 425, 429]);
const retriedKinds: ReadonlySet<InferenceError['kind']> = new Set([
  'connect_refused',
  'connect_timeout',
  'connect_failed',
  'reset',
  'stalled_before_first_part',
  'stalled_after_first_part',
  'stream_error',
  'empty',
  'rubbish',
]);
/** Statuses with their own outcome. Others are reported by their class, for example `http_5xx`. */
const namedStatuses = new Set([400, 401, 402, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504, 529]);

const isRetried = ({ kind, status }: InferenceError) =>
  kind === 'status' ? retriedStatuses.has(status ?? 0) || (status ?? 0) >= 500 : retriedKinds.has(kind);

/** The stable outcome of a failed attempt. */
function outcomeOf({ kind, status }: InferenceError): string {
  if (kind !== 'status') return kind;
  return `http_${namedStatuses.has(status ?? 0) ? status : `${Math.floor((status ?? 0) / 100)}xx`}`;
}

/**
 * The effect of an error on the health of the model.
 * An error caused by the request, or an empty answer, does not count as a failure. Otherwise one caller could open the
 * breaker for all others.
 */
function healthOf({ kind, status }: InferenceError): CallEnd['health'] {
  const isOfRequest =
    kind === 'context_too_long' ||
    kind === 'content_filter' ||
    kind === 'empty' ||
    (kind === 'status' && (status === 400 || status === 422));
  return isOfRequest ? 'answered' : 'failed';
}

export interface FailoverOptions<Model extends Candidate = Candidate> {
  clock: Clock;
  request: Omit<ModelRequest, 'tenantId' | 'preferredModel'>;
  /** False if parts are streamed to the caller. Then a failure after the first part is final. */
  holdsParts: boolean;
  /** Called with the result of each call, before the answer continues. */
  onCall: (model: Model, call: EndedCall) => void;
}

/**
 * Calls models in order until one answers, within 30 s in total.
 * It retries once with the same model after connection errors, stalls, 408, 409, 429, 5xx and invalid responses, after
 * the requested delay if the share of the model permits.
 * It calls the next model immediately after an invalid certificate, a refused request (400, 413, too long, content filter)
 * and errors that need an admin (401, 403, 404).
 * @throws ModelsFailed; the reason of the signal.
 */
export async function* failOver<Model extends Candidate>(
  candidates: readonly Model[],
  { clock, request, holdsParts, onCall }: FailoverOptions<Model>,
): AsyncGenerator<string, ModelAnswer, undefined> {
  const { signal } = request;
  const startedAt = clock.now();
  const endsAt = startedAt + budgetMs;
  const attempts: ModelAttempt[] = [];
  const problems: string[] = [];
  let soonestMs = Number.POSITIVE_INFINITY;
  let left = candidates.filter(({ pausedMs }) => pausedMs === 0).length;
  for (const candidate of candidates) {
    signal.throwIfAborted();
    const { modelId } = candidate;
    const { model } = candidate.binding;
    if (candidate.pausedMs === 0 && endsAt - clock.now() < minAttemptMs) {
      problems.push(`there was no time left for ${candidate.name}`);
      continue;
    }
    const admission: Admission =
      candidate.pausedMs > 0 ? { kind: 'paused', forMs: candidate.pausedMs } : await candidate.admit();
    // A model that hangs must leave time for the models after it.
    const leftMs = endsAt - clock.now();
    const shareMs = Math.min(leftMs, Math.max(minShareMs, leftMs / Math.max(1, left)));
    if (candidate.pausedMs === 0) left -= 1;
    if (admission.kind === 'paused') {
      attempts.push({ modelId, model, ms: 0, outcome: 'breaker_open' });
      problems.push(`${candidate.name} is paused because it failed too often`);
      soonestMs = Math.min(soonestMs, admission.forMs);
      continue;
    }
    const { isProbe } = admission;
    const shareEndsAt = clock.now() + shareMs;
    for (let tries = 1; ; tries += 1) {
      const attemptStartedAt = clock.now();
      const call = new Call(candidate, { clock, request, shareEndsAt, endsAt });
      let isSettled = false;
      const settle = (
        end: Pick<CallEnd, 'outcome' | 'health'> & Partial<CallEnd>,
        callUsage: CallUsage,
        detail: string | null = null,
      ) => {
        isSettled = true;
        const ms = Math.round(clock.now() - attemptStartedAt);
        attempts.push({ modelId, model, ms, outcome: end.outcome, ...(detail === null ? {} : { detail }) });
        candidate.record({ status: null, isProbe, ...end });
        onCall(candidate, { outcome: end.outcome, ms, ...callUsage });
      };
      try {
        const { usage, truncated } = yield* call.run(holdsParts);
        settle({ outcome: 'answered', health: 'answered' }, usageOfCall(request, call.text, usage, null));
        const latencyMs = Math.round(clock.now() - startedAt);
        return { text: call.text, usage, truncated, model, latencyMs, attempts };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof InferenceError)) throw error;
        // The reader also determines the duration of a stream, and a short share proves nothing about the model.
        const isInconclusive = error.kind === 'timeout' && (call.text === '' ? shareMs < minShareMs : !holdsParts);
        settle(
          { outcome: outcomeOf(error), health: isInconclusive ? 'unknown' : healthOf(error), status: error.status },
          usageOfCall(request, call.text, null, error),
          error.providerMessage,
        );
        problems.push(error.message.replace(/\.$/, ''));
        if (call.text !== '' && !holdsParts) throw failed(problems, attempts, null);
        const pauseMs = Math.max(retryPauseMs, error.retryAfterMs ?? 0);
        const hasTime = clock.now() + pauseMs + minAttemptMs <= shareEndsAt;
        // A probe is a single call.
        if (tries === maxTries || isProbe || !isRetried(error) || !hasTime) break;
        await waitFor(clock, pauseMs, signal);
      } finally {
        // The caller stopped reading.
        if (!isSettled)
          settle(
            { outcome: 'aborted', health: call.text === '' ? 'unknown' : 'answered' },
            usageOfCall(request, call.text, null, null),
          );
      }
    }
  }
  const isEachPaused = attempts.every(({ outcome }) => outcome === 'breaker_open');
  throw failed(problems, attempts, isEachPaused ? soonestMs : null);
}

function failed(problems: string[], attempts: ModelAttempt[], pausedMs: number | null): ModelsFailed {
  const message =
    pausedMs === null
      ? `No model answered: ${problems.join('; ').slice(0, 1000)}.`
      : `No model can be called now, because each failed too often: try again in ${Math.max(1, Math.ceil(pausedMs / 1000))} s.`;
  return new ModelsFailed(message, attempts, pausedMs);
}

/**
 * One call of one model. Its deadline is the end of its share until the answer begins, then the end of the total time.
 */
class Call {
  text = '';
  readonly #candidate: Candidate;
  readonly #options: Pick<FailoverOptions, 'clock' | 'request'> & { shareEndsAt: number; endsAt: number };

  constructor(
    candidate: Candidate,
    options: Pick<FailoverOptions, 'clock' | 'request'> & { shareEndsAt: number; endsAt: number },
  ) {
    this.#candidate = candidate;
    this.#options = options;
  }

  async *run(holdsParts: boolean): AsyncGenerator<string, InferenceEnd, undefined> {
    const { binding, inference } = this.#candidate;
    const { clock, request, shareEndsAt, endsAt } = this.#options;
    const late = new AbortController();
    const setDeadline = (at: number) => clock.after(at - clock.now(), () => late.abort());
    let deadline = setDeadline(shareEndsAt);
    try {
      const parts = inference.stream(binding, { ...request, signal: AbortSignal.any([request.signal, late.signal]) });
      try {
        for (;;) {
          const { done, value } = await parts.next();
          if (done === true) return value;
          if (this.text === '') {
            deadline[Symbol.dispose]();
            deadline = setDeadline(endsAt);
          }
          this.text += value;
          if (!holdsParts) yield value;
        }
      } finally {
        await parts.return(undefined as never);
      }
    } catch (error) {
      if (late.signal.aborted && !request.signal.aborted)
        throw new InferenceError('timeout', `${binding.model} did not answer in the time that was left for it.`);
      throw error;
    } finally {
      deadline[Symbol.dispose]();
    }
  }
}
