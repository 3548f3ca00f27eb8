import type { VisitorConversation } from '../../../../shared/contract/chat/visitor-page.ts';
import type { Database } from '../../../platform/db/database.ts';
import { presentVisitorConversation, visitorViewColumns, visitorViewJoins } from '../visitor-page/index.ts';
import type { VisitorViewRow } from '../visitor-page/index.ts';

/** Reads conversations as their visitors see them. An entry is null if the conversation does not exist. */
export async function readVisitorConversations(
  db: Database,
  asked: readonly { tenantId: string; conversationId: string }[],
): Promise<(VisitorConversation | null)[]> {
  const rows = await db.systemStatement<VisitorViewRow & { ask: number }>(
    'read_visitor_conversations',
    `SELECT asked.ask::int, ${visitorViewColumns} FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (tenant_id, id, ask)
       JOIN chat_conversations c ON c.tenant_id = asked.tenant_id AND c.id = asked.id ${visitorViewJoins}`,
    [asked.map(({ tenantId }) => tenantId), asked.map(({ conversationId }) => conversationId)],
  );
  const found: (VisitorConversation | null)[] = asked.map(() => null);
  for (const row of rows) found[row.ask - 1] = presentVisitorConversation(row);
  return found;
}
