import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import { mayPass, outcomeOf, SpeechFailed, toSpeechFailed } from './failure.ts';
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

interface Trying extends SpeechOptions {
  stage: SpeechStage;
  budgetMs: number;
  signal: AbortSignal;
}

const maxTries = 2;
const retryPauseMs = 250;
/** A try that has less is not begun. */
const leastTryMs = 1_000;

/**
 * Does something, once more where its failure may pass, has brought nothing yet, and the time has room for it: 429 waits as long as it says.
 * @param attempt is told how many milliseconds it has.
 * @throws SpeechFailed, or the signal's reason.
 */
export async function* withTries<Part>(
  { stage, budgetMs, signal, clock, onCall }: Trying,
  attempt: (leftMs: number) => AsyncIterable<Part>,
): AsyncGenerator<Part> {
  const endsAt = clock.now() + budgetMs;
  for (let tries = 1; ; tries += 1) {
    signal.throwIfAborted();
    const begunAt = clock.now();
    let isSettled = false;
    const settle = (outcome: string) => {
      isSettled = true;
      onCall({ stage, outcome, seconds: (clock.now() - begunAt) / 1000 });
    };
    let hasPart = false;
    try {
      for await (const part of attempt(endsAt - begunAt)) {
        hasPart = true;
        yield part;
      }
      settle('done');
      return;
    } catch (error) {
      signal.throwIfAborted();
      const failed = toSpeechFailed(error, stage);
      if (!(failed instanceof SpeechFailed)) throw failed;
      settle(outcomeOf(failed));
      const pauseMs = Math.max(retryPauseMs, failed.retryAfterMs ?? 0);
      if (hasPart || tries === maxTries || !mayPass(failed) || clock.now() + pauseMs + leastTryMs > endsAt)
        throw failed;
      await waitFor(clock, pauseMs, signal);
    } finally {
      // Its caller went away in the middle of it.
      if (!isSettled) settle('aborted');
    }
  }
}
