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

/** What the AI agent would say in a conversation, fit to be shown. */
export interface Reply {
  action: AiAction;
  content: string;
  reason: string;
  sources: MessageSource[];
  /** What was called for it. */
  tools: ToolUse[];
  /** What it would have done, once a person agrees. */
  approvalRequests: ApprovalRequest[];
}

export interface ComposedReply {
  /** Null where the model gave nothing that can be used. */
  reply: Reply | null;
  usage: { inputTokens: number; outputTokens: number };
}

const maxPassages = 6;
const maxQuestionCharacters = 2_000;
const maxReasonCharacters = 300;
/** Below it an entry hardly ever answers what was asked. */
const minAnsweringScore = 0.5;

/** How a reply is to come about. */
export interface ComposeOptions {
  /** Begins to tell the visitor where one reads along; called for each try of a model. */
  createDeltas?: (() => DeltaPublisher) | null;
  /** Whether what acts may be put to a person; for what is only suggested it is not. */
  mayAct?: boolean;
}

/** Says what to reply to a conversation: asks the knowledge, then the models, which may call the tools of the workspace. */
export class ReplyComposer {
  readonly #models: ReplyModels;
  readonly #knowledge: ReplyKnowledge;
  readonly #tools: ReplyTools;

  constructor(models: ReplyModels, knowledge: ReplyKnowledge, tools: ReplyTools) {
    this.#models = models;
    this.#knowledge = knowledge;
    this.#tools = tools;
  }

  /** @throws AppError where no model answers; the signal's reason. */
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
      this.#knowledge.terms(tenantId),
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
      // For whoever keeps the knowledge: nearly every question finds some entries, whether they answer it or not.
      const isAnswered = answer.action === 'handoff' && confidenceOf(answer.sources, passages) >= minAnsweringScore;
      if (reply?.action === 'handoff' && !isAnswered)
        // Each message by itself: joined, the same question in another conversation would count apart.
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

/** What is at the end may become an address, which is looked at as a whole; those are of ASCII, in whatever width, whatever stands before them. */
function withoutLastWord(text: string): string {
  let end = text.length;
  while (end > 0 && /[!-~\uFF01-\uFF5E\u3002\uFF61]/.test(text[end - 1] as string)) end -= 1;
  return text.slice(0, end).trimEnd();
}

/** Whether what is known of an answer before its text lets that be shown: a model that says it last shows nothing of it. */
function mayShow(
  fields: Record<string, unknown>,
  { minConfidence }: ChatAiSettings,
  passages: readonly Passage[],
): boolean {
  const { action, sources } = fields;
  if (action === 'clarify') return true;
  return action === 'answer' && (minConfidence === 0 || confidenceOf(sources, passages) >= minConfidence);
}

/** How well the best of the entries fits on which an answer stands. */
function confidenceOf(sources: unknown, passages: readonly Passage[]): number {
  const ids = new Set(Array.isArray(sources) ? sources.map(String) : []);
  return Math.max(0, ...passages.filter(({ id }) => ids.has(id)).map(({ score }) => score));
}

/** What of a model's words may be shown. */
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
    return { action: 'handoff', content: '', reason: 'the knowledge does not say enough', sources: used };
  if (action === 'handoff' || action === 'ignore') return { action, content: '', reason: why, sources: used };
  return content === '' ? null : { action, content, reason: why, sources: used };
}
