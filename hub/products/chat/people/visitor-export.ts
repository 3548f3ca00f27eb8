import { notFound } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { conversationColumns, messageColumns, presentConversation, presentMessage } from '../conversations/index.ts';
import type { ConversationRow, PublicMessageRow } from '../conversations/index.ts';
import { inboxVisitorColumns, presentInboxVisitor } from '../inbox/index.ts';
import type { InboxVisitorRow } from '../inbox/index.ts';
import { presentSuggestion, suggestionColumns } from '../suggestions/index.ts';
import type { SuggestionRow } from '../suggestions/index.ts';
import { presentRating, ratingColumns } from './ratings.ts';
import type { RatingRow } from './ratings.ts';

const maxConversationsPerBatch = 50;
/** Limits memory: a message may have 10,000 characters. */
const maxMessagesPerBatch = 100;

const jsonLine = (type: string, value: object) => `${JSON.stringify({ type, ...value })}\n`;

/**
 * Exports the data of a visitor as JSON Lines. Each batch is read after the client has read the previous one, so memory
 * stays small.
 * Private notes are not exported.
 * @throws AppError `not_found`, before the first line.
 */
export async function exportVisitor(
  db: Database,
  tenantId: string,
  id: string,
  actor: string,
): Promise<AsyncGenerator<string>> {
  const visitor = await db.workspace(tenantId, async (tx) => {
    const { rows } = await tx.query<InboxVisitorRow>(
      'export_visitor',
      `SELECT ${inboxVisitorColumns} FROM chat_visitors WHERE tenant_id = $1 AND id = $2 AND erased_at IS NULL`,
      [tenantId, id],
    );
    const [row] = rows;
    if (row === undefined) throw notFound('visitor', id);
    await recordAudit(tx, {
      tenantId,
      actor,
      action: 'visitor.exported',
      targetType: 'visitor',
      targetId: id,
      details: {},
    });
    return row;
  });
  return linesOf(db, tenantId, visitor);
}

async function* linesOf(db: Database, tenantId: string, visitor: InboxVisitorRow): AsyncGenerator<string> {
  yield jsonLine('visitor', presentInboxVisitor(visitor));
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const conversations = await db.read(tenantId, async (tx) => {
      const { rows } = await tx.query<ConversationRow>(
        'export_conversations',
        `SELECT ${conversationColumns} FROM chat_conversations WHERE tenant_id = $1 AND visitor_id = $2 AND id > $3 ORDER BY id LIMIT $4`,
        [tenantId, visitor.id, after, maxConversationsPerBatch],
      );
      return rows;
    });
    for (const conversation of conversations) {
      after = conversation.id;
      yield jsonLine('conversation', presentConversation(conversation));
      yield* messagesOf(db, tenantId, conversation.id);
    }
    if (conversations.length < maxConversationsPerBatch) return;
  }
}

/** A message, with the sources of an AI reply. */
const messageLine = (row: PublicMessageRow) =>
  jsonLine('message', { ...presentMessage(row), ...(row.sources === null ? {} : { sources: row.sources }) });

async function* messagesOf(db: Database, tenantId: string, conversationId: string): AsyncGenerator<string> {
  let after = 0;
  for (;;) {
    const messages = await db.read(tenantId, async (tx) => {
      const { rows } = await tx.query<PublicMessageRow>(
        'export_messages',
        `SELECT ${messageColumns} FROM chat_messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq > $3 ORDER BY seq LIMIT $4`,
        [tenantId, conversationId, after, maxMessagesPerBatch],
      );
      return rows;
    });
    if (messages.length > 0) yield messages.map(messageLine).join('');
    after = messages.at(-1)?.seq ?? after;
    if (messages.length < maxMessagesPerBatch) break;
  }
  yield* suggestionsOf(db, tenantId, conversationId);
  const ratings = await db.read(tenantId, async (tx) => {
    const { rows } = await tx.query<RatingRow>(
      'export_ratings',
      `SELECT ${ratingColumns} FROM chat_ratings WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY closing`,
      [tenantId, conversationId],
    );
    return rows;
  });
  if (ratings.length > 0) yield ratings.map((row) => jsonLine('rating', presentRating(row))).join('');
}

async function* suggestionsOf(db: Database, tenantId: string, conversationId: string): AsyncGenerator<string> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const suggestions = await db.read(tenantId, async (tx) => {
      const { rows } = await tx.query<SuggestionRow>(
        'export_ai_suggestions',
        `SELECT ${suggestionColumns} FROM chat_ai_suggestions WHERE tenant_id = $1 AND conversation_id = $2 AND id > $3 ORDER BY id LIMIT $4`,
        [tenantId, conversationId, after, maxMessagesPerBatch],
      );
      return rows;
    });
    if (suggestions.length > 0) yield suggestions.map((row) => jsonLine('suggestion', presentSuggestion(row))).join('');
    after = suggestions.at(-1)?.id ?? after;
    if (suggestions.length < maxMessagesPerBatch) return;
  }
}
