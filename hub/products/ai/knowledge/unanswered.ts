import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { maxUnansweredQuestions } from '../../../../shared/contract/ai/knowledge.ts';
import type { knowledgeBase as resource } from '../../../../shared/contract/ai/knowledge.ts';
import { notFound } from '../../../../shared/errors.ts';
import { toStorableText } from '../../../../shared/json.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { segmentsOf } from '../../../platform/words.ts';
import { foldWord } from './lexicon.ts';

interface Row {
  id: string;
  question: string;
  count: number;
  created_at: Date;
  last_asked_at: Date;
}

/** Maximum length of a stored question, in code points. */
const maxQuestion = 1_000;

/** Counts and lists unanswered questions. */
export class Unanswered {
  readonly #deps: { db: Database; cursors: Cursors };

  constructor(dependencies: { db: Database; cursors: Cursors }) {
    this.#deps = dependencies;
  }

  /**
   * Counts a question. Questions with the same words are counted together.
   * Questions without words, and questions of a deleted conversation, are ignored.
   */
  async record(tenantId: string, conversationId: string, question: string): Promise<void> {
    const words = [...segmentsOf(foldWord(question))].map(({ text }) => text).join(' ');
    if (words === '') return;
    const clipped = toStorableText(
      Array.from(question.trim().slice(0, 2 * maxQuestion))
        .slice(0, maxQuestion)
        .join(''),
    );
    const key = createHash('sha256').update(words).digest('base64url');
    await this.#deps.db.workspace(tenantId, async (tx) => {
      await tx.query(
        'record_unanswered',
        `INSERT INTO knowledge_unanswered (id, tenant_id, key, question, conversation_id)
         SELECT $1, $2, $3, $4, id FROM chat_conversations WHERE tenant_id = $2 AND id = $5 FOR KEY SHARE
         ON CONFLICT (tenant_id, key) DO UPDATE SET count = knowledge_unanswered.count + 1, question = excluded.question,
           conversation_id = excluded.conversation_id, last_asked_at = now()`,
        [newId(), tenantId, key, clipped, conversationId],
      );
      await tx.query(
        'trim_unanswered',
        `DELETE FROM knowledge_unanswered WHERE tenant_id = $1 AND id IN (
           SELECT id FROM knowledge_unanswered WHERE tenant_id = $1 ORDER BY last_asked_at DESC, id DESC OFFSET ${maxUnansweredQuestions})`,
        [tenantId],
      );
    });
  }

  /** @throws AppError `invalid_cursor`. */
  list(tenantId: string, query: z.output<typeof resource.listUnansweredQuestions.query>) {
    const { db, cursors } = this.#deps;
    const read = async (limit: number, before: string | undefined) => {
      const { rows } = await db.read(tenantId, (tx) =>
        tx.query<Row>(
          'list_unanswered',
          `SELECT id, question, count, created_at, last_asked_at FROM knowledge_unanswered
           WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
          [tenantId, before ?? null, limit],
        ),
      );
      return rows;
    };
    return readPage(cursors, `unanswered:${tenantId}`, query, read, (row) => ({
      id: row.id,
      question: row.question,
      count: row.count,
      firstAskedAt: row.created_at.toISOString(),
      lastAskedAt: row.last_asked_at.toISOString(),
    }));
  }

  /** @throws AppError `not_found`. */
  async dismiss(tenantId: string, id: string): Promise<{ id: string; deleted: true }> {
    const { rowCount } = await this.#deps.db.workspace(tenantId, (tx) =>
      tx.query('dismiss_unanswered', 'DELETE FROM knowledge_unanswered WHERE tenant_id = $1 AND id = $2', [
        tenantId,
        id,
      ]),
    );
    if (rowCount === 0) throw notFound('unanswered question', id);
    return { id, deleted: true };
  }
}
