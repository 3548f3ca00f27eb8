import type { z } from 'zod';
import type { inbox as resource } from '../../../../shared/contract/chat/inbox.ts';
import { AppError, invalidBody, notFound } from '../../../../shared/errors.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { Assignment } from '../assignment/index.ts';
import { publishChatChange } from '../changes/index.ts';
import { listConversations, markRead, visitorColumns } from '../conversations/index.ts';
import type { ChatActor, ConversationWriter, MessageWriter, VisitorRow } from '../conversations/index.ts';
import { readInboxConversation, readInboxDetail, readInboxMessages } from './reads.ts';
import { presentInboxMessage } from './rows.ts';
import { countViews, inboxFilter, inboxView } from './views.ts';

type Operations = typeof resource;
type BodyOf<Id extends keyof Operations> = Operations[Id] extends { body: z.ZodType }
  ? z.output<Operations[Id]['body']>
  : never;

/** A signed-in member who uses the inbox. */
export interface Agent {
  tenantId: string;
  userId: string;
}

/** The current viewers of conversations. The state is in memory and expires after some seconds. */
interface Viewing {
  /** Publishes whether a member views a conversation and types in it. */
  show(
    tenantId: string,
    conversationId: string,
    member: { userId: string; name: string | null },
    activity: { viewing: boolean; typing: boolean },
  ): void;
  /** User ids of the current viewers. */
  viewersOf(tenantId: string, conversationId: string): string[];
}

export interface InboxDependencies {
  db: Database;
  cursors: Cursors;
  conversationWriter: ConversationWriter;
  messageWriter: MessageWriter;
  assignment: Assignment;
  viewing: Viewing;
}

/** Concurrent changes of one bulk request. */
const maxConcurrentChanges = 4;

const actorOf = ({ userId }: Agent) => ({ actor: `user:${userId}`, environment: null });

/** The inbox operations of agents. */
export class Inbox {
  readonly #deps: InboxDependencies;

  constructor(dependencies: InboxDependencies) {
    this.#deps = dependencies;
  }

  list({ tenantId, userId }: Agent, query: z.output<Operations['listInboxConversations']['query']>) {
    return listConversations(this.#deps, tenantId, query, inboxFilter(query, userId), inboxView);
  }

  counts({ tenantId, userId }: Agent) {
    return this.#deps.db.read(tenantId, (tx) => countViews(tx, tenantId, userId));
  }

  /** @throws AppError `not_found`. */
  async show({ tenantId, userId }: Agent, id: string) {
    const detail = await this.#deps.db.read(tenantId, (tx) => readInboxDetail(tx, id, userId));
    return { ...detail, viewers: this.#deps.viewing.viewersOf(tenantId, id) };
  }

  /** @throws AppError `not_found`. */
  messages(
    { tenantId }: Agent,
    id: string,
    query: { limit: number; after?: string | undefined; before?: string | undefined },
  ) {
    return this.#deps.db.read(tenantId, (tx) => readInboxMessages(tx, id, query));
  }

  /**
   * Opens a conversation with a visitor, assigns it to the agent and sends the first message. The visitor must have no
   * unclosed conversation.
   * @throws AppError `not_found`, `visitor_blocked`, `conflict`.
   */
  async start(agent: Agent, { visitorId, content, source }: BodyOf<'startInboxConversation'>) {
    const { tenantId, userId } = agent;
    const { db, conversationWriter, messageWriter } = this.#deps;
    return db.workspace(tenantId, async (tx) => {
      // Locks the visitor, so that two agents at the same time open one conversation.
      const visitor = await lockReachableVisitor(tx, visitorId);
      const actor: ChatActor = { actor: `user:${userId}`, environment: visitor.environment };
      const name = visitor.display_name ?? visitor.email ?? visitor.external_id ?? 'Visitor';
      const opening = { name, source, priority: 'normal', visitor } as const;
      const { id } = await conversationWriter.open(tx, tenantId, opening, actor);
      await conversationWriter.assign(tx, tenantId, id, { userId }, actor);
      await messageWriter.write(
        tx,
        tenantId,
        id,
        { content, senderType: 'agent', senderId: userId, sentBy: actor.actor },
        actor,
      );
      // Pages of the visitor that show a closed conversation continue in the new one.
      for (const closedId of await displayedConversations(tx, visitorId))
        publishChatChange(tx, tenantId, closedId, { kind: 'conversation' });
      return readInboxConversation(tx, id);
    });
  }

  /** @throws AppError `not_found`. */
  update(agent: Agent, id: string, change: BodyOf<'updateInboxConversation'>) {
    assertInFuture(change.snoozedUntil);
    return this.#write(agent, id, async (tx) => {
      const changed = await this.#deps.conversationWriter.change(tx, agent.tenantId, id, change, actorOf(agent));
      if (changed.hasReopened) await this.#deps.assignment.auto(tx, agent.tenantId, changed.conversation);
    });
  }

  /** @throws AppError `not_found`, `assignment_conflict`, `validation_failed`. */
  assign(agent: Agent, id: string, body: BodyOf<'assignInboxConversation'>) {
    return this.#write(agent, id, (tx) =>
      this.#deps.conversationWriter.assign(tx, agent.tenantId, id, body, actorOf(agent)),
    );
  }

  /** Changes each conversation in its own transaction. */
  async bulk(agent: Agent, { ids, assignedUserId, ...change }: BodyOf<'changeInboxConversations'>) {
    assertInFuture(change.snoozedUntil);
    const waiting = [...new Set(ids.map((id) => id.toLowerCase()))];
    const outcomes = new Map<string, { ok: boolean; code: string | null; message: string | null }>();
    const work = async () => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        try {
          if (Object.values(change).some((value) => value !== undefined)) await this.update(agent, id, change);
          if (assignedUserId !== undefined) await this.assign(agent, id, { userId: assignedUserId });
          outcomes.set(id, { ok: true, code: null, message: null });
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          outcomes.set(id, { ok: false, code: error.code, message: error.message });
        }
      }
    };
    await Promise.all(Array.from({ length: maxConcurrentChanges }, work));
    return { results: [...outcomes].map(([id, outcome]) => ({ id, ...outcome })) };
  }

  /** @throws AppError `not_found`, `conversation_closed`, `newer_reply`, `validation_failed`. */
  async send(agent: Agent, id: string, body: BodyOf<'sendInboxMessage'>) {
    const { tenantId, userId } = agent;
    const { row } = await this.#deps.db.workspace(tenantId, async (tx) => {
      const written = await this.#deps.messageWriter.write(
        tx,
        tenantId,
        id,
        { ...body, senderType: 'agent', senderId: userId, sentBy: `user:${userId}` },
        actorOf(agent),
      );
      if (!written.isRepeated) await deleteDraft(tx, id, userId);
      return written;
    });
    return presentInboxMessage(row);
  }

  /** @throws AppError `not_found`. */
  async read({ tenantId }: Agent, id: string, seq: number) {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      await markRead(tx, tenantId, id, 'agent', seq);
      return readInboxConversation(tx, id);
    });
  }

  /** @param name what visitors see of the member. @throws AppError `not_found`. */
  async activity({ tenantId, userId }: Agent, name: string | null, id: string, activity: BodyOf<'showInboxActivity'>) {
    await this.#deps.db.read(tenantId, (tx) => assertExists(tx, id));
    this.#deps.viewing.show(tenantId, id, { userId, name }, activity);
    return { viewers: this.#deps.viewing.viewersOf(tenantId, id) };
  }

  /** @throws AppError `not_found`. */
  async putDraft({ tenantId, userId }: Agent, id: string, { content, private: isPrivate }: BodyOf<'putInboxDraft'>) {
    const updatedAt = await this.#deps.db.workspace(tenantId, async (tx) => {
      await assertExists(tx, id);
      if (content === '') {
        await deleteDraft(tx, id, userId);
        return new Date();
      }
      const { rows } = await tx.query<{ updated_at: Date }>(
        'put_chat_draft',
        `INSERT INTO chat_drafts (id, tenant_id, conversation_id, user_id, content, private) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (conversation_id, user_id) DO UPDATE SET content = excluded.content, private = excluded.private, updated_at = now() RETURNING updated_at`,
        [newId(), tenantId, id, userId, content, isPrivate],
      );
      return (rows[0] as { updated_at: Date }).updated_at;
    });
    return { content, private: isPrivate, updatedAt: updatedAt.toISOString() };
  }

  /** Ends all links and sessions of a conversation's visitor. @throws AppError `not_found`. */
  async revokeLinks({ tenantId }: Agent, id: string) {
    const revoked = await this.#deps.db.workspace(tenantId, async (tx) => {
      // The lock waits for concurrent session starts and renewals, so that their sessions are deleted too.
      const locked = await tx.query(
        'lock_conversation_of_links',
        'SELECT FROM chat_conversations WHERE id = $1 FOR UPDATE',
        [id],
      );
      if (locked.rowCount === 0) throw notFound('conversation', id);
      publishChatChange(tx, tenantId, id, { kind: 'access' });
      const deleted = await Promise.all([
        tx.query('revoke_chat_links', 'DELETE FROM chat_links WHERE conversation_id = $1', [id]),
        tx.query('revoke_chat_sessions', 'DELETE FROM chat_sessions WHERE conversation_id = $1', [id]),
      ]);
      return deleted.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0);
    });
    return { revoked };
  }

  #write(agent: Agent, id: string, work: (tx: Transaction) => Promise<unknown>) {
    return this.#deps.db.workspace(agent.tenantId, async (tx) => {
      await work(tx);
      return readInboxConversation(tx, id);
    });
  }
}

/** @throws AppError `not_found`, `visitor_blocked`, `conflict` for a visitor with a conversation that is not closed. */
async function lockReachableVisitor(
  tx: Transaction,
  visitorId: string,
): Promise<VisitorRow & { environment: 'live' | 'test' }> {
  const { rows } = await tx.query<VisitorRow & { environment: 'live' | 'test'; is_blocked: boolean }>(
    'lock_visitor_to_write_to',
    `SELECT ${visitorColumns}, environment, blocked_at IS NOT NULL AS is_blocked FROM chat_visitors WHERE id = $1 AND erased_at IS NULL FOR NO KEY UPDATE`,
    [visitorId],
  );
  const [visitor] = rows;
  if (visitor === undefined) throw notFound('visitor', visitorId);
  if (visitor.is_blocked)
    throw new AppError(
      'visitor_blocked',
      `The visitor ${visitorId} is blocked. Unblock the visitor, then start the conversation.`,
    );
  const { rows: open } = await tx.query<{ id: string }>(
    'find_unclosed_conversation',
    `SELECT id FROM chat_conversations WHERE visitor_id = $1 AND status <> 'closed' ORDER BY moved_at DESC, id DESC LIMIT 1`,
    [visitorId],
  );
  if (open[0] !== undefined)
    throw new AppError(
      'conflict',
      `The visitor ${visitorId} has the conversation ${open[0].id}, which is not closed. Reply in that conversation.`,
      { details: [{ path: 'body.visitorId', message: `has the conversation ${open[0].id}` }] },
    );
  return visitor;
}

/** Conversations that a visitor's active sessions show. */
async function displayedConversations(tx: Transaction, visitorId: string): Promise<string[]> {
  const { rows } = await tx.query<{ conversation_id: string }>(
    'find_conversations_on_screen',
    'SELECT DISTINCT conversation_id FROM chat_sessions WHERE visitor_id = $1 AND expires_at > now()',
    [visitorId],
  );
  return rows.map(({ conversation_id: id }) => id);
}

/** @throws AppError `validation_failed` unless the time is in the future. */
function assertInFuture(snoozedUntil: string | null | undefined): void {
  if (typeof snoozedUntil === 'string' && Date.parse(snoozedUntil) <= Date.now())
    throw invalidBody('snoozedUntil', 'must be in the future; null ends the snooze');
}

async function assertExists(tx: Transaction, id: string): Promise<void> {
  const { rowCount } = await tx.query('has_conversation', 'SELECT FROM chat_conversations WHERE id = $1', [id]);
  if (rowCount === 0) throw notFound('conversation', id);
}

const deleteDraft = (tx: Transaction, id: string, userId: string) =>
  tx.query('drop_chat_draft', 'DELETE FROM chat_drafts WHERE conversation_id = $1 AND user_id = $2', [id, userId]);
