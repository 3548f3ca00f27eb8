import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import { isRetryable, outcomeOf, SpeechFailed, toSpeechFailed } from './failure.ts';
import type { SpeechStage } from './failure.ts';

/** A finished call of a speech provider, for the metrics. */
export interface SpeechCall {
  stage: SpeechStage;
  /** `done`, `aborted` or the label of a failure. */
  outcome: string;
  seconds: number;
}

export interface SpeechOptions {
  clock: Clock;
  /** Called when a call ends. */
  onCall: (call: SpeechCall) => void;
}

interface RetryOptions extends SpeechOptions {
  stage: SpeechStage;
  budgetMs: number;
  signal: AbortSignal;
}

const maxAttempts = 2;
const retryDelayMs = 250;
/** An attempt with less remaining time is not started. */
const minAttemptMs = 1_000;

/**
 * Runs a call, and retries it once if the failure is retryable, no part was yielded and enough time is left.
 * The delay is at least the `Retry-After` of the provider.
 * @param run Receives the remaining time in milliseconds.
 * @throws SpeechFailed, or the reason of the signal.
 */
export async function* withRetry<Part>(
  { stage, budgetMs, signal, clock, onCall }: RetryOptions,
  run: (leftMs: number) => AsyncIterable<Part>,
): AsyncGenerator<Part> {
  const endsAt = clock.now() + budgetMs;
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    const startedAt = clock.now();
    let isReported = false;
    const report = (outcome: string) => {
      isReported = true;
      onCall({ stage, outcome, seconds: (clock.now() - startedAt) / 1000 });
    };
    let hasPart = false;
    try {
      for await (const part of run(endsAt - startedAt)) {
        hasPart = true;
        yield part;
      }
      report('done');
      return;
    } catch (error) {
      signal.throwIfAborted();
      const failed = toSpeechFailed(error, stage);
      if (!(failed instanceof SpeechFailed)) throw failed;
      report(outcomeOf(failed));
      const delayMs = Math.max(retryDelayMs, failed.retryAfterMs ?? 0);
      if (hasPart || attempt === maxAttempts || !isRetryable(failed) || clock.now() + delayMs + minAttemptMs > endsAt)
        throw failed;
      await waitFor(clock, delayMs, signal);
    } finally {
      // The caller stopped reading.
      if (!isReported) report('aborted');
    }
  }
}
