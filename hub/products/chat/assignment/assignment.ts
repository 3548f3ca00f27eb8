import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { ConversationWriter } from '../conversations/index.ts';
import { awaySeconds, conversationColumns } from '../conversations/index.ts';
import type { ConversationRow } from '../conversations/index.ts';
import { readSettings } from '../settings/index.ts';

/** Waiting conversations that one pass reads. */
const maxConversationsPerBatch = 50;

/**
 * Assigns open conversations that need an agent to agents who are online. The agent with the fewest open conversations
 * comes first, then the agent whose last assignment is oldest, up to the capacity. Live and test conversations are
 * counted and assigned separately.
 * An assignment locks the conversation, then the widget of the workspace, then the agent. It emits its event last,
 * because subscribers acquire locks too. Every transaction uses this order, which prevents deadlocks.
 */
export class Assignment {
  readonly #conversations: ConversationWriter;
  readonly #db: Database;

  constructor(conversations: ConversationWriter, db: Database) {
    this.#conversations = conversations;
    this.#db = db;
  }

  /**
   * Locks a conversation and the rows that `auto` locks. Call it before an event is emitted: for a message of the
   * visitor (`message`), which may be the first or reopen an unassigned conversation, or for an unassignment
   * (`returning`).
   */
  async lock(tx: Transaction, tenantId: string, id: string, cause: 'message' | 'returning'): Promise<void> {
    await tx.query(
      'lock_assignment_of_conversation',
      `WITH held AS (SELECT tenant_id, status, assigned_user_id, has_started FROM chat_conversations WHERE id = $2 FOR NO KEY UPDATE)
       SELECT FROM chat_widgets w JOIN held h ON h.tenant_id = w.tenant_id
       WHERE w.tenant_id = $1 AND (w.settings->'autoAssignment'->>'enabled')::boolean
         AND ($3 = 'returning' OR h.assigned_user_id IS NULL AND (h.status IN ('pending', 'resolved') OR NOT h.has_started))
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
   * Assigns an unassigned conversation to an agent, and returns it. Returns null if automatic assignment is off or no agent is
   * available.
   * @param conversation locked or created by this transaction.
   */
  async auto(tx: Transaction, tenantId: string, conversation: ConversationRow): Promise<ConversationRow | null> {
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
      // The lock serializes assignments of the workspace, so that open conversations are counted correctly.
      tx.query('lock_assignment', 'SELECT FROM chat_widgets WHERE tenant_id = $1 FOR NO KEY UPDATE', [tenantId]),
      tx.query<{ user_id: string }>(
        'choose_agent',
        `SELECT a.user_id FROM chat_agents a JOIN users u ON u.id = a.user_id AND u.tenant_id = a.tenant_id
         CROSS JOIN LATERAL (SELECT count(*) AS open FROM chat_conversations c
           WHERE c.tenant_id = $1 AND c.assigned_user_id = a.user_id AND c.status = 'open' AND c.environment = $4) o
         WHERE a.tenant_id = $1 AND a.presence = 'online' AND a.seen_at > now() - make_interval(secs => $2) AND o.open < $3
         ORDER BY o.open, a.assigned_at NULLS FIRST, a.user_id LIMIT 1`,
        [tenantId, awaySeconds, autoAssignment.capacity, conversation.environment],
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

  /**
   * Assigns the waiting conversations of a workspace, the longest waiting first, live conversations before test
   * conversations. Returns the number of assignments.
   */
  async fill(tenantId: string, signal?: AbortSignal): Promise<number> {
    return (await this.#fillOf(tenantId, 'live', signal)) + (await this.#fillOf(tenantId, 'test', signal));
  }

  async #fillOf(tenantId: string, environment: 'live' | 'test', signal: AbortSignal | undefined): Promise<number> {
    let assigned = 0;
    for (;;) {
      const waiting = await this.#waiting(tenantId, environment);
      const before = assigned;
      for (const id of waiting) {
        if (signal?.aborted === true) return assigned;
        const outcome = await this.#assignWaiting(tenantId, id);
        if (outcome === 'no_agent') return assigned;
        if (outcome === 'assigned') assigned += 1;
      }
      // Conversations that other transactions have locked are assigned by those.
      if (assigned === before || waiting.length < maxConversationsPerBatch) return assigned;
    }
  }

  /** Workspaces that have waiting conversations and an agent online. */
  async workspacesToFill(): Promise<string[]> {
    const rows = await this.#db.systemStatement<{ tenant_id: string }>(
      'find_workspaces_to_fill',
      `SELECT w.tenant_id FROM (SELECT DISTINCT tenant_id FROM chat_agents WHERE seen_at > now() - make_interval(secs => $1) AND presence = 'online') a
       JOIN chat_widgets w ON w.tenant_id = a.tenant_id
       WHERE (w.settings->'autoAssignment'->>'enabled')::boolean
         AND EXISTS (SELECT FROM chat_conversations c WHERE c.tenant_id = w.tenant_id AND c.status = 'open' AND c.assigned_user_id IS NULL AND c.snoozed_until IS NULL AND c.owner IS DISTINCT FROM 'ai' AND c.has_started)`,
      [awaySeconds],
    );
    return rows.map((row) => row.tenant_id);
  }

  async #waiting(tenantId: string, environment: 'live' | 'test'): Promise<string[]> {
    const rows = await this.#db.read(tenantId, async (tx) => {
      const { autoAssignment } = await readSettings(tx, tenantId);
      if (!autoAssignment.enabled) return [];
      const found = await tx.query<{ id: string }>(
        'list_waiting_conversations',
        `SELECT id FROM chat_conversations WHERE tenant_id = $1 AND status = 'open' AND assigned_user_id IS NULL AND snoozed_until IS NULL AND owner IS DISTINCT FROM 'ai' AND has_started
           AND environment = $3
         ORDER BY moved_at, id LIMIT $2`,
        [tenantId, maxConversationsPerBatch, environment],
      );
      return found.rows;
    });
    return rows.map(({ id }) => id);
  }

  async #assignWaiting(tenantId: string, id: string): Promise<'assigned' | 'no_agent' | 'skipped'> {
    return this.#db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<ConversationRow>(
        'lock_waiting_conversation',
        `SELECT ${conversationColumns} FROM chat_conversations WHERE tenant_id = $1 AND id = $2 AND status = 'open' AND assigned_user_id IS NULL AND snoozed_until IS NULL AND owner IS DISTINCT FROM 'ai' AND has_started
         FOR NO KEY UPDATE SKIP LOCKED`,
        [tenantId, id],
      );
      const [conversation] = rows;
      if (conversation === undefined) return 'skipped';
      return (await this.auto(tx, tenantId, conversation)) === null ? 'no_agent' : 'assigned';
    });
  }
}
