import type { AiSuggestion } from '../../../../shared/contract/chat/ai-suggestions.ts';
import { notFound } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { publishChatChange } from '../changes/index.ts';

export interface SuggestionRow {
  id: string;
  conversation_id: string;
  content: string;
  action: AiSuggestion['action'];
  reason: string;
  sources: AiSuggestion['sources'];
  tools: AiSuggestion['tools'] | null;
  seq: number;
  origin: AiSuggestion['origin'];
  accepted_at: Date | null;
  accepted_by: string | null;
  created_at: Date;
}

export const suggestionColumns =
  'id, conversation_id, content, action, reason, sources, tools, seq, origin, accepted_at, accepted_by, created_at';

export const presentSuggestion = (row: SuggestionRow): AiSuggestion => ({
  id: row.id,
  conversationId: row.conversation_id,
  content: row.content,
  action: row.action,
  reason: row.reason,
  sources: row.sources,
  tools: row.tools ?? [],
  seq: row.seq,
  origin: row.origin,
  acceptedAt: row.accepted_at?.toISOString() ?? null,
  acceptedBy: row.accepted_by,
  createdAt: row.created_at.toISOString(),
});

export type NewSuggestion = Pick<
  AiSuggestion,
  'conversationId' | 'content' | 'action' | 'reason' | 'sources' | 'tools' | 'seq' | 'origin'
>;

/** Replies that the AI agent suggests to agents. */
export class Suggestions {
  readonly #db: Database;
  readonly #cursors: Cursors;

  constructor({ db, cursors }: { db: Database; cursors: Cursors }) {
    this.#db = db;
    this.#cursors = cursors;
  }

  /** Stores a suggestion in the caller's transaction, whose commit publishes it to the agents. */
  async write(tx: Transaction, tenantId: string, given: NewSuggestion): Promise<AiSuggestion> {
    const id = newId();
    const { rows } = await tx.query<SuggestionRow>(
      'write_ai_suggestion',
      `INSERT INTO chat_ai_suggestions (id, tenant_id, conversation_id, content, action, reason, sources, tools, seq, origin)
       VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8::jsonb, $9, $10) RETURNING ${suggestionColumns}`,
      [
        id,
        tenantId,
        given.conversationId,
        given.content,
        given.action,
        given.reason,
        JSON.stringify(given.sources),
        given.tools.length === 0 ? null : JSON.stringify(given.tools),
        given.seq,
        given.origin,
      ],
    );
    publishChatChange(tx, tenantId, given.conversationId, { kind: 'suggestion', id });
    return presentSuggestion(rows[0] as SuggestionRow);
  }

  /** @throws AppError `not_found`, `invalid_cursor`. */
  async list(tenantId: string, conversationId: string, query: { limit: number; cursor?: string | undefined }) {
    const read = (limit: number, before: string | undefined) =>
      this.#db.read(tenantId, async (tx) => {
        const [there, { rows }] = await Promise.all([
          tx.query('has_conversation', 'SELECT FROM chat_conversations WHERE id = $1', [conversationId]),
          tx.query<SuggestionRow>(
            'list_ai_suggestions',
            `SELECT ${suggestionColumns} FROM chat_ai_suggestions WHERE conversation_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
            [conversationId, before ?? null, limit],
          ),
        ]);
        if (there.rowCount === 0) throw notFound('conversation', conversationId);
        return rows;
      });
    return readPage(this.#cursors, `ai-suggestions:${tenantId}:${conversationId}`, query, read, presentSuggestion);
  }

  /** Records that a member accepted a suggestion. Repeating it changes nothing. @throws AppError `not_found`. */
  async accept(tenantId: string, conversationId: string, id: string, userId: string): Promise<AiSuggestion> {
    const row = await this.#db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<SuggestionRow & { is_new: boolean }>(
        'accept_ai_suggestion',
        // The previous row shows whether this statement accepted the suggestion.
        `UPDATE chat_ai_suggestions s SET accepted_at = coalesce(s.accepted_at, now()), accepted_by = coalesce(s.accepted_by, $3)
         FROM (SELECT id AS old_id, accepted_at IS NULL AS is_new FROM chat_ai_suggestions WHERE id = $1 FOR UPDATE) old
         WHERE s.id = old.old_id AND s.conversation_id = $2 RETURNING ${suggestionColumns}, is_new`,
        [id, conversationId, userId],
      );
      const [accepted] = rows;
      if (accepted === undefined) throw notFound('suggestion', id);
      if (accepted.is_new)
        await recordAudit(tx, {
          tenantId,
          actor: `user:${userId}`,
          action: 'ai_suggestion.accepted',
          targetType: 'ai_suggestion',
          targetId: id,
          details: { conversationId },
        });
      return accepted;
    });
    return presentSuggestion(row);
  }
}
