import { randomUUID } from 'node:crypto';
import { promptAnswers } from '../../shared/companion/state.ts';
import type { Prompt, PromptAnswer } from '../../shared/companion/state.ts';
import { CommandError } from './commands/handler.ts';
import { CompanionError } from './data-folder.ts';

/** What is asked; the rest of a prompt is about when. */
export type Question = Omit<Prompt, 'id' | 'askedAt' | 'expiresAt'>;

interface Open {
  prompt: Prompt;
  answer: (answer: PromptAnswer) => void;
}

/** Commands that wait for the word of this machine's owner, who may answer from the window or the command line. */
export class Prompts {
  readonly #open = new Map<string, Open>();
  readonly #waitMs: number;
  readonly #onChange: () => void;

  /** @param waitMs How long the owner has; then the answer is no. */
  constructor(waitMs: number, onChange: () => void) {
    this.#waitMs = waitMs;
    this.#onChange = onChange;
  }

  /** Those that wait, the oldest first. */
  get waiting(): Prompt[] {
    return [...this.#open.values()].map(({ prompt }) => prompt);
  }

  /** What the owner says. @throws CommandError `denied_by_device` when they say nothing in time; the signal's reason. */
  async ask(question: Question, signal: AbortSignal): Promise<PromptAnswer> {
    const id = randomUUID();
    const now = Date.now();
    const answered = Promise.withResolvers<PromptAnswer>();
    const onAbort = () => answered.reject(signal.reason as Error);
    signal.throwIfAborted();
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(
      () =>
        answered.reject(
          new CommandError(
            'denied_by_device',
            `The owner of this machine was asked, and did not answer within ${Math.round(this.#waitMs / 1000)} s.`,
          ),
        ),
      this.#waitMs,
    );
    const prompt: Prompt = {
      ...question,
      id,
      askedAt: new Date(now).toISOString(),
      expiresAt: new Date(now + this.#waitMs).toISOString(),
    };
    this.#open.set(id, { prompt, answer: answered.resolve });
    this.#onChange();
    try {
      return await answered.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      this.#open.delete(id);
      this.#onChange();
    }
  }

  /** @throws CompanionError when nothing of that id waits any more. */
  answer(id: string, answer: PromptAnswer): void {
    const open = this.#open.get(id);
    if (open === undefined)
      throw new CompanionError(
        `No prompt ${id} waits for an answer any more; those that do: outrigger-companion prompts. An answer is one of ${promptAnswers.join(', ')}.`,
      );
    open.answer(answer);
  }
}
