import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import { isRetryable, outcomeOf, SpeechFailed, toSpeechFailed } from './failure.ts';
import type { SpeechStage } from './failure.ts';

/** A call of a binding that ended, for the metrics. */
export interface SpeechCall {
  stage: SpeechStage;
  /** `done`, `aborted`, or how it failed. */
  outcome: string;
  seconds: number;
}

export interface SpeechOptions {
  clock: Clock;
  /** Told how each call ended. */
  onCall: (call: SpeechCall) => void;
}

interface RetryOptions extends SpeechOptions {
  stage: SpeechStage;
  budgetMs: number;
  signal: AbortSignal;
}

const maxAttempts = 2;
const retryDelayMs = 250;
/** A try that has less is not begun. */
const minAttemptMs = 1_000;

/**
 * Does something, once more where its failure may pass, has brought nothing yet, and the time has room for it: 429 waits as long as it says.
 * @param attempt is told how many milliseconds it has.
 * @throws SpeechFailed, or the signal's reason.
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
      // Its caller went away in the middle of it.
      if (!isReported) report('aborted');
    }
  }
}
