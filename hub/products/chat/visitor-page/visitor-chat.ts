import type { z } from 'zod';
import type { ChatLocale } from '../../../../shared/contract/chat/settings.ts';
import { maxSeq } from '../../../../shared/contract/chat/shapes.ts';
import type { ChatMessage } from '../../../../shared/contract/chat/shapes.ts';
import type { visitorPage as resource } from '../../../../shared/contract/chat/visitor-page.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Publisher } from '../../../platform/events/events.ts';
import type { VisitorIdentity } from '../../../platform/http/auth/principal.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import type { Assignment } from '../assignment/index.ts';
import { publishChatChange } from '../changes/index.ts';
import { markRead, messageColumns, pageOf, pageText, presentMessage } from '../conversations/index.ts';
import type { ConversationWriter, MessageWriter, PublicMessageRow } from '../conversations/index.ts';
import type { ChatEvents } from '../events/index.ts';
import type { HandOver } from '../hand-over/index.ts';
import { rateConversation } from './ratings.ts';
import { readVisitorView } from './view.ts';

type Message = z.output<typeof resource.sendVisitorMessage.body>;

/** Message limit of one visitor, over all processes. */
const sendLimit = { limit: 20, windowSeconds: 10 };

export interface VisitorChatDependencies {
  db: Database;
  rateLimiter: RateLimiter;
  conversationWriter: ConversationWriter;
  messageWriter: MessageWriter;
  assignment: Assignment;
  events: ChatEvents;
  hubEvents: Publisher;
  handOver: HandOver;
}

/** The operations of a visitor in the conversation of the session. Visitors never see notes: a note has no `seq`. */
export class VisitorChat {
  readonly #deps: VisitorChatDependencies;
  /** Messages that are being written. A repeated request shares the result and counts once. */
  readonly #sending = new Map<string, Promise<ChatMessage>>();

  constructor(dependencies: VisitorChatDependencies) {
    this.#deps = dependencies;
  }

  /** @throws AppError `not_found`. */
  async conversation({ tenantId, conversationId }: VisitorIdentity) {
    const { conversation } = await this.#deps.db.read(tenantId, (tx) => readVisitorView(tx, conversationId));
    return conversation;
  }

  /** Lists messages after or before a `seq`, oldest first. */
  async messages(
    { tenantId, conversationId }: VisitorIdentity,
    { limit, after, before }: { limit: number; after?: string | undefined; before?: string | undefined },
  ) {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      after === undefined
        ? tx.query<PublicMessageRow & { found: number }>(
            'list_visitor_messages_before',
            pageText(
              `SELECT ${messageColumns} FROM chat_messages WHERE conversation_id = $1 AND seq IS NOT NULL AND seq < $2 ORDER BY seq DESC LIMIT $3`,
              'seq DESC',
            ),
            [conversationId, Math.min(Number(before ?? maxSeq), maxSeq), limit + 1],
          )
        : tx.query<PublicMessageRow & { found: number }>(
            'list_visitor_messages_after',
            pageText(
              `SELECT ${messageColumns} FROM chat_messages WHERE conversation_id = $1 AND seq IS NOT NULL AND seq > $2 ORDER BY seq LIMIT $3`,
              'seq',
            ),
            [conversationId, Math.min(Number(after), maxSeq), limit + 1],
          ),
    );
    const { shown, next } = pageOf<PublicMessageRow>(rows, limit);
    if (after === undefined) shown.reverse();
    return { data: shown.map(presentMessage), meta: { limit, nextCursor: next === null ? null : String(next.seq) } };
  }

  /**
   * Writes a message. A repeated `clientId` returns the existing message.
   * @throws AppError `conversation_closed`, `rate_limited`, `validation_failed`, `not_found`.
   */
  send(visitor: VisitorIdentity, message: Message): Promise<ChatMessage> {
    const key = `${visitor.conversationId} ${message.clientId}`;
    const underWay = this.#sending.get(key);
    if (underWay !== undefined) return underWay;
    const sent = this.#send(visitor, message).finally(() => this.#sending.delete(key));
    this.#sending.set(key, sent);
    return sent;
  }

  /** @throws AppError `not_found`. */
  async read({ tenantId, conversationId }: VisitorIdentity, seq: number) {
    const { rows } = await this.#deps.db.workspace(tenantId, async (tx) => {
      await markRead(tx, tenantId, conversationId, 'visitor', seq);
      return tx.query<{ seq: number }>(
        'read_mark_of_visitor',
        'SELECT visitor_read_seq AS seq FROM chat_conversations WHERE id = $1',
        [conversationId],
      );
    });
    return { seq: rows[0]?.seq ?? 0 };
  }

  /** Publishes the typing state. It is not stored. */
  async type({ tenantId, conversationId }: VisitorIdentity, typing: boolean) {
    publishChatChange(this.#deps.hubEvents, tenantId, conversationId, {
      kind: 'typing',
      who: 'visitor',
      userId: null,
      name: null,
      typing,
    });
    return { typing };
  }

  /** @throws AppError `rating_not_offered`, `not_found`. */
  async rate(visitor: VisitorIdentity, given: { score: number; comment: string }) {
    const { tenantId, conversationId } = visitor;
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const rating = await rateConversation(tx, this.#deps, visitor, given);
      publishChatChange(tx, tenantId, conversationId, { kind: 'conversation' });
      return rating;
    });
  }

  /**
   * Hands a conversation of the AI agent over to agents. Conversations of agents stay as they are.
   * @param pageLanguage language of the visitor's page, in which the message is written.
   * @throws AppError `conversation_closed`, `not_found`.
   */
  async askForPerson(
    { tenantId, conversationId, visitorId, environment }: VisitorIdentity,
    pageLanguage: ChatLocale | undefined,
  ) {
    const { db, conversationWriter, handOver } = this.#deps;
    return db.workspace(tenantId, async (tx) => {
      const now = await conversationWriter.lock(tx, conversationId);
      if (now.status === 'closed')
        throw new AppError(
          'conversation_closed',
          `The conversation ${conversationId} is closed. Start a new conversation.`,
        );
      if (now.owner === 'ai')
        await handOver.write(
          tx,
          tenantId,
          now,
          { code: 'asked_for_person', text: 'the visitor asked for a person', pageLanguage },
          { actor: `visitor:${visitorId}`, environment },
        );
      return (await readVisitorView(tx, conversationId)).conversation;
    });
  }

  async #send(visitor: VisitorIdentity, message: Message): Promise<ChatMessage> {
    const { tenantId, conversationId, visitorId, environment } = visitor;
    const { db, rateLimiter, messageWriter, conversationWriter, assignment } = this.#deps;
    const state = await rateLimiter.take(`chat-send:${visitorId}`, sendLimit);
    if (!state.allowed) {
      const sent = await this.#find(visitor, message.clientId);
      if (sent !== null) return sent;
      const retryAfterSeconds = Math.max(1, Math.ceil((state.resetAt.getTime() - Date.now()) / 1000));
      throw new AppError(
        'rate_limited',
        `More than ${sendLimit.limit} messages in ${sendLimit.windowSeconds} seconds; try again in ${retryAfterSeconds} seconds.`,
        { retryAfterSeconds, limit: sendLimit.limit },
      );
    }
    const actor = { actor: `visitor:${visitorId}`, environment };
    const { row } = await db.workspace(tenantId, async (tx) => {
      const [, written] = await Promise.all([
        assignment.lock(tx, tenantId, conversationId, 'message'),
        messageWriter.write(
          tx,
          tenantId,
          conversationId,
          { ...message, senderType: 'visitor', senderId: visitorId, sentBy: actor.actor },
          actor,
        ),
      ]);
      if (written.hasReopened || written.hasStarted)
        await assignment.auto(tx, tenantId, await conversationWriter.lock(tx, conversationId));
      return written;
    });
    return presentMessage(row as PublicMessageRow);
  }

  async #find({ tenantId, conversationId, visitorId }: VisitorIdentity, clientId: string): Promise<ChatMessage | null> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<PublicMessageRow>(
        'find_visitor_message',
        `SELECT ${messageColumns} FROM chat_messages WHERE conversation_id = $1 AND sender_type = 'visitor' AND sender_id = $2 AND client_id = $3`,
        [conversationId, visitorId, clientId],
      ),
    );
    return rows[0] === undefined ? null : presentMessage(rows[0]);
  }
}
