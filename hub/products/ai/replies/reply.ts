import type { ChatAiSettings, MessageSource, ToolUse } from '../../../../shared/contract/chat/ai-settings.ts';
import type { AiAction } from '../../../../shared/contract/chat/ai-suggestions.ts';
import { maxMessageLength } from '../../../../shared/contract/chat/shapes.ts';
import { filterAnswer } from '../../../platform/inference/answer-filter.ts';
import { withoutKeys } from '../prompt/index.ts';
import type { DeltaPublisher } from './delta-publisher.ts';
import type { ApprovalRequest, Passage, ReplyKnowledge, ReplyModels } from './ports.ts';
import { buildPrompt } from './prompt.ts';
import { unansweredMessages } from './reply-context.ts';
import type { ReplyContext } from './reply-context.ts';
import { requestAnswer } from './request-answer.ts';
import type { AiAnswer, AnswerListener } from './request-answer.ts';
import type { ReplyTools } from './tools.ts';

/** A filtered reply of the AI agent that may be shown to the visitor. */
export interface Reply {
  action: AiAction;
  content: string;
  reason: string;
  sources: MessageSource[];
  /** Tools called for the reply. */
  tools: ToolUse[];
  /** Actions that a person must approve first. */
  approvalRequests: ApprovalRequest[];
}

export interface ComposedReply {
  /** Null if the model gave no usable answer. */
  reply: Reply | null;
  usage: { inputTokens: number; outputTokens: number };
}

const maxPassages = 6;
const maxQuestionCharacters = 2_000;
const maxReasonCharacters = 300;
/** An entry with a lower score hardly ever answers the question. */
const minAnsweringScore = 0.5;

export interface ComposeOptions {
  /** Creates the publisher of the unfinished reply. It is called for each model answer. Null publishes nothing. */
  createDeltas?: (() => DeltaPublisher) | null;
  /** Whether tools that act may request an approval. False for suggestions. */
  mayAct?: boolean;
}

/** Composes a reply: searches the knowledge, then calls the models, which may call the tools of the workspace. */
export class ReplyComposer {
  readonly #models: ReplyModels;
  readonly #knowledge: ReplyKnowledge;
  readonly #tools: ReplyTools;

  constructor(models: ReplyModels, knowledge: ReplyKnowledge, tools: ReplyTools) {
    this.#models = models;
    this.#knowledge = knowledge;
    this.#tools = tools;
  }

  /** @throws AppError if no model answers, or the reason of the signal. */
  async compose(
    tenantId: string,
    { conversation, settings, messages }: Pick<ReplyContext, 'conversation' | 'settings' | 'messages'>,
    signal: AbortSignal,
    { createDeltas = null, mayAct = false }: ComposeOptions = {},
  ): Promise<ComposedReply> {
    const questions = unansweredMessages(messages).map(({ content }) => content);
    const question = questions.join('\n').slice(-maxQuestionCharacters);
    const locale = settings.language === 'auto' ? undefined : settings.language;
    const [passages, terms, tools] = await Promise.all([
      question.trim() === ''
        ? []
        : this.#knowledge.retrieve(tenantId, question, { limit: maxPassages, locale, signal }),
      this.#knowledge.readBusinessTerms(tenantId),
      this.#tools.open(tenantId, { settings, conversation }, mayAct),
    ]);
    const prompt = buildPrompt(settings, messages, passages, terms, tools?.text);
    const addresses = () => new Set([...prompt.addresses, ...(tools?.addresses ?? [])]);
    let publisher: DeltaPublisher | null = null;
    try {
      const listener: AnswerListener = {
        onProgress: ({ fields, reply }) => {
          if (createDeltas === null || reply === '' || !mayShow(fields, settings, passages)) return;
          publisher ??= createDeltas();
          publisher.update(() => filterText(withoutLastWord(reply.slice(0, maxMessageLength)), addresses()));
        },
        onRestart: () => {
          publisher?.drop();
          publisher = null;
        },
      };
      const { answer, usage } = await requestAnswer(this.#models, tenantId, prompt, signal, { listener, tools });
      if (answer === null) return { reply: null, usage };
      const reply = toReply(answer, settings, passages, addresses());
      // Nearly every question finds some entries, so the score decides whether the knowledge answered it.
      const isAnswered = answer.action === 'handoff' && confidenceOf(answer.sources, passages) >= minAnsweringScore;
      if (reply?.action === 'handoff' && !isAnswered)
        // Record each message separately, so that the same question in another conversation counts as the same.
        for (const text of questions) await this.#knowledge.recordUnanswered(tenantId, conversation.id, text);
      return {
        reply: reply && { ...reply, tools: tools?.uses ?? [], approvalRequests: tools?.approvalRequests ?? [] },
        usage,
      };
    } catch (error) {
      (publisher as DeltaPublisher | null)?.drop();
      throw error;
    }
  }
}

/**
 * Removes the last word, which may be the beginning of an address. Addresses are filtered as a whole, once complete.
 * Only ASCII characters, half-width or full-width, can be part of an address.
 */
function withoutLastWord(text: string): string {
  let end = text.length;
  while (end > 0 && /[!-~\uFF01-\uFF5E\u3002\uFF61]/.test(text[end - 1] as string)) end -= 1;
  return text.slice(0, end).trimEnd();
}

/**
 * Whether an unfinished reply may be shown. This depends on `action` and `sources`, so nothing is shown early if the
 * model writes these fields after `reply`.
 */
function mayShow(
  fields: Record<string, unknown>,
  { minConfidence }: ChatAiSettings,
  passages: readonly Passage[],
): boolean {
  const { action, sources } = fields;
  if (action === 'clarify') return true;
  return action === 'answer' && (minConfidence === 0 || confidenceOf(sources, passages) >= minConfidence);
}

/** The highest score of the knowledge entries that an answer refers to. */
function confidenceOf(sources: unknown, passages: readonly Passage[]): number {
  const ids = new Set(Array.isArray(sources) ? sources.map(String) : []);
  return Math.max(0, ...passages.filter(({ id }) => ids.has(id)).map(({ score }) => score));
}

/** Removes addresses and secrets that the visitor must not see. */
const filterText = (text: string, addresses: ReadonlySet<string>) => withoutKeys(filterAnswer(text, addresses));

function toReply(
  { action, reply, reason, sources }: AiAnswer,
  { minConfidence }: ChatAiSettings,
  passages: readonly Passage[],
  addresses: ReadonlySet<string>,
): Omit<Reply, 'tools' | 'approvalRequests'> | null {
  const content = Array.from(filterText(reply, addresses).trim()).slice(0, maxMessageLength).join('');
  const why = Array.from(filterText(reason, addresses)).slice(0, maxReasonCharacters).join('');
  const used = passages.filter(({ id }) => sources.includes(id)).map(({ id, url }) => ({ id, url }));
  if (action === 'answer' && confidenceOf(sources, passages) < minConfidence)
    return { action: 'handoff', content: '', reason: 'the knowledge does not answer the question', sources: used };
  if (action === 'handoff' || action === 'ignore') return { action, content: '', reason: why, sources: used };
  return content === '' ? null : { action, content, reason: why, sources: used };
}
