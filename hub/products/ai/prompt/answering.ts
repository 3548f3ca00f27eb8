import type { z } from 'zod';
import type { modelConfigurations } from '../../../../shared/contract/ai/models.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { ModelAnswer, ModelRequest } from '../../../engine/index.ts';
import { SentenceSplitter } from '../speech/index.ts';
import { AnswerAloud } from './answer-aloud.ts';
import { readAnswer } from './answer.ts';
import { contextTokensOf, leastContextTokens } from './context-size.ts';
import { buildPrompt } from './prompt.ts';
import type { Passage, Prompt, PromptParts } from './prompt.ts';

/** What a workspace knows. */
export interface KnowledgeSource {
  /** The passages that fit a question, the best first. */
  retrieve(tenantId: string, question: string, options: { limit: number; locale?: string }): Promise<Passage[]>;
  terms(tenantId: string): Promise<string>;
}

interface Models {
  getModels(tenantId: string): Promise<z.input<typeof modelConfigurations.getAutomationModels.response>>;
  generate(request: ModelRequest): Promise<ModelAnswer>;
  stream(request: ModelRequest): AsyncGenerator<string, ModelAnswer, undefined>;
}

export interface Question extends Omit<PromptParts, 'terms' | 'passages' | 'contextTokens'> {
  tenantId: string;
  signal: AbortSignal;
}

export interface Answer extends Omit<ModelAnswer, 'truncated'> {
  /** What was left out, in words; null when nothing was. */
  truncation: string | null;
  /** Ids of the passages that the model was given. */
  sources: string[];
}

type WindowParts = Omit<PromptParts, 'contextTokens'>;

const maxPassages = 8;
/** Longest answer that is spoken, in characters: some ten minutes of speech. */
const maxSpokenLength = 8_000;
/** Of a stream, after which others have their turn. */
const partsAtOnce = 64;

/** Asks models, and answers what may be shown of what they said. */
export class Answering {
  readonly #models: Models;
  readonly #knowledge: KnowledgeSource;

  constructor(models: Models, knowledge: KnowledgeSource) {
    this.#models = models;
    this.#knowledge = knowledge;
  }

  /**
   * Answers from what the workspace knows and from what comes with the question.
   * @throws as `askPlainly`.
   */
  async ask(question: Question): Promise<Answer> {
    return this.#answer(await this.#informed(question), question);
  }

  /**
   * The same sentence by sentence, each as soon as it stands; joined they are the answer. Whoever stops early, by `return` or by the signal, closes the connection to the model.
   * @throws as `ask`; once a sentence went out, that is the end of it. `inference_failed` behind the beginning of an answer that is too long.
   */
  async *askAloud(question: Question): AsyncGenerator<string, void, undefined> {
    const { tenantId, signal, locale } = question;
    const prompt = await this.#prompt(await this.#informed(question), tenantId);
    const { instructions, messages, maxOutputTokens } = prompt;
    const splitter = new SentenceSplitter(locale);
    const aloud = new AnswerAloud((answer) => readAnswer(prompt, answer));
    let length = 0;
    let parts = 0;
    for await (const part of this.#models.stream({ tenantId, instructions, messages, maxOutputTokens, signal })) {
      // Behind the last the stream may go on for a while without a word.
      const sentences = part === '' ? [splitter.end()] : splitter.push(part.slice(0, maxSpokenLength - length));
      for (const sentence of sentences) yield* some(aloud.push(sentence));
      length += part.length;
      if (length > maxSpokenLength) break;
      parts += 1;
      if (parts % partsAtOnce === 0) await new Promise(setImmediate);
    }
    yield* some(aloud.push(splitter.end()));
    if (length > maxSpokenLength)
      throw new AppError(
        'inference_failed',
        `The answer is longer than ${maxSpokenLength.toLocaleString('en')} characters, and was cut off there. Ask for a shorter one.`,
      );
  }

  async #informed(question: Question): Promise<WindowParts> {
    const { tenantId, input, locale } = question;
    const [passages, terms] = await Promise.all([
      this.#knowledge.retrieve(tenantId, input, {
        limit: maxPassages,
        ...(locale === undefined ? {} : { locale }),
      }),
      this.#knowledge.terms(tenantId),
    ]);
    return { ...question, passages, terms };
  }

  /**
   * Answers from what comes with the question alone.
   * @throws AppError `ai_binding_not_configured`, `inference_failed` (a `ModelsFailed`); the signal's reason when it aborts.
   */
  askPlainly(question: Question): Promise<Answer> {
    return this.#answer(question, question);
  }

  async #contextTokens(tenantId: string): Promise<number> {
    const { models, order, fallback } = await this.#models.getModels(tenantId);
    const ordered = models.filter(({ id }) => order.includes(id)).map(({ model }) => model);
    return contextTokensOf(ordered.length === 0 && fallback !== null ? [fallback.model] : ordered);
  }

  async #prompt(parts: WindowParts, tenantId: string): Promise<Prompt> {
    // What fits the smallest window fits each.
    const prompt = buildPrompt({ ...parts, contextTokens: leastContextTokens });
    return prompt.cut.length === 0
      ? prompt
      : buildPrompt({ ...parts, contextTokens: await this.#contextTokens(tenantId) });
  }

  async #answer(parts: WindowParts, { tenantId, signal }: Question): Promise<Answer> {
    const prompt = await this.#prompt(parts, tenantId);
    const { instructions, messages, maxOutputTokens } = prompt;
    const { truncated, ...answer } = await this.#models.generate({
      tenantId,
      instructions,
      messages,
      maxOutputTokens,
      signal,
    });
    const cut = [
      ...prompt.cut,
      ...(truncated ? [`The answer ended at ${maxOutputTokens.toLocaleString('en')} tokens.`] : []),
    ];
    return {
      ...answer,
      text: readAnswer(prompt, answer.text),
      truncation: cut.length === 0 ? null : cut.join(' '),
      sources: prompt.passages.map(({ id }) => id),
    };
  }
}

const some = (text: string): string[] => (text.trim() === '' ? [] : [text]);
