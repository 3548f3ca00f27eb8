import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { ChangedConversation, ConversationWriter } from '../conversations/index.ts';
import { awaySeconds, conversationColumns } from '../conversations/index.ts';
import type { ConversationRow } from '../conversations/index.ts';
import { readSettings } from '../settings/index.ts';

/** Conversations that wait, looked at at once. */
const waitingAtOnce = 50;

/**
 * Gives open conversations that the AI does not have, and in which somebody has written, to agents who are there:
 * fewest open ones first, then the longest idle, up to a capacity. An assignment locks
 * the conversation, then the workspace's widget, then the agent, and emits its event last, because subscribers of the
 * event acquire locks too. Every transaction
 * uses this order, so that none can deadlock with another.
 */
export class Assignment {
  readonly #conversations: ConversationWriter;
  readonly #db: Database;

  constructor(conversations: ConversationWriter, db: Database) {
    this.#conversations = conversations;
    this.#db = db;
  }

  /**
   * Locks a conversation, and what `auto` will lock, for whoever publishes an event before that: a message of the
   * visitor (`message`), which may be the first or
   * reopen an unassigned conversation, or the end of an assignment (`returning`).
   */
  async lock(tx: Transaction, tenantId: string, id: string, cause: 'message' | 'returning'): Promise<void> {
    await tx.query(
      'lock_assignment_of_conversation',
      `WITH held AS (SELECT tenant_id, status, assigned_user_id, has_begun FROM chat_conversations WHERE id = $2 FOR NO KEY UPDATE)
       SELECT FROM chat_widgets w JOIN held h ON h.tenant_id = w.tenant_id
       WHERE w.tenant_id = $1 AND (w.settings->'autoAssignment'->>'enabled')::boolean
         AND ($3 = 'returning' OR h.assigned_user_id IS NULL AND (h.status IN ('pending', 'resolved') OR NOT h.has_begun))
       FOR NO KEY UPDATE OF w`,
      [tenantId, id, cause],
    );
  }

  /**
   * Locks what `auto` will lock, for a transaction that opens a conversation and so publishes an event before `auto`.
   */
  async lockForNew(tx: Transaction, tenantId: string): Promise<void> {
    await tx.query(
      'lock_assignment_of_new',
      `SELECT FROM chat_widgets WHERE tenant_id = $1 AND (settings->'autoAssignment'->>'enabled')::boolean FOR NO KEY UPDATE`,
      [tenantId],
    );
  }

  /**
   * Gives a conversation that nobody has to an agent, where the workspace has that done and one is free; null
   * otherwise.
   * @param conversation that this transaction has locked or made.
   */
  async auto(tx: Transaction, tenantId: string, conversation: ConversationRow): Promise<ChangedConversation | null> {
    if (
      conversation.assigned_user_id !== null ||
      conversation.owner === 'ai' ||
      conversation.status !== 'open' ||
      conversation.snoozed_until !== null
    )
      return null;
    const { autoAssignment } = await readSettings(tx, tenantId);
    if (!autoAssignment.enabled) return null;
    const [, { rows }] = await Promise.all([
      // Whoever assigns in this workspace at the same moment counts what this one did. Settings that were set have a
      // row to lock.
      tx.query('lock_assignment', 'SELECT FROM chat_widgets WHERE tenant_id = $1 FOR NO KEY UPDATE', [tenantId]),
      tx.query<{ user_id: string }>(
        'choose_agent',
        `SELECT a.user_id FROM chat_agents a JOIN users u ON u.id = a.user_id AND u.tenant_id = a.tenant_id
         CROSS JOIN LATERAL (SELECT count(*) AS open FROM chat_conversations c
           WHERE c.tenant_id = $1 AND c.assigned_user_id = a.user_id AND c.status = 'open') o
         WHERE a.tenant_id = $1 AND a.presence = 'online' AND a.seen_at > now() - make_interval(secs => $2) AND o.open < $3
         ORDER BY o.open, a.assigned_at NULLS FIRST, a.user_id LIMIT 1`,
        [tenantId, awaySeconds, autoAssignment.capacity],
      ),
    ]);
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

  /** Gives what waits in a workspace to agents who can take it, the longest waiting first; answers how many. */
  async fill(tenantId: string, signal?: AbortSignal): Promise<number> {
    let given = 0;
    for (;;) {
      const waiting = await this.#waiting(tenantId);
      const before = given;
      for (const id of waiting) {
        if (signal?.aborted === true) return given;
        const outcome = await this.#give(tenantId, id);
        if (outcome === 'nobody') return given;
        if (outcome === 'given') given += 1;
      }
      // What others hold at this moment they look after.
      if (given === before || waiting.length < waitingAtOnce) return given;
    }
  }

  /** Workspaces in which conversations wait and somebody is there. */
  async workspacesToFill(): Promise<string[]> {
    const rows = await this.#db.systemStatement<{ tenant_id: string }>(
      'find_workspaces_to_fill',
      `SELECT w.tenant_id FROM (SELECT DISTINCT tenant_id FROM chat_agents WHERE seen_at > now() - make_interval(secs => $1) AND presence = 'online') a
       JOIN chat_widgets w ON w.tenant_id = a.tenant_id
       WHERE (w.settings->'autoAssignment'->>'enabled')::boolean
         AND EXISTS (SELECT FROM chat_conversations c WHERE c.tenant_id = w.tenant_id AND c.status = 'open' AND c.assigned_user_id IS NULL AND c.snoozed_until IS NULL AND c.owner IS DISTINCT FROM 'ai' AND c.has_begun)`,
      [awaySeconds],
    );
    return rows.map((row) => row.tenant_id);
  }

  async #waiting(tenantId: string): Promise<string[]> {
    const rows = await this.#db.read(tenantId, async (tx) => {
      const { autoAssignment } = await readSettings(tx, tenantId);
      if (!autoAssignment.enabled) return [];
      const found = await tx.query<{ id: string }>(
        'list_waiting_conversations',
        `SELECT id FROM chat_conversations WHERE tenant_id = $1 AND status = 'open' AND assigned_user_id IS NULL AND snoozed_until IS NULL AND owner IS DISTINCT FROM 'ai' AND has_begun
         ORDER BY moved_at, id LIMIT $2`,
        [tenantId, waitingAtOnce],
      );
      return found.rows;
    });
    return rows.map(({ id }) => id);
  }

  async #give(tenantId: string, id: string): Promise<'given' | 'nobody' | 'elsewhere'> {
    const done = await this.#db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<ConversationRow>(
        'lock_waiting_conversation',
        `SELECT ${conversationColumns} FROM chat_conversations WHERE tenant_id = $1 AND id = $2 AND status = 'open' AND assigned_user_id IS NULL AND snoozed_until IS NULL AND owner IS DISTINCT FROM 'ai' AND has_begun
         FOR NO KEY UPDATE SKIP LOCKED`,
        [tenantId, id],
      );
      const [conversation] = rows;
      if (conversation === undefined) return 'elsewhere';
      return (await this.auto(tx, tenantId, conversation)) ?? 'nobody';
    });
    if (typeof done === 'string') return done;
    done.committed();
    return 'given';
  }
}
