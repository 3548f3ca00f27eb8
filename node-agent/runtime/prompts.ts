import { randomUUID } from 'node:crypto';
import { commandLine } from '../../shared/command-line.ts';
import { promptAnswers } from '../../shared/companion/state.ts';
import type { Prompt, PromptAnswer } from '../../shared/companion/state.ts';
import { CommandError } from './commands/handler.ts';
import { CompanionError } from './data-folder.ts';
import type { PromptEvent } from './event-log.ts';

/** The content of a prompt, without its ID and times. */
export type Question = Omit<Prompt, 'id' | 'askedAt' | 'expiresAt'>;

/** Prompts that may be open at the same time. */
const maxWaiting = 16;
/** Characters of JSON of all open prompts together, because each state contains all prompts. */
const maxCharacters = 8_000_000;

/** What the owner can do after a prompt that was not answered. The hub shows it with the failed run. */
const answerAdvice =
  'Run it again, and answer on that machine: outrigger-companion prompts shows the question, and outrigger-companion answer answers it. To run programs there without a question: outrigger-companion ask off';

interface OpenPrompt {
  prompt: Prompt;
  /** Identifies the content. Prompts with the same key get the same answer. */
  key: string;
  characters: number;
  answer: (answer: PromptAnswer) => void;
}

/** Commands that wait for the owner's answer, which can come from the window or the command line. */
export class Prompts {
  readonly #open = new Map<string, OpenPrompt>();
  readonly #waitMs: number;
  readonly #onChange: (event: PromptEvent) => void;

  /** @param waitMs How long the owner has to answer. Then the command is refused. */
  constructor(waitMs: number, onChange: (event: PromptEvent) => void) {
    this.#waitMs = waitMs;
    this.#onChange = onChange;
  }

  /** The open prompts, the oldest first. */
  get waiting(): Prompt[] {
    return [...this.#open.values()].map(({ prompt }) => prompt);
  }

  /**
   * Opens a prompt and resolves to the owner's answer.
   * @param endsInMs How long the hub waits for the answer.
   * @throws CommandError `denied_by_device` when no answer comes in time or too many prompts are open; the signal's
   * reason.
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
        `${maxWaiting} commands already wait for an answer of this machine's owner.`,
      );
    const characters = JSON.stringify(question).length;
    const waitingCharacters = [...this.#open.values()].reduce((sum, open) => sum + open.characters, 0);
    if (characters > maxCharacters)
      throw new CommandError('denied_by_device', `What would run has ${characters} characters, too many to review.`);
    if (waitingCharacters + characters > maxCharacters)
      throw new CommandError(
        'denied_by_device',
        "Too many characters already wait for an answer of this machine's owner; retry after the owner has answered.",
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
            `The owner of this machine was asked, and did not answer within ${Math.round(waitMs / 1000)} s. ${answerAdvice}`,
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
    const { origin, argv } = question;
    const named = { promptId: id, command: commandLine(argv) };
    const [runId, workflow] = [origin?.run?.id ?? null, origin?.workflow?.name ?? null];
    this.#onChange({ event: 'prompt', ...named, runId, workflow, expiresAt: prompt.expiresAt });
    let outcome: (PromptEvent & { event: 'prompt_ended' })['outcome'] = 'ended';
    try {
      outcome = await answered.promise;
      return outcome;
    } catch (error) {
      if (error instanceof CommandError && error.reason === 'owner_did_not_answer') outcome = 'not_answered';
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      this.#open.delete(id);
      this.#onChange({ event: 'prompt_ended', ...named, outcome });
    }
  }

  /** Answers a prompt. @throws CompanionError when no prompt with this ID is open. */
  answer(id: string, answer: PromptAnswer): void {
    const open = this.#open.get(id);
    if (open === undefined)
      throw new CompanionError(
        `No prompt ${id} waits for an answer any more; list the open ones with: outrigger-companion prompts. An answer is one of ${promptAnswers.join(', ')}.`,
      );
    open.answer(answer);
    if (answer === 'once' || answer === 'deny') return;
    // An answer that lasts longer than once applies to all open prompts with the same content.
    for (const other of this.#open.values()) if (other.key === open.key) other.answer(answer);
  }
}
