import type { z } from 'zod';
import type { InboxVisitor } from '../../../../shared/contract/chat/agent-shapes.ts';
import type { chatPeople as resource } from '../../../../shared/contract/chat/people.ts';
import { notFound } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { publishAccessChange } from '../../../platform/http/auth/principal.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { publishChatChange } from '../changes/index.ts';
import { assertAttributesFit, attributesSize, splitAttributes } from '../conversations/index.ts';
import type { AttributesSize } from '../conversations/index.ts';
import {
  inboxColumns,
  inboxJoins,
  inboxVisitorColumns,
  presentInboxConversation,
  presentInboxVisitor,
} from '../inbox/index.ts';
import type { InboxConversationRow, InboxVisitorRow } from '../inbox/index.ts';
import { findConversations } from './access.ts';

type Patch = z.output<typeof resource.updateInboxVisitor.body>;

export interface VisitorsDependencies {
  db: Database;
  cursors: Cursors;
}

const maxShownConversations = 20;
/** Names have no index, so a page of a search examines at most this many visitors. */
const maxExamined = 20_000;
/** A changed visitor is published to this many active conversations, the most recent first. */
const maxNotifiedConversations = 100;

/** The visitor operations of the inbox. */
export class Visitors {
  readonly #deps: VisitorsDependencies;

  constructor(dependencies: VisitorsDependencies) {
    this.#deps = dependencies;
  }

  /** @throws AppError `invalid_cursor`. */
  list(tenantId: string, query: z.output<typeof resource.listInboxVisitors.query>) {
    const { db, cursors } = this.#deps;
    const { blocked, q } = query;
    const filter =
      blocked === undefined ? '' : blocked === 'true' ? 'AND blocked_at IS NOT NULL' : 'AND blocked_at IS NULL';
    const newest = `FROM chat_visitors
      WHERE tenant_id = $1 AND erased_at IS NULL AND ($2::uuid IS NULL OR id < $2) ${filter} ORDER BY id DESC`;
    const read = async (limit: number, before: string | undefined) => {
      const { rows } = await db.read(tenantId, (tx) =>
        q === undefined
          ? tx.query<InboxVisitorRow>(
              `list_inbox_visitors_${blocked ?? 'all'}`,
              `SELECT ${inboxVisitorColumns} ${newest} LIMIT $3`,
              [tenantId, before ?? null, limit],
            )
          : tx.query<InboxVisitorRow>(
              `find_inbox_visitors_${blocked ?? 'all'}`,
              `SELECT ${inboxVisitorColumns} FROM (SELECT * ${newest} LIMIT ${maxExamined}) chat_visitors
               WHERE position(lower($4) IN lower(concat_ws(' ', display_name, email, phone, external_id))) > 0
               ORDER BY id DESC LIMIT $3`,
              [tenantId, before ?? null, limit, q],
            ),
      );
      return rows;
    };
    return readPage(
      cursors,
      `inbox-visitors:${tenantId}:${blocked ?? ''}${q === undefined ? '' : `:${q}`}`,
      query,
      read,
      presentInboxVisitor,
    );
  }

  /** A visitor with their newest conversations. @throws AppError `not_found`. */
  async show(tenantId: string, id: string) {
    const { visitor, conversations } = await this.#deps.db.read(tenantId, async (tx) => {
      const [found, listed] = await Promise.all([
        tx.query<InboxVisitorRow>(
          'show_inbox_visitor',
          `SELECT ${inboxVisitorColumns} FROM chat_visitors WHERE tenant_id = $1 AND id = $2 AND erased_at IS NULL`,
          [tenantId, id],
        ),
        tx.query<InboxConversationRow>(
          'list_conversations_of_visitor',
          `SELECT ${inboxColumns} FROM chat_conversations c ${inboxJoins}
           WHERE c.tenant_id = $1 AND c.visitor_id = $2 ORDER BY c.moved_at DESC, c.id DESC LIMIT $3`,
          [tenantId, id, maxShownConversations],
        ),
      ]);
      return { visitor: found.rows[0], conversations: listed.rows };
    });
    if (visitor === undefined) throw notFound('visitor', id);
    return { ...presentInboxVisitor(visitor), conversations: conversations.map(presentInboxConversation) };
  }

  /**
   * Changes the given fields; null deletes a field.
   * @throws AppError `not_found`, `validation_failed` for too many attributes.
   */
  async update(tenantId: string, id: string, patch: Patch, actor: string): Promise<InboxVisitor> {
    const { set, deleted } = splitAttributes(patch.attributes);
    const row = await this.#deps.db.workspace(tenantId, async (tx) => {
      const [{ rows }, conversations] = await Promise.all([
        tx.query<InboxVisitorRow & AttributesSize>(
          'update_inbox_visitor',
          `WITH changed AS (
             UPDATE chat_visitors SET display_name = CASE WHEN $3 THEN $4 ELSE display_name END, email = CASE WHEN $5 THEN $6 ELSE email END,
               phone = CASE WHEN $7 THEN $8 ELSE phone END, attributes = (attributes || $9::jsonb) - $10::text[], updated_at = now()
             WHERE tenant_id = $1 AND id = $2 AND erased_at IS NULL RETURNING ${inboxVisitorColumns})
           SELECT *, ${attributesSize} FROM changed`,
          [
            tenantId,
            id,
            patch.displayName !== undefined,
            patch.displayName ?? null,
            patch.email !== undefined,
            patch.email ?? null,
            patch.phone !== undefined,
            patch.phone ?? null,
            set,
            deleted,
          ],
        ),
        tx.query<{ id: string }>(
          'find_open_conversations_of_visitor',
          `SELECT id FROM chat_conversations WHERE tenant_id = $1 AND visitor_id = $2 AND status IN ('open', 'pending')
           ORDER BY moved_at DESC LIMIT $3`,
          [tenantId, id, maxNotifiedConversations],
        ),
      ]);
      const [changed] = rows;
      if (changed === undefined) throw notFound('visitor', id);
      if (patch.attributes !== undefined) assertAttributesFit(changed, 'body.attributes');
      await this.#audit(tx, tenantId, id, actor, 'updated', { changed: Object.keys(patch) });
      for (const conversation of conversations.rows)
        publishChatChange(tx, tenantId, conversation.id, { kind: 'conversation' });
      return changed;
    });
    return presentInboxVisitor(row);
  }

  /**
   * Blocks a visitor. Links and sessions are refused with `visitor_blocked`, and no new session starts.
   * They are kept, and work again until their expiry once the visitor is unblocked. @throws AppError `not_found`.
   */
  async block(tenantId: string, id: string, actor: string): Promise<InboxVisitor> {
    const row = await this.#deps.db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<InboxVisitorRow>(
        'block_visitor',
        `UPDATE chat_visitors SET blocked_at = coalesce(blocked_at, clock_timestamp()), updated_at = now()
         WHERE tenant_id = $1 AND id = $2 AND erased_at IS NULL RETURNING ${inboxVisitorColumns}`,
        [tenantId, id],
      );
      const [blocked] = rows;
      if (blocked === undefined) throw notFound('visitor', id);
      const [found] = await Promise.all([
        findConversations(tx, tenantId, id),
        this.#audit(tx, tenantId, id, actor, 'blocked'),
      ]);
      publishAccessChange(tx, tenantId);
      for (const conversationId of found) publishChatChange(tx, tenantId, conversationId, { kind: 'access' });
      return blocked;
    });
    return presentInboxVisitor(row);
  }

  /** @throws AppError `not_found`. */
  async unblock(tenantId: string, id: string, actor: string): Promise<InboxVisitor> {
    const row = await this.#deps.db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<InboxVisitorRow>(
        'unblock_visitor',
        `UPDATE chat_visitors SET blocked_at = NULL, updated_at = now()
         WHERE tenant_id = $1 AND id = $2 AND erased_at IS NULL RETURNING ${inboxVisitorColumns}`,
        [tenantId, id],
      );
      const [unblocked] = rows;
      if (unblocked === undefined) throw notFound('visitor', id);
      await this.#audit(tx, tenantId, id, actor, 'unblocked');
      return unblocked;
    });
    return presentInboxVisitor(row);
  }

  #audit(
    tx: Transaction,
    tenantId: string,
    targetId: string,
    actor: string,
    what: string,
    details: { changed?: string[] } = {},
  ): Promise<void> {
    return recordAudit(tx, { tenantId, actor, action: `visitor.${what}`, targetType: 'visitor', targetId, details });
  }
}
