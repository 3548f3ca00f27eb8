import { AppError } from '../../../../shared/errors.ts';
import type { InferenceMessage } from '../../../platform/inference/inference.ts';
import type { Answering, Question } from '../prompt/index.ts';

const task =
  'You speak with a person on the phone, for a business and on its behalf. Take the facts from what is quoted. Where it does not hold the answer, say that you do not know, and do not guess. Answer in one to three short sentences, as they are spoken: no lists, no headings, no addresses.';
const alone = 'Nobody of the business listens: offer that somebody calls back where you can not help.';
const greeting = 'Greet the person in one short sentence, and ask how you can help.';

export interface Said {
  tenantId: string;
  /** What was said; a greeting is answered where it is empty. */
  text: string;
  /** Whether nobody of the business listens in. */
  automaticAgent?: boolean;
  /** Facts of the caller, which are quoted. */
  context?: string | undefined;
  /** The language of the answer, by BCP 47. */
  locale?: string | undefined;
  /** What was said before, oldest first. */
  turns?: readonly InferenceMessage[];
  signal: AbortSignal;
}

/** Answers what is said on the phone, from what the workspace knows. */
export class Speaking {
  readonly #answering: Answering;

  constructor(answering: Answering) {
    this.#answering = answering;
  }

  /** @throws as `Answering.ask`. */
  async answer(said: Said): Promise<string> {
    const answer = await this.#answering.ask(questionOf(said));
    return answer.text;
  }

  /** The same sentence by sentence, each as soon as it stands. @throws as `Answering.askAloud`. */
  answerAloud(said: Said): AsyncGenerator<string, void, undefined> {
    return this.#answering.askAloud(questionOf(said));
  }
}

const questionOf = ({
  tenantId,
  text,
  automaticAgent = true,
  context,
  locale,
  turns = [],
  signal,
}: Said): Question => ({
  tenantId,
  task: automaticAgent ? `${task} ${alone}` : task,
  input: text.trim() === '' ? greeting : text,
  context,
  locale,
  turns,
  signal,
});

/** Speaking is of the phone as much as of the AI. @throws AppError `product_not_entitled`. */
export function assertMaySpeak({ entitlements }: { entitlements: Readonly<Record<'business_phone', boolean>> }): void {
  if (!entitlements.business_phone)
    throw new AppError('product_not_entitled', 'This workspace is not entitled to business_phone.');
}
