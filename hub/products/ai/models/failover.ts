import { AppError } from '../../../../shared/errors.ts';
import type { ModelAnswer, ModelAttempt, ModelRequest } from '../../../engine/index.ts';
import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import { InferenceError } from '../../../platform/inference/inference.ts';
import type { Inference, InferenceEnd, ModelBinding } from '../../../platform/inference/inference.ts';
import { takenBy } from './taken-tokens.ts';
import type { Taken } from './taken-tokens.ts';

/** A model that may be asked. */
export interface Candidate {
  name: string;
  /** Null for the hub's own. */
  modelId: string | null;
  binding: ModelBinding;
  inference: Inference;
  /** For how long it is left alone, as far as is known, in milliseconds; 0 when it may be asked, if only to see. */
  pausedMs: number;
  /** Says whether it may be asked now, and as what. */
  admit(): Promise<Admission>;
  /** Takes note of how a call of it ended. */
  record(end: CallEnd): void;
}

export type Admission = { kind: 'call'; isProbe: boolean } | { kind: 'paused'; forMs: number };

/** How one call of a model ended. */
export interface CallEnd {
  outcome: string;
  /** What it says of the model: it `answered`, if only that it will not; it `failed`; or nothing, because its caller went away. */
  health: 'answered' | 'failed' | 'unknown';
  status: number | null;
  isProbe: boolean;
}

/** What one call of a model came to, for whoever counts. */
export interface EndedCall extends Taken {
  outcome: string;
  ms: number;
}

/** No model answered. `attempts` says which were asked, and what came of it. */
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

/** For one inference with all its tries, in milliseconds. */
const budgetMs = 30_000;
const retryPauseMs = 500;
/** A try that has less is not begun. */
const leastTryMs = 1_000;
/** What a model gets at least of the time, where so much is left: with less hardly any would come to begin its answer. */
const leastShareMs = 5_000;
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
/** Statuses that keep their own word; of the others their hundred is enough. */
const namedStatuses = new Set([400, 401, 402, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504, 529]);

const isRetried = ({ kind, status }: InferenceError) =>
  kind === 'status' ? retriedStatuses.has(status ?? 0) || (status ?? 0) >= 500 : retriedKinds.has(kind);

/** The stable word of an attempt that failed. */
function outcomeOf({ kind, status }: InferenceError): string {
  if (kind !== 'status') return kind;
  return `http_${namedStatuses.has(status ?? 0) ? status : `${Math.floor((status ?? 0) / 100)}xx`}`;
}

/**
 * A model that refuses one request for what stands in it, or was talked into an answer without a word, is none the worse for it: one caller must not close it to
 * all others.
 */
function healthOf({ kind, status }: InferenceError): CallEnd['health'] {
  const isOfRequest =
    kind === 'context_too_long' ||
    kind === 'content_filter' ||
    kind === 'empty' ||
    (kind === 'status' && (status === 400 || status === 422));
  return isOfRequest ? 'answered' : 'failed';
}

export interface FailoverOptions<Asked extends Candidate = Candidate> {
  clock: Clock;
  request: Omit<ModelRequest, 'tenantId' | 'preferredModel'>;
  /** False where parts are shown as they come: then no other model goes on with an answer that has begun. */
  holdsParts: boolean;
  /** Told how each call ended, before its answer goes on. */
  onCall: (asked: Asked, call: EndedCall) => void;
}

/**
 * Asks models in their order until one answers; all of it together has 30 s. What may pass is tried once more with the same model: a connection that can't be made or breaks,
 * silence, 408, 409, 429, 5xx and rubbish, after as long as the model asks for if its share of the time has that. At once to the next go a certificate
 * that does not hold, what the request itself is refused for (400, 413, too long a text, a content filter), and what only an admin can mend (401, 403, 404).
 * @throws ModelsFailed; the signal's reason when it aborts.
 */
export async function* failOver<Asked extends Candidate>(
  candidates: readonly Asked[],
  { clock, request, holdsParts, onCall }: FailoverOptions<Asked>,
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
    if (candidate.pausedMs === 0 && endsAt - clock.now() < leastTryMs) {
      problems.push(`there was no time left for ${candidate.name}`);
      continue;
    }
    const admission: Admission =
      candidate.pausedMs > 0 ? { kind: 'paused', forMs: candidate.pausedMs } : await candidate.admit();
    // A model that hangs must leave time for those after it.
    const leftMs = endsAt - clock.now();
    const shareMs = Math.min(leftMs, Math.max(leastShareMs, leftMs / Math.max(1, left)));
    if (candidate.pausedMs === 0) left -= 1;
    if (admission.kind === 'paused') {
      attempts.push({ modelId, model, ms: 0, outcome: 'breaker_open' });
      problems.push(`${candidate.name} is left alone for a while, because it failed too often`);
      soonestMs = Math.min(soonestMs, admission.forMs);
      continue;
    }
    const { isProbe } = admission;
    const shareEndsAt = clock.now() + shareMs;
    for (let tries = 1; ; tries += 1) {
      const begunAt = clock.now();
      const call = new Call(candidate, { clock, request, shareEndsAt, endsAt });
      let isSettled = false;
      const settle = (
        end: Pick<CallEnd, 'outcome' | 'health'> & Partial<CallEnd>,
        taken: Taken,
        detail: string | null = null,
      ) => {
        isSettled = true;
        const ms = Math.round(clock.now() - begunAt);
        attempts.push({ modelId, model, ms, outcome: end.outcome, ...(detail === null ? {} : { detail }) });
        candidate.record({ status: null, isProbe, ...end });
        onCall(candidate, { outcome: end.outcome, ms, ...taken });
      };
      try {
        const { usage, truncated } = yield* call.run(holdsParts);
        settle({ outcome: 'answered', health: 'answered' }, takenBy(request, call.text, usage, null));
        const latencyMs = Math.round(clock.now() - startedAt);
        return { text: call.text, usage, truncated, model, latencyMs, attempts };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof InferenceError)) throw error;
        // How long a stream takes is its reader's doing, too; and time that hardly sufficed proves nothing.
        const isUnfair = error.kind === 'timeout' && (call.text === '' ? shareMs < leastShareMs : !holdsParts);
        settle(
          { outcome: outcomeOf(error), health: isUnfair ? 'unknown' : healthOf(error), status: error.status },
          takenBy(request, call.text, null, error),
          error.words,
        );
        problems.push(error.message.replace(/\.$/, ''));
        if (call.text !== '' && !holdsParts) throw failed(problems, attempts, null);
        const pauseMs = Math.max(retryPauseMs, error.retryAfterMs ?? 0);
        const hasTime = clock.now() + pauseMs + leastTryMs <= shareEndsAt;
        // Only one call may find out whether a model is back.
        if (tries === maxTries || isProbe || !isRetried(error) || !hasTime) break;
        await waitFor(clock, pauseMs, signal);
      } finally {
        // Its caller went away in the middle of it.
        if (!isSettled)
          settle(
            { outcome: 'aborted', health: call.text === '' ? 'unknown' : 'answered' },
            takenBy(request, call.text, null, null),
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
      : `No model can be asked now, because each failed too often: try again in ${Math.max(1, Math.ceil(pausedMs / 1000))} s.`;
  return new ModelsFailed(message, attempts, pausedMs);
}

/** One call of one model, within its time: its share until the answer begins, and then all that is left. */
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
