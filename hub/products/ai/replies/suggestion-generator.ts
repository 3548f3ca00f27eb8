import { maxSuggestionsPerMinute } from '../../../../shared/contract/chat/ai-suggestions.ts';
import type { AiSuggestion } from '../../../../shared/contract/chat/ai-suggestions.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import type { Chat } from '../../chat/index.ts';
import { readReplyContext } from './reply-context.ts';
import type { ReplyComposer } from './reply.ts';
import { countDay } from './turn-store.ts';

export interface SuggestionGeneratorDependencies {
  db: Database;
  rateLimiter: RateLimiter;
  composer: ReplyComposer;
  suggestions: Chat['suggestions'];
}

const suggestionLimit = { limit: maxSuggestionsPerMinute, windowSeconds: 60 };
const suggestionTimeoutMs = 65_000;

/** Suggests a reply to an agent on request, whether the conversation belongs to the AI agent or to a person. */
export class SuggestionGenerator {
  readonly #deps: SuggestionGeneratorDependencies;

  constructor(dependencies: SuggestionGeneratorDependencies) {
    this.#deps = dependencies;
  }

  /**
   * @throws AppError `not_found`, `rate_limited`, `ai_binding_not_configured`, `inference_failed`, `suggestion_empty`.
   */
  async generate(tenantId: string, userId: string, conversationId: string, signal: AbortSignal): Promise<AiSuggestion> {
    const { db, composer, suggestions } = this.#deps;
    const context = await db.read(tenantId, (tx) => readReplyContext(tx, tenantId, conversationId));
    if (context === null) throw notFound('conversation', conversationId);
    await this.#limit(tenantId, userId);
    const { reply, usage } = await composer
      .compose(
        tenantId,
        // An agent reviews the suggestion before the visitor can read it, so any confidence is enough.
        { ...context, settings: { ...context.settings, minConfidence: 0 } },
        AbortSignal.any([signal, AbortSignal.timeout(suggestionTimeoutMs)]),
      )
      .catch((error: unknown) => {
        if (!isEmptyAnswer(error)) throw error;
        return { reply: null, usage: {} };
      });
    const suggestion = await db.workspace(tenantId, async (tx) => {
      await countDay(tx, tenantId, usage);
      if (reply === null || reply.content === '') return null;
      // The lock prevents erasure of the conversation until the suggestion is stored.
      const locked = await tx.query(
        'lock_conversation_key',
        'SELECT FROM chat_conversations WHERE id = $1 FOR KEY SHARE',
        [conversationId],
      );
      if (locked.rowCount === 0) throw notFound('conversation', conversationId);
      const { content, action, reason, sources, tools } = reply;
      const seq = context.conversation.last_seq;
      return suggestions.write(tx, tenantId, {
        conversationId,
        content,
        action,
        reason,
        sources,
        tools,
        seq,
        origin: 'asked',
      });
    });
    if (suggestion === null)
      throw new AppError(
        'suggestion_empty',
        reply?.action === 'handoff'
          ? 'The model suggests no reply: it recommends that a person answers this conversation.'
          : 'The model returned nothing that can be suggested; try again.',
      );
    return suggestion;
  }

  async #limit(tenantId: string, userId: string): Promise<void> {
    const state = await this.#deps.rateLimiter.take(`ai-suggestion:${tenantId}:${userId}`, suggestionLimit);
    if (state.allowed) return;
    const retryAfterSeconds = Math.max(1, Math.ceil((state.resetAt.getTime() - Date.now()) / 1000));
    throw new AppError(
      'rate_limited',
      `You may request ${suggestionLimit.limit} suggestions per minute; try again in ${retryAfterSeconds} seconds.`,
      { retryAfterSeconds, limit: suggestionLimit.limit },
    );
  }
}

/** Whether the last model call succeeded with an empty text. */
const isEmptyAnswer = (error: unknown) =>
  error instanceof AppError &&
  error.code === 'inference_failed' &&
  (error as { attempts?: readonly { outcome: string }[] }).attempts?.at(-1)?.outcome === 'empty';
