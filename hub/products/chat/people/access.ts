import type { Transaction } from '../../../platform/db/database.ts';

/** Lists the conversations of a visitor. Publish a change of the visitor's access to each of them. */
export async function findConversations(tx: Transaction, tenantId: string, visitorId: string): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    'find_conversations_of_visitor',
    'SELECT id FROM chat_conversations WHERE tenant_id = $1 AND visitor_id = $2',
    [tenantId, visitorId],
  );
  return rows.map(({ id }) => id);
}

/** Deletes all links and sessions of a visitor. Returns the ids of the visitor's conversations. */
export async function endAccess(tx: Transaction, tenantId: string, visitorId: string): Promise<string[]> {
  const [conversations] = await Promise.all([
    findConversations(tx, tenantId, visitorId),
    tx.query('end_links_of_visitor', 'DELETE FROM chat_links WHERE tenant_id = $1 AND visitor_id = $2', [
      tenantId,
      visitorId,
    ]),
    tx.query('end_sessions_of_visitor', 'DELETE FROM chat_sessions WHERE tenant_id = $1 AND visitor_id = $2', [
      tenantId,
      visitorId,
    ]),
  ]);
  return conversations;
}
