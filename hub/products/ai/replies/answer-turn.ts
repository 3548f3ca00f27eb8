import type { AiMode } from '../../../../shared/contract/chat/ai-settings.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Publisher } from '../../../platform/events/events.ts';
import { newId } from '../../../platform/ids.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import { publishChatChange } from '../../chat/changes/index.ts';
import type { TurnResult, TurnCommitter, TurnOutcome, Usage } from './commit-turn.ts';
import { DeltaPublisher } from './delta-publisher.ts';
import { findHandoffTrigger } from './handoff-trigger.ts';
import { mayAiReply, readReplyContext, unansweredMessages } from './reply-context.ts';
import type { ReplyContext } from './reply-context.ts';
import type { Reply, ReplyComposer } from './reply.ts';
import type { Turn } from './turn-store.ts';

/**
 * Abort reason of a turn that another event replaced while the model answered: a new message, an assignment, a closed
 * conversation or an agent who came online.
 */
export class TurnSuperseded extends Error {}

/** A turn in progress. */
export interface ActiveTurn {
  turn: Turn;
  signal: AbortSignal;
  /** Sequence number of the newest message that the answer takes into account. Null until the messages are read. */
  knownSeq: number | null;
  mode: AiMode | null;
}

/** Time limit of one turn, including the repair of an invalid model answer. */
const turnTimeoutMs = 65_000;
/** Attempts per turn. An attempt counts as failed when it does not end, for example because its process stopped. */
const maxAttempts = 3;
const typingIntervalMs = 4_000;
/** Turns per conversation and hour that may call a model, whatever their result. */
const conversationTurnLimit = { limit: 60, windowSeconds: 3_600 };
/** Turns per workspace and day that may call a model, as a multiple of the daily reply budget. */
const turnsPerReply = 3;
const daySeconds = 86_400;

const noUsage = { inputTokens: 0, outputTokens: 0 };

/** Answers a waiting visitor or hands the conversation over to a person. One transaction stores the result. */
export class TurnAnswerer {
  readonly #db: Database;
  readonly #composer: ReplyComposer;
  readonly #committer: TurnCommitter;
  readonly #events: Publisher;
  readonly #rateLimiter: RateLimiter;

  constructor(deps: {
    db: Database;
    rateLimiter: RateLimiter;
    composer: ReplyComposer;
    committer: TurnCommitter;
    events: Publisher;
  }) {
    this.#db = deps.db;
    this.#rateLimiter = deps.rateLimiter;
    this.#composer = deps.composer;
    this.#committer = deps.committer;
    this.#events = deps.events;
  }

  /** @throws the reason of the signal when the process stops, or the error of the database or the model. */
  async answer(active: ActiveTurn): Promise<TurnResult> {
    const { turn, signal } = active;
    const context = await this.#db.read(turn.tenantId, (tx) =>
      readReplyContext(tx, turn.tenantId, turn.conversationId),
    );
    if (context === null) return 'dropped';
    active.knownSeq = context.conversation.last_seq;
    active.mode = context.settings.mode;
    const outcome = decideWithoutModel(context, turn);
    if (outcome !== null) return this.#committer.commit(turn, context, outcome, noUsage);
    if (!(await this.#isWithinLimits(turn, context))) {
      const code = 'budget';
      const text = 'the limit of model requests is reached';
      const overLimit: TurnOutcome =
        context.settings.mode === 'shadow' ? { kind: 'drop' } : { kind: 'hand-over', code, text };
      return this.#committer.commit(turn, context, overLimit, noUsage);
    }
    return this.#requestReply(turn, context, signal);
  }

  /** Counts the turn before the model is called, because a call costs tokens even if its answer is discarded. */
  async #isWithinLimits({ tenantId, conversationId }: Turn, { settings }: ReplyContext): Promise<boolean> {
    const limit = Math.max(1, settings.dailyReplyBudget * turnsPerReply);
    const states = await Promise.all([
      this.#rateLimiter.take(`ai-turns:${conversationId}`, conversationTurnLimit),
      this.#rateLimiter.take(`ai-turns:${tenantId}`, { limit, windowSeconds: daySeconds }),
    ]);
    return states.every(({ allowed }) => allowed);
  }

  async #requestReply(turn: Turn, context: ReplyContext, stopSignal: AbortSignal): Promise<TurnResult> {
    const { tenantId, conversationId } = turn;
    const isShadow = context.settings.mode === 'shadow';
    let messageId = newId();
    let deltas: DeltaPublisher | null = null;
    const createDeltas = () => {
      if (deltas !== null) messageId = newId();
      deltas = new DeltaPublisher(this.#events, tenantId, conversationId, messageId);
      return deltas;
    };
    const typing = isShadow ? null : this.#showTyping(tenantId, conversationId);
    let result: TurnResult | null = null;
    try {
      const { reply, usage } = await this.#compose(turn, context, stopSignal, isShadow ? null : createDeltas);
      (deltas as DeltaPublisher | null)?.end();
      const outcome = 'kind' in reply ? reply : outcomeOf(reply, isShadow, messageId);
      result = await this.#committer.commit(turn, context, outcome, usage);
      return result;
    } finally {
      if (result !== 'replied') (deltas as DeltaPublisher | null)?.drop();
      typing?.[Symbol.dispose]();
    }
  }

  /** Returns the reply of the model, or the outcome of a turn without a reply. */
  async #compose(
    { tenantId }: Turn,
    context: ReplyContext,
    stopSignal: AbortSignal,
    createDeltas: (() => DeltaPublisher) | null,
  ): Promise<{ reply: Reply | TurnOutcome; usage: Usage }> {
    const timeout = AbortSignal.timeout(turnTimeoutMs);
    const failed = (text: string, code = 'model_failed'): TurnOutcome => ({ kind: 'hand-over', code, text });
    try {
      const signal = AbortSignal.any([stopSignal, timeout]);
      const { reply, usage } = await this.#composer.compose(tenantId, context, signal, {
        createDeltas,
        mayAct: context.settings.mode !== 'shadow',
      });
      return { reply: reply ?? failed('the model gave no usable answer', 'no_usable_answer'), usage };
    } catch (error) {
      if (stopSignal.reason instanceof TurnSuperseded) return { reply: { kind: 'restart' }, usage: noUsage };
      stopSignal.throwIfAborted();
      const code = error instanceof AppError ? error.code : null;
      if (code === 'ai_budget_used_up') {
        const isShadow = context.settings.mode === 'shadow';
        const handOver = failed("today's budget for models is used up", 'budget');
        return { reply: isShadow ? { kind: 'drop' } : handOver, usage: noUsage };
      }
      if (code === 'ai_binding_not_configured') return { reply: failed('no model is configured'), usage: noUsage };
      if (code !== 'inference_failed' && !timeout.aborted) throw error;
      return { reply: failed('no model answered'), usage: noUsage };
    }
  }

  #showTyping(tenantId: string, conversationId: string): Disposable {
    const publish = (typing: boolean) =>
      publishChatChange(this.#events, tenantId, conversationId, {
        kind: 'typing',
        who: 'ai',
        userId: null,
        name: null,
        typing,
      });
    publish(true);
    const timer = setInterval(() => publish(true), typingIntervalMs);
    return {
      [Symbol.dispose]: () => {
        clearInterval(timer);
        publish(false);
      },
    };
  }
}

function outcomeOf(reply: Reply, isShadow: boolean, messageId: string): TurnOutcome {
  if (isShadow) return { kind: 'suggest', reply };
  if (reply.action === 'ignore') return { kind: 'drop' };
  if (reply.action !== 'handoff') return { kind: 'reply', reply, messageId };
  const text = reply.reason === '' ? 'the AI agent requested it' : `the AI agent gave this reason: ${reply.reason}`;
  const { tools, approvalRequests } = reply;
  return { kind: 'hand-over', code: 'model', text, tools, approvalRequests };
}

/** Returns the outcome of a turn that needs no model, or null if a model must answer. */
function decideWithoutModel(context: ReplyContext, turn: Turn): TurnOutcome | null {
  const { settings, conversation, messages, usedToday } = context;
  const isBudgetUsed = usedToday >= settings.dailyReplyBudget;
  if (settings.mode === 'shadow') {
    const isDone =
      !context.isActive || isBudgetUsed || turn.attempts > maxAttempts || unansweredMessages(messages).length === 0;
    return isDone ? { kind: 'drop' } : null;
  }
  // The committer checks the owner again and releases the conversation if the AI agent may no longer reply.
  if (conversation.owner !== 'ai' || !mayAiReply(context)) return { kind: 'drop' };
  const waiting = unansweredMessages(messages).map(({ content }) => content);
  if (waiting.length === 0) return { kind: 'drop' };
  if (turn.attempts > maxAttempts)
    return { kind: 'hand-over', code: 'failed', text: `the AI agent failed to reply ${maxAttempts} times` };
  const trigger = findHandoffTrigger(waiting, settings.handoffKeywords);
  if (trigger?.kind === 'person')
    return {
      kind: 'hand-over',
      code: 'asked_for_person',
      text: 'the visitor asked for a person',
      language: trigger.language,
    };
  if (trigger?.kind === 'keyword')
    return { kind: 'hand-over', code: 'keyword', text: `the visitor wrote the keyword "${trigger.keyword}"` };
  if (conversation.ai_replies >= settings.maxRepliesPerConversation)
    return {
      kind: 'hand-over',
      code: 'most_replies',
      text: `the AI agent gave ${conversation.ai_replies} replies and reached its limit`,
    };
  if (isBudgetUsed) return { kind: 'hand-over', code: 'budget', text: 'the daily reply budget is used up' };
  return null;
}
