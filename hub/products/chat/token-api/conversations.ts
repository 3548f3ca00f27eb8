import { createHash, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import type { chat as resource } from '../../../../shared/contract/chat/chat.ts';
import { maxSeq } from '../../../../shared/contract/chat/shapes.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { Assignment } from '../assignment/index.ts';
import {
  conversationColumns,
  upsertVisitor,
  listConversations,
  messageColumns,
  pageOf,
  pageText,
  presentConversation,
  presentMessage,
  presentVisitor,
  visitorColumns,
} from '../conversations/index.ts';
import type {
  ChatActor,
  ConversationRow,
  ConversationWriter,
  MessageWriter,
  NewMessage,
  PublicMessageRow,
  VisitorRow,
} from '../conversations/index.ts';
import { siteKeyOf } from '../settings/index.ts';

type MintBody = z.output<typeof resource.createChatSession.body>;
type CreateBody = z.output<typeof resource.createChatConversation.body>;

type Environment = 'live' | 'test';
/** The holder of an API key, which acts in one environment only. */
type TokenActor = ChatActor & { environment: Environment };

const linkHours = 24;

const publicView = {
  name: 'conversations',
  columns: conversationColumns
    .split(', ')
    .map((column) => `c.${column}`)
    .join(', '),
  joins: '',
  present: (row: ConversationRow) => presentConversation(row),
};

export interface ConversationsDependencies {
  db: Database;
  cursors: Cursors;
  conversationWriter: ConversationWriter;
  messageWriter: MessageWriter;
  assignment: Assignment;
}

/** The conversation operations for API keys. */
export class Conversations {
  readonly #deps: ConversationsDependencies;

  constructor(dependencies: ConversationsDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Creates a chat link for a visitor. Concurrent requests for the same visitor wait for each other.
   * @throws AppError `validation_failed`, `visitor_blocked`.
   */
  async mint(tenantId: string, body: MintBody, actor: TokenActor, baseUrl: string) {
    const token = `cvt_${randomBytes(32).toString('base64url')}`;
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const visitor = await upsertVisitor(tx, tenantId, actor.environment, body, 'body.attributes');
      if (visitor.is_blocked)
        throw new AppError(
          'visitor_blocked',
          'This visitor is blocked. An agent of the workspace can unblock the visitor.',
        );
      const [found, siteKey] = await Promise.all([
        tx.query<ConversationRow>(
          'find_open_conversation',
          `SELECT ${conversationColumns} FROM chat_conversations WHERE visitor_id = $1 AND status IN ('open', 'pending') AND environment = $2 ORDER BY moved_at DESC, id DESC LIMIT 1`,
          [visitor.id, actor.environment],
        ),
        siteKeyOf(tx, tenantId),
      ]);
      const name = body.name ?? visitor.display_name ?? visitor.email ?? body.externalId;
      // Assigned with the first message, because many sites create a link for every visitor of a page.
      const conversation =
        found.rows[0] ??
        (await this.#deps.conversationWriter.open(
          tx,
          tenantId,
          { name, source: body.source, priority: 'normal', visitor, hasStarted: false },
          { ...actor, origin: 'widget' },
        ));
      const { rows } = await tx.query<{ expires_at: Date }>(
        'mint_chat_link',
        `WITH used AS (INSERT INTO usage_events (id, tenant_id, kind, subject_id, environment) VALUES ($7, $2, 'chat.session', $3, $8))
         INSERT INTO chat_links (id, tenant_id, conversation_id, visitor_id, token_hash, expires_at)
         VALUES ($1, $2, $3, $4, $5, now() + make_interval(hours => $6)) RETURNING expires_at`,
        [
          newId(),
          tenantId,
          conversation.id,
          visitor.id,
          createHash('sha256').update(token).digest(),
          linkHours,
          newId(),
          conversation.environment,
        ],
      );
      const [link] = rows;
      if (link === undefined) throw new Error('a link was not written');
      return {
        conversationId: conversation.id,
        chatUrl: `${baseUrl}/chat?${new URLSearchParams({ siteKey, token }).toString()}`,
        externalId: body.externalId,
        visitorToken: token,
        expiresAt: link.expires_at.toISOString(),
        siteKey,
      };
    });
  }

  list(
    tenantId: string,
    environment: Environment,
    { status, source, ...page }: z.output<typeof resource.listChatConversations.query>,
  ) {
    const conditions = [
      // A literal, so that the plan can use the partial index of test conversations.
      { text: `c.environment = '${environment}'` },
      ...(status === undefined ? [] : [{ text: 'c.status = ?', value: status }]),
      ...(source === undefined ? [] : [{ text: 'c.source = ?', value: source }]),
    ];
    const name = `${environment}${status === undefined ? '' : '_status'}${source === undefined ? '' : '_source'}`;
    return listConversations(this.#deps, tenantId, page, { name, conditions }, publicView);
  }

  /** @throws AppError `validation_failed`. */
  async create(tenantId: string, { visitor: known, ...body }: CreateBody, actor: TokenActor) {
    const conversation = await this.#deps.db.workspace(tenantId, async (tx) => {
      const visitor =
        known === undefined
          ? null
          : await upsertVisitor(tx, tenantId, actor.environment, known, 'body.visitor.attributes');
      return this.#open(tx, tenantId, { ...body, visitor }, actor);
    });
    return presentConversation(conversation);
  }

  /** Lists messages, oldest first. @throws AppError `not_found`. */
  async messages(
    tenantId: string,
    environment: Environment,
    id: string,
    { limit, after = '0' }: { limit: number; after?: string | undefined },
  ) {
    const rows = await this.#deps.db.read(tenantId, async (tx) => {
      const [conversation, messages] = await Promise.all([
        tx.query(
          'has_conversation_of_environment',
          'SELECT FROM chat_conversations WHERE id = $1 AND environment = $2',
          [id, environment],
        ),
        tx.query<PublicMessageRow & { found: number }>(
          'list_messages',
          pageText(
            `SELECT ${messageColumns} FROM chat_messages WHERE conversation_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
            'seq',
          ),
          [id, Math.min(Number(after), maxSeq), limit + 1],
        ),
      ]);
      if (conversation.rowCount === 0) throw notFound('conversation', id);
      return messages.rows;
    });
    const { shown, next } = pageOf<PublicMessageRow>(rows, limit);
    return {
      data: shown.map(presentMessage),
      meta: { limit, nextCursor: next === null ? null : String(next.seq) },
    };
  }

  /**
   * Writes a message. A repeated `clientId` of the same sender returns the existing message.
   * @throws AppError `not_found`, `conversation_closed`.
   */
  async send(tenantId: string, id: string, message: NewMessage, actor: ChatActor) {
    const { row } = await this.#deps.db.workspace(tenantId, (tx) =>
      this.#deps.messageWriter.write(tx, tenantId, id, message, actor),
    );
    return presentMessage(row as PublicMessageRow);
  }

  async visitors(
    tenantId: string,
    environment: Environment,
    { externalId, ...query }: z.output<typeof resource.listChatVisitors.query>,
  ) {
    const { db, cursors } = this.#deps;
    if (externalId !== undefined) {
      const { rows } = await db.read(tenantId, (tx) =>
        tx.query<VisitorRow>(
          'find_visitor',
          `SELECT ${visitorColumns} FROM chat_visitors WHERE tenant_id = $1 AND environment = $2 AND external_id = $3`,
          [tenantId, environment, externalId],
        ),
      );
      return { data: rows.map(presentVisitor) };
    }
    const read = async (limit: number, before: string | undefined) =>
      (
        await db.read(tenantId, (tx) =>
          tx.query<VisitorRow>(
            `list_${environment}_visitors`,
            `SELECT ${visitorColumns} FROM chat_visitors WHERE tenant_id = $1 AND environment = '${environment}' AND erased_at IS NULL AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
            [tenantId, before ?? null, limit],
          ),
        )
      ).rows;
    return readPage(cursors, `chat-visitors:${tenantId}:${environment}`, query, read, presentVisitor);
  }

  /** Opens a conversation, and assigns it if automatic assignment is on. */
  async #open(
    tx: Transaction,
    tenantId: string,
    given: Parameters<ConversationWriter['open']>[2],
    actor: ChatActor,
  ): Promise<ConversationRow> {
    const [, opened] = await Promise.all([
      this.#deps.assignment.lockForNew(tx, tenantId),
      this.#deps.conversationWriter.open(tx, tenantId, given, actor),
    ]);
    return (await this.#deps.assignment.auto(tx, tenantId, opened)) ?? opened;
  }
}
