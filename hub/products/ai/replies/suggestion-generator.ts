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

/** Suggests a reply to an agent who asks for one, whoever has the conversation. */
export class SuggestionGenerator {
  readonly #deps: SuggestionGeneratorDependencies;

  constructor(dependencies: SuggestionGeneratorDependencies) {
    this.#deps = dependencies;
  }

  /** @throws AppError `not_found`, `rate_limited`, `ai_binding_not_configured`, `inference_failed`, `suggestion_empty`. */
  async generate(tenantId: string, userId: string, conversationId: string, signal: AbortSignal): Promise<AiSuggestion> {
    const { db, composer, suggestions } = this.#deps;
    const context = await db.read(tenantId, (tx) => readReplyContext(tx, tenantId, conversationId));
    if (context === null) throw notFound('conversation', conversationId);
    await this.#limit(tenantId, userId);
    const { reply, usage } = await composer
      .compose(
        tenantId,
        // An agent looks at it before anybody reads it.
        { ...context, settings: { ...context.settings, minConfidence: 0 } },
        AbortSignal.any([signal, AbortSignal.timeout(suggestionTimeoutMs)]),
      )
      .catch((error: unknown) => {
        if (!isEmptyAnswer(error)) throw error;
        return { reply: null, usage: {} };
      });
    const { suggestion, committed } = await db.workspace(tenantId, async (tx) => {
      await countDay(tx, tenantId, usage);
      if (reply === null || reply.content === '') return { suggestion: null, committed: () => undefined };
      // Against its being erased meanwhile.
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
    committed();
    if (suggestion === null)
      throw new AppError(
        'suggestion_empty',
        reply?.action === 'handoff'
          ? 'The model suggests nothing to write: it would leave this conversation to a person.'
          : 'The model came back with nothing that could be suggested; try again.',
      );
    return suggestion;
  }

  async #limit(tenantId: string, userId: string): Promise<void> {
    const state = await this.#deps.rateLimiter.take(`ai-suggestion:${tenantId}:${userId}`, suggestionLimit);
    if (state.allowed) return;
    const retryAfterSeconds = Math.max(1, Math.ceil((state.resetAt.getTime() - Date.now()) / 1000));
    throw new AppError(
      'rate_limited',
      `More than ${suggestionLimit.limit} suggestions in a minute; try again in ${retryAfterSeconds} seconds.`,
      { retryAfterSeconds, limit: suggestionLimit.limit },
    );
  }
}

/** Whether the last model that was asked answered, without a word. */
const isEmptyAnswer = (error: unknown) =>
  error instanceof AppError &&
  error.code === 'inference_failed' &&
  (error as { attempts?: readonly { outcome: string }[] }).attempts?.at(-1)?.outcome === 'empty';
