import { AppError } from '../../../../shared/errors.ts';
import type { ModelAnswer, ModelRequest } from '../../../engine/index.ts';
import { SentenceSplitter } from '../speech/index.ts';
import { readAnswer } from './answer.ts';
import { contextTokensOf, minContextTokens } from './context-size.ts';
import { buildPrompt } from './prompt.ts';
import type { Passage, Prompt, PromptParts } from './prompt.ts';
import { SpokenAnswerFilter } from './spoken-answer-filter.ts';

/** The knowledge of a workspace. */
export interface KnowledgeSource {
  /** Returns the passages that match a question, best first. */
  retrieve(tenantId: string, question: string, options: { limit: number; locale?: string }): Promise<Passage[]>;
  /** Returns the terms of the business, as the workspace wrote them; empty when there are none. */
  readBusinessTerms(tenantId: string): Promise<string>;
}

interface Models {
  configuredModels(tenantId: string): Promise<{
    models: readonly { id: string; model: string }[];
    order: readonly string[];
    fallback: { binding: { model: string } } | null;
  }>;
  generate(request: ModelRequest): Promise<ModelAnswer>;
  stream(request: ModelRequest): AsyncGenerator<string, ModelAnswer, undefined>;
}

export interface Question extends Omit<PromptParts, 'terms' | 'passages' | 'contextTokens'> {
  tenantId: string;
  signal: AbortSignal;
}

export interface Answer extends Omit<ModelAnswer, 'truncated'> {
  /** Describes what was left out of the prompt or the answer; null when nothing was. */
  truncation: string | null;
  /** Ids of the passages that the model was given. */
  sources: string[];
}

type PromptContent = Omit<PromptParts, 'contextTokens'>;

const maxPassages = 8;
/** Maximum length of a spoken answer, in characters: about ten minutes of speech. */
const maxSpokenLength = 8_000;
/** Parts of a stream after which the event loop runs other work. */
const partsPerTurn = 64;

/** Sends questions to models and returns their filtered answers. */
export class Answering {
  readonly #models: Models;
  readonly #knowledge: KnowledgeSource;

  constructor(models: Models, knowledge: KnowledgeSource) {
    this.#models = models;
    this.#knowledge = knowledge;
  }

  /**
   * Answers from the knowledge of the workspace and from the context of the question.
   * @throws as `askWithoutKnowledge`.
   */
  async ask(question: Question): Promise<Answer> {
    return this.#answer(await this.#withKnowledge(question), question);
  }

  /**
   * Yields the same answer sentence by sentence, each as soon as it is complete.
   * Ending the generator or aborting the signal closes the connection to the model.
   * @throws as `ask`, also after some sentences. AppError `inference_failed` after the maximum length of an answer.
   */
  async *streamSentences(question: Question): AsyncGenerator<string, void, undefined> {
    const { tenantId, signal, locale } = question;
    const prompt = await this.#prompt(await this.#withKnowledge(question), tenantId);
    const { instructions, messages, maxOutputTokens } = prompt;
    const splitter = new SentenceSplitter(locale);
    const filter = new SpokenAnswerFilter((answer) => readAnswer(prompt, answer));
    let length = 0;
    let parts = 0;
    for await (const part of this.#models.stream({ tenantId, instructions, messages, maxOutputTokens, signal })) {
      // An empty part marks the end of the text. The stream may stay open for a while after it.
      const sentences = part === '' ? [splitter.end()] : splitter.push(part.slice(0, maxSpokenLength - length));
      for (const sentence of sentences) yield* nonBlank(filter.push(sentence));
      length += part.length;
      if (length > maxSpokenLength) break;
      parts += 1;
      if (parts % partsPerTurn === 0) await new Promise(setImmediate);
    }
    yield* nonBlank(filter.push(splitter.end()));
    if (length > maxSpokenLength)
      throw new AppError(
        'inference_failed',
        `The answer was cut off after ${maxSpokenLength.toLocaleString('en')} characters. Ask for a shorter answer.`,
      );
  }

  async #withKnowledge(question: Question): Promise<PromptContent> {
    const { tenantId, input, locale } = question;
    const [passages, terms] = await Promise.all([
      this.#knowledge.retrieve(tenantId, input, {
        limit: maxPassages,
        ...(locale === undefined ? {} : { locale }),
      }),
      this.#knowledge.readBusinessTerms(tenantId),
    ]);
    return { ...question, passages, terms };
  }

  /**
   * Answers only from the context of the question.
   * @throws AppError `ai_binding_not_configured`, `inference_failed` (a `ModelsFailed`); the reason of an aborted
   * signal.
   */
  askWithoutKnowledge(question: Question): Promise<Answer> {
    return this.#answer(question, question);
  }

  async #contextTokens(tenantId: string): Promise<number> {
    const { models, order, fallback } = await this.#models.configuredModels(tenantId);
    const ordered = models.filter(({ id }) => order.includes(id)).map(({ model }) => model);
    return contextTokensOf(ordered.length === 0 && fallback !== null ? [fallback.binding.model] : ordered);
  }

  async #prompt(parts: PromptContent, tenantId: string): Promise<Prompt> {
    // A prompt that fits the smallest context fits every model.
    const prompt = buildPrompt({ ...parts, contextTokens: minContextTokens });
    return prompt.cut.length === 0
      ? prompt
      : buildPrompt({ ...parts, contextTokens: await this.#contextTokens(tenantId) });
  }

  async #answer(parts: PromptContent, { tenantId, signal }: Question): Promise<Answer> {
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

const nonBlank = (text: string): string[] => (text.trim() === '' ? [] : [text]);
