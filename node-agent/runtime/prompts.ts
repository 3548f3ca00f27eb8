import { randomUUID } from 'node:crypto';
import { promptAnswers } from '../../shared/companion/state.ts';
import type { Prompt, PromptAnswer } from '../../shared/companion/state.ts';
import { CommandError } from './commands/handler.ts';
import { CompanionError } from './data-folder.ts';

/** What is asked; the rest of a prompt is about when. */
export type Question = Omit<Prompt, 'id' | 'askedAt' | 'expiresAt'>;

/** Commands that may wait at once: more than a person would answer, and too few to fill the memory. */
const maxWaiting = 16;
/** Characters of all that wait, as JSON: each state that is told has them whole. */
const maxCharacters = 8_000_000;

interface OpenPrompt {
  prompt: Prompt;
  /** What tells it from others; the same again gets the same answer. */
  key: string;
  characters: number;
  answer: (answer: PromptAnswer) => void;
}

/** Commands that wait for the word of this machine's owner, who may answer from the window or the command line. */
export class Prompts {
  readonly #open = new Map<string, OpenPrompt>();
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

  /**
   * What the owner says.
   * @param endsInMs When nobody wants the answer any more.
   * @throws CommandError `denied_by_device` when they say nothing in time, or too many wait already; the signal's reason.
   */
  async ask(
    question: Question,
    { key, signal, endsInMs = Infinity }: { key: string; signal: AbortSignal; endsInMs?: number },
  ): Promise<PromptAnswer> {
    const waitMs = Math.min(this.#waitMs, endsInMs);
    if (waitMs <= 0)
      throw new CommandError(
        'denied_by_device',
        'There is no time left to ask the owner of this machine: the companion received the command too late.',
      );
    if (this.#open.size >= maxWaiting)
      throw new CommandError(
        'denied_by_device',
        `${maxWaiting} commands wait for the word of this machine's owner already.`,
      );
    const characters = JSON.stringify(question).length;
    const waitingCharacters = [...this.#open.values()].reduce((sum, open) => sum + open.characters, 0);
    if (characters > maxCharacters)
      throw new CommandError(
        'denied_by_device',
        `What would run has ${characters} characters; nobody could look through it.`,
      );
    if (waitingCharacters + characters > maxCharacters)
      throw new CommandError(
        'denied_by_device',
        "Too much waits for the word of this machine's owner already; ask again when they have answered.",
      );
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
            `The owner of this machine was asked, and did not answer within ${Math.round(waitMs / 1000)} s.`,
            { reason: 'owner_did_not_answer' },
          ),
        ),
      waitMs,
    );
    const prompt: Prompt = {
      ...question,
      id,
      askedAt: new Date(now).toISOString(),
      expiresAt: new Date(now + waitMs).toISOString(),
    };
    this.#open.set(id, { prompt, key, characters, answer: answered.resolve });
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
    if (answer === 'once' || answer === 'deny') return;
    // What is said for longer than once is said of all that wait for the same.
    for (const other of this.#open.values()) if (other.key === open.key) other.answer(answer);
  }
}
