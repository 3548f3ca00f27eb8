import type { ConversationOwner, ConversationStatus, Priority } from '../../../../shared/contract/chat/shapes.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { publishChatChange } from '../changes/index.ts';
import type { ChatEvents } from '../events/index.ts';
import { isReachable } from './actor.ts';
import type { ChatActor } from './actor.ts';
import { initialOwner } from './owner.ts';
import { conversationColumns, presentConversation, presentVisitor, visitorColumns } from './rows.ts';
import type { ConversationRow, VisitorRow } from './rows.ts';

export interface ConversationChange {
  status?: ConversationStatus | undefined;
  priority?: Priority | undefined;
  name?: string | undefined;
  /** Null ends the snooze. */
  snoozedUntil?: string | null | undefined;
  /** Who answers the conversation. Reopening sets it to `person`. */
  owner?: ConversationOwner | null;
}

interface ChangedConversation {
  conversation: ConversationRow;
  /** Whether the status changed to `open`. */
  hasReopened: boolean;
}

interface Assignee extends Record<string, unknown> {
  id: string;
  email: string;
}

/**
 * Opens and changes conversations in the caller's transaction, and publishes it on its commit. Each change locks its
 * conversation.
 */
export class ConversationWriter {
  readonly #events: ChatEvents;

  constructor(events: ChatEvents) {
    this.#events = events;
  }

  async open(
    tx: Transaction,
    tenantId: string,
    given: { name: string; source: string; priority: Priority; visitor: VisitorRow | null; hasStarted?: boolean },
    { actor, environment, origin = actor.startsWith('visitor:') ? 'widget' : 'support' }: ChatActor,
    depth = 0,
  ): Promise<ConversationRow> {
    const { rows } = await tx.query<ConversationRow>(
      'open_conversation',
      `INSERT INTO chat_conversations (id, tenant_id, visitor_id, name, source, priority, environment, last_event, owner, has_started)
       VALUES ($1, $2, $3, $4, $5, $6, $7, 1, ${initialOwner('$2')}, $8) RETURNING ${conversationColumns}`,
      [
        newId(),
        tenantId,
        given.visitor?.id ?? null,
        given.name,
        given.source,
        given.priority,
        environment ?? 'live',
        given.hasStarted ?? true,
      ],
    );
    const conversation = rows[0] as ConversationRow;
    await this.#events.emit(
      tx,
      'conversation.created',
      {
        tenantId,
        sequence: 1,
        environment: conversation.environment,
        actor,
        origin,
        conversation: presentConversation(conversation),
        ...(given.visitor === null ? {} : { visitor: presentVisitor(given.visitor) }),
      },
      depth,
    );
    this.#publishOnCommit(tx, tenantId, conversation.id);
    return conversation;
  }

  /**
   * Locks a conversation for a change.
   * @throws AppError `not_found`, also for a conversation of another environment.
   */
  async lock(tx: Transaction, id: string, environment: ChatActor['environment'] = null): Promise<ConversationRow> {
    const { rows } = await tx.query<ConversationRow>(
      'lock_whole_conversation',
      `SELECT ${conversationColumns} FROM chat_conversations WHERE id = $1 FOR NO KEY UPDATE`,
      [id],
    );
    const [row] = rows;
    if (row === undefined || !isReachable(row, environment)) throw notFound('conversation', id);
    return row;
  }

  /** Changes a conversation. Closing it emits one `conversation.closed` event. @throws AppError `not_found`. */
  async change(
    tx: Transaction,
    tenantId: string,
    id: string,
    change: ConversationChange,
    actor: ChatActor,
    depth = 0,
  ): Promise<ChangedConversation> {
    const before = await this.lock(tx, id, actor.environment);
    const status = change.status ?? before.status;
    const isClosing = status === 'closed' && before.status !== 'closed';
    const isReopening = status === 'open' && before.status !== 'open';
    const { rows } = await tx.query<ConversationRow>(
      'change_conversation',
      `UPDATE chat_conversations SET status = $2, priority = coalesce($3, priority), name = coalesce($4, name),
         snoozed_until = CASE WHEN $2 IN ('resolved', 'closed') THEN NULL WHEN $5 THEN $6::timestamptz ELSE snoozed_until END,
         closed_at = CASE WHEN $7 THEN clock_timestamp() WHEN $2 = 'closed' THEN closed_at END,
         closings = closings + $7::boolean::int, last_event = last_event + $7::boolean::int, updated_at = clock_timestamp(),
         owner = CASE WHEN $8 THEN $9 WHEN $10 THEN 'person' ELSE owner END, context_seq = CASE WHEN $10 THEN last_seq ELSE context_seq END,
         has_started = has_started OR ($8 AND $9 IS NOT DISTINCT FROM 'person')
       WHERE id = $1 RETURNING ${conversationColumns}`,
      [
        id,
        status,
        change.priority ?? null,
        change.name ?? null,
        change.snoozedUntil !== undefined,
        change.snoozedUntil ?? null,
        isClosing,
        change.owner !== undefined,
        change.owner ?? null,
        isReopening,
      ],
    );
    const conversation = rows[0] as ConversationRow;
    if (isClosing)
      await this.#events.emit(tx, 'conversation.closed', await this.#payload(tx, tenantId, conversation, actor), depth);
    this.#publishOnCommit(tx, tenantId, id);
    return { conversation, hasReopened: isReopening };
  }

  /**
   * Assigns a conversation, or unassigns it if `userId` is null.
   * @param from the expected present assignee. Null expects none; undefined skips the check.
   * @param field path of `userId` in the request, for errors.
   * @throws AppError `not_found`, `assignment_conflict`, `validation_failed` if `userId` is not a member.
   */
  async assign(
    tx: Transaction,
    tenantId: string,
    id: string,
    {
      userId,
      from,
      field = 'body.userId',
    }: { userId: string | null; from?: string | null | undefined; field?: string },
    actor: ChatActor,
    depth = 0,
  ): Promise<ConversationRow> {
    const before = await this.lock(tx, id, actor.environment);
    if (from !== undefined && before.assigned_user_id !== from)
      throw new AppError(
        'assignment_conflict',
        before.assigned_user_id === null
          ? `The conversation ${id} is not assigned now.`
          : `The conversation ${id} is assigned to ${(await findMember(tx, before.assigned_user_id))?.email ?? 'another member'} (${before.assigned_user_id}) now.`,
        { assignedUserId: before.assigned_user_id },
      );
    if (before.assigned_user_id === userId && (userId === null || before.owner !== 'ai')) return before;
    const assignee = userId === null ? null : await findMember(tx, userId);
    if (assignee === undefined) {
      const message = `must be a member of this workspace; ${userId} is none`;
      throw new AppError('validation_failed', `${field} ${message}.`, {
        details: [{ path: field, message }],
      });
    }
    const { rows } = await tx.query<ConversationRow>(
      'assign_conversation',
      `WITH busy AS (INSERT INTO chat_agents (id, tenant_id, user_id, assigned_at) SELECT $4, $3, $2, clock_timestamp() WHERE $2::uuid IS NOT NULL
         ON CONFLICT (tenant_id, user_id) DO UPDATE SET assigned_at = excluded.assigned_at)
       UPDATE chat_conversations SET assigned_user_id = $2, owner = CASE WHEN $2::uuid IS NOT NULL THEN 'person' END, assigned_at = clock_timestamp(), last_event = last_event + 1, updated_at = clock_timestamp()
       WHERE id = $1 RETURNING ${conversationColumns}`,
      [id, userId, tenantId, newId()],
    );
    const conversation = rows[0] as ConversationRow;
    await this.#events.emit(
      tx,
      'conversation.assigned',
      { ...(await this.#payload(tx, tenantId, conversation, actor)), assignee },
      depth,
    );
    this.#publishOnCommit(tx, tenantId, id);
    return conversation;
  }

  /** Increments the event number of a conversation, for an event that changes nothing else. */
  async nextEvent(tx: Transaction, id: string): Promise<ConversationRow> {
    const { rows } = await tx.query<ConversationRow>(
      'next_conversation_event',
      `UPDATE chat_conversations SET last_event = last_event + 1, updated_at = clock_timestamp() WHERE id = $1 RETURNING ${conversationColumns}`,
      [id],
    );
    const [row] = rows;
    if (row === undefined) throw notFound('conversation', id);
    return row;
  }

  async #payload(tx: Transaction, tenantId: string, conversation: ConversationRow, { actor }: ChatActor) {
    const visitor =
      conversation.visitor_id === null
        ? undefined
        : (
            await tx.query<VisitorRow>('read_visitor', `SELECT ${visitorColumns} FROM chat_visitors WHERE id = $1`, [
              conversation.visitor_id,
            ])
          ).rows[0];
    return {
      tenantId,
      sequence: Number(conversation.last_event),
      environment: conversation.environment,
      actor,
      conversation: presentConversation(conversation),
      ...(visitor === undefined ? {} : { visitor: presentVisitor(visitor) }),
    };
  }

  #publishOnCommit(tx: Transaction, tenantId: string, id: string): void {
    publishChatChange(tx, tenantId, id, { kind: 'conversation' });
  }
}

async function findMember(tx: Transaction, userId: string): Promise<Assignee | undefined> {
  const { rows } = await tx.query<Assignee>('find_member', 'SELECT id, email FROM users WHERE id = $1', [userId]);
  return rows[0];
}
