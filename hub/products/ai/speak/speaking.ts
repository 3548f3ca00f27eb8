import { AppError } from '../../../../shared/errors.ts';
import type { InferenceMessage } from '../../../platform/inference/inference.ts';
import type { Answering, Question } from '../prompt/index.ts';

const task =
  'You speak with a person on the phone, for a business and on its behalf. Take the facts from what is quoted. Where it does not hold the answer, say that you do not know, and do not guess. Answer in one to three short sentences, as they are spoken: no lists, no headings, no addresses.';
const alone = 'Nobody of the business listens: offer that somebody calls back where you can not help.';
const greeting = 'Greet the person in one short sentence, and ask how you can help.';

export interface SpokenInput {
  tenantId: string;
  /** The spoken text. An empty text is answered with a greeting. */
  text: string;
  /** Whether no person of the business listens. */
  automaticAgent?: boolean;
  /** Facts about the caller, quoted to the model. */
  context?: string | undefined;
  /** Language of the answer (BCP 47). */
  locale?: string | undefined;
  /** Earlier turns, oldest first. */
  turns?: readonly InferenceMessage[];
  signal: AbortSignal;
}

/** Answers spoken text from the knowledge of the workspace. */
export class Speaking {
  readonly #answering: Answering;

  constructor(answering: Answering) {
    this.#answering = answering;
  }

  /** @throws the errors of `Answering.ask`. */
  async answer(input: SpokenInput): Promise<string> {
    const answer = await this.#answering.ask(questionOf(input));
    return answer.text;
  }

  /** Answers sentence by sentence, each as soon as it is complete. @throws the errors of `Answering.streamSentences`. */
  answerAloud(input: SpokenInput): AsyncGenerator<string, void, undefined> {
    return this.#answering.streamSentences(questionOf(input));
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
}: SpokenInput): Question => ({
  tenantId,
  task: automaticAgent ? `${task} ${alone}` : task,
  input: text.trim() === '' ? greeting : text,
  context,
  locale,
  turns,
  signal,
});

/** Speaking requires the entitlement to the phone in addition to the AI. @throws AppError `product_not_entitled`. */
export function assertMaySpeak({ entitlements }: { entitlements: Readonly<Record<'business_phone', boolean>> }): void {
  if (!entitlements.business_phone)
    throw new AppError('product_not_entitled', 'This workspace is not entitled to business_phone.');
}
