import type { Transaction } from '../../../platform/db/database.ts';
import type { ChangedConversation, ConversationWriter } from '../conversations/conversation-writes.ts';
import type { ConversationRow } from '../conversations/rows.ts';
import { readSettings } from '../settings/index.ts';

/** After so long without a live connection an agent is not there, in seconds. */
export const awaySeconds = 30;

/** Gives open conversations to agents who are there: fewest open ones first, then the longest idle, up to a capacity. */
export class Assignment {
  readonly #conversations: ConversationWriter;

  constructor(conversations: ConversationWriter) {
    this.#conversations = conversations;
  }

  /** Gives a conversation that nobody has to an agent, where the workspace has that done and one is free; null otherwise. */
  async auto(tx: Transaction, tenantId: string, conversation: ConversationRow): Promise<ChangedConversation | null> {
    if (conversation.assigned_user_id !== null || conversation.status !== 'open') return null;
    const { autoAssignment } = await readSettings(tx, tenantId);
    if (!autoAssignment.enabled) return null;
    // Whoever assigns in this workspace at the same moment counts what this one did.
    await tx.query('lock_assignment', 'SELECT FROM chat_widgets WHERE tenant_id = $1 FOR NO KEY UPDATE', [tenantId]);
    const { rows } = await tx.query<{ user_id: string }>(
      'choose_agent',
      `SELECT a.user_id FROM chat_agents a
       CROSS JOIN LATERAL (SELECT count(*) AS open FROM chat_conversations c
         WHERE c.tenant_id = $1 AND c.assigned_user_id = a.user_id AND c.status = 'open') o
       WHERE a.tenant_id = $1 AND a.presence = 'online' AND a.seen_at > now() - make_interval(secs => $2) AND o.open < $3
       ORDER BY o.open, a.assigned_at NULLS FIRST, a.user_id LIMIT 1`,
      [tenantId, awaySeconds, autoAssignment.capacity],
    );
    const [agent] = rows;
    if (agent === undefined) return null;
    return this.#conversations.assign(
      tx,
      tenantId,
      conversation.id,
      { userId: agent.user_id },
      { actor: 'system', environment: null },
    );
  }
}
