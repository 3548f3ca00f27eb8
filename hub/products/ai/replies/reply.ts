import type { ChatAiSettings, MessageSource, ToolUse } from '../../../../shared/contract/chat/ai-settings.ts';
import type { AiAction } from '../../../../shared/contract/chat/ai-suggestions.ts';
import { maxMessageLength } from '../../../../shared/contract/chat/shapes.ts';
import { filterAnswer } from '../../../platform/inference/answer-filter.ts';
import { withoutKeys } from '../prompt/index.ts';
import { askModel } from './ask-model.ts';
import type { AiAnswer, AnswerListener } from './ask-model.ts';
import type { Deltas } from './deltas.ts';
import type { Ask, Passage, ReplyKnowledge, ReplyModels } from './faces.ts';
import { promptOf } from './prompt.ts';
import { unanswered } from './situation.ts';
import type { Situation } from './situation.ts';
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
  asks: Ask[];
}

export interface ComposedReply {
  /** Null where the model gave nothing that can be used. */
  reply: Reply | null;
  usage: { inputTokens: number; outputTokens: number };
}

const passagesAtMost = 6;
const questionCharacters = 2_000;
const reasonCharacters = 300;
/** Below it an entry hardly ever answers what was asked. */
const answeringScore = 0.5;

/** How a reply is to come about. */
export interface ComposeOptions {
  /** Begins to tell the visitor where one reads along; called for each try of a model. */
  deltas?: (() => Deltas) | null;
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
    { conversation, settings, messages }: Pick<Situation, 'conversation' | 'settings' | 'messages'>,
    signal: AbortSignal,
    { deltas = null, mayAct = false }: ComposeOptions = {},
  ): Promise<ComposedReply> {
    const asked = unanswered(messages).map(({ content }) => content);
    const question = asked.join('\n').slice(-questionCharacters);
    const locale = settings.language === 'auto' ? undefined : settings.language;
    const [passages, terms, tools] = await Promise.all([
      question.trim() === ''
        ? []
        : this.#knowledge.retrieve(tenantId, question, { limit: passagesAtMost, locale, signal }),
      this.#knowledge.terms(tenantId),
      this.#tools.open(tenantId, { settings, conversation }, mayAct),
    ]);
    const prompt = promptOf(settings, messages, passages, terms, tools?.text);
    const addresses = () => new Set([...prompt.addresses, ...(tools?.addresses ?? [])]);
    let told: Deltas | null = null;
    try {
      const listener: AnswerListener = {
        heard: ({ fields, reply }) => {
          if (deltas === null || reply === '' || !mayShow(fields, settings, passages)) return;
          told ??= deltas();
          told.show(() => shown(withoutLastWord(reply.slice(0, maxMessageLength)), addresses()));
        },
        restarted: () => {
          told?.drop();
          told = null;
        },
      };
      const { answer, usage } = await askModel(this.#models, tenantId, prompt, signal, { listener, tools });
      if (answer === null) return { reply: null, usage };
      const reply = presented(answer, settings, passages, addresses());
      // For whoever keeps the knowledge: nearly every question finds some entries, whether they answer it or not.
      const isAnswered = answer.action === 'handoff' && confidenceOf(answer.sources, passages) >= answeringScore;
      if (reply?.action === 'handoff' && !isAnswered)
        // Each message by itself: joined, the same question in another conversation would count apart.
        for (const each of asked) await this.#knowledge.recordUnanswered(tenantId, conversation.id, each);
      return { reply: reply && { ...reply, tools: tools?.uses ?? [], asks: tools?.asks ?? [] }, usage };
    } catch (error) {
      (told as Deltas | null)?.drop();
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
const shown = (text: string, addresses: ReadonlySet<string>) => withoutKeys(filterAnswer(text, addresses));

function presented(
  { action, reply, reason, sources }: AiAnswer,
  { minConfidence }: ChatAiSettings,
  passages: readonly Passage[],
  addresses: ReadonlySet<string>,
): Omit<Reply, 'tools' | 'asks'> | null {
  const content = Array.from(shown(reply, addresses).trim()).slice(0, maxMessageLength).join('');
  const why = Array.from(shown(reason, addresses)).slice(0, reasonCharacters).join('');
  const used = passages.filter(({ id }) => sources.includes(id)).map(({ id, url }) => ({ id, url }));
  if (action === 'answer' && confidenceOf(sources, passages) < minConfidence)
    return { action: 'handoff', content: '', reason: 'the knowledge does not say enough', sources: used };
  if (action === 'handoff' || action === 'ignore') return { action, content: '', reason: why, sources: used };
  return content === '' ? null : { action, content, reason: why, sources: used };
}
