import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import { accessTopic } from '../../../platform/http/principal.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { PeriodicTask } from '../../../platform/periodic-tasks.ts';
import type { ConversationWriter } from '../conversations/index.ts';
import { conversationColumns } from '../conversations/index.ts';
import type { ConversationRow } from '../conversations/index.ts';
import type { Assignment } from './assignment.ts';

export interface AssignmentUpkeepDependencies {
  db: Database;
  events: Events;
  conversations: ConversationWriter;
  assignment: Assignment;
  logger: Logger;
}

/** A conversation that somebody can't go on with. */
interface Abandoned {
  id: string;
  tenant_id: string;
  assigned_user_id: string;
}

interface HeldConversation extends ConversationRow {
  /** Whether its rest is over, as the database says; null where it has none. */
  is_due: boolean | null;
}

const actor = { actor: 'system', environment: null };
/** After their live connection is lost agents have so long to come back, in seconds, and the sign of life before that is up to ten older. */
const graceSeconds = 70;
const atOnce = 100;
const beatMs = 5_000;

/** What becomes of conversations by itself: those of agents who left go to others, those that wait are given out, and those that rest wake. */
export class AssignmentUpkeep implements Disposable {
  readonly #deps: AssignmentUpkeepDependencies;
  readonly #subscription: Disposable;

  constructor(dependencies: AssignmentUpkeepDependencies) {
    this.#deps = dependencies;
    // Among much else that is told there a member was removed; should word of it be lost, the next beat finds out.
    this.#subscription = dependencies.events.subscribeFamily(accessTopic(''), (tenantId) => {
      void this.#returnOfRemoved(tenantId).catch((error: unknown) => {
        dependencies.logger.debug(
          { err: error },
          'the work of removed members could not be returned; the next beat does',
        );
      });
    });
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  get tasks(): PeriodicTask[] {
    return [
      { name: 'chat agents who left', everyMs: beatMs, run: (stopping) => this.#returnAbandoned(stopping) },
      { name: 'removed chat agents', everyMs: beatMs, run: (stopping) => this.#returnOfRemoved(null, stopping) },
      { name: 'snoozed conversations', everyMs: beatMs, run: (stopping) => this.#wake(stopping) },
      { name: 'waiting conversations', everyMs: beatMs, run: (stopping) => this.#fill(stopping) },
    ];
  }

  async #fill(stopping: AbortSignal): Promise<void> {
    for (const tenantId of await this.#deps.assignment.workspacesToFill()) {
      if (stopping.aborted) return;
      await this.#deps.assignment.fill(tenantId, stopping);
    }
  }

  async #returnAbandoned(stopping: AbortSignal): Promise<void> {
    await this.#inBatches(stopping, () =>
      this.#deps.db.systemStatement<Abandoned>(
        'find_abandoned_conversations',
        // What somebody was given after they had left was given to them all the same.
        `SELECT c.id, c.tenant_id, c.assigned_user_id FROM chat_agents a JOIN chat_widgets w ON w.tenant_id = a.tenant_id
           JOIN chat_conversations c ON c.tenant_id = a.tenant_id AND c.assigned_user_id = a.user_id AND c.status = 'open'
         WHERE a.seen_at <= now() - make_interval(secs => $1) AND c.assigned_at <= a.seen_at + make_interval(secs => $1)
           AND (w.settings->'autoAssignment'->>'returnToPool')::boolean LIMIT $2`,
        [graceSeconds, atOnce],
      ),
    );
  }

  /** @param tenantId null for all workspaces. */
  async #returnOfRemoved(tenantId: string | null, stopping?: AbortSignal): Promise<void> {
    await this.#inBatches(stopping, () =>
      this.#deps.db.systemStatement<Abandoned>(
        'find_conversations_of_removed',
        `SELECT c.id, c.tenant_id, c.assigned_user_id FROM chat_agents a
           JOIN chat_conversations c ON c.tenant_id = a.tenant_id AND c.assigned_user_id = a.user_id AND c.status IN ('open', 'pending')
         WHERE ($1::uuid IS NULL OR a.tenant_id = $1) AND NOT EXISTS (SELECT FROM users u WHERE u.id = a.user_id) LIMIT $2`,
        [tenantId, atOnce],
      ),
    );
    await this.#deps.db.systemStatement(
      'forget_removed_agents',
      // The limit has each looked up by itself, rather than all members be read.
      `DELETE FROM chat_agents WHERE id IN (
         SELECT a.id FROM chat_agents a LEFT JOIN LATERAL (SELECT true AS is_there FROM users u WHERE u.id = a.user_id LIMIT 1) u ON true
         WHERE ($1::uuid IS NULL OR a.tenant_id = $1) AND u.is_there IS NULL
           AND NOT EXISTS (SELECT FROM chat_conversations c WHERE c.tenant_id = a.tenant_id AND c.assigned_user_id = a.user_id AND c.status IN ('open', 'pending')))`,
      [tenantId],
    );
  }

  async #inBatches(stopping: AbortSignal | undefined, find: () => Promise<Abandoned[]>): Promise<void> {
    for (;;) {
      const found = await find();
      let returned = 0;
      for (const conversation of found) {
        if (stopping?.aborted === true) return;
        if (await this.#return(conversation)) returned += 1;
      }
      if (returned === 0 || found.length < atOnce) return;
    }
  }

  /** Takes a conversation from somebody, and gives it to another where one is free; false when it was done meanwhile. */
  #return({ id, tenant_id: tenantId, assigned_user_id: from }: Abandoned): Promise<boolean> {
    return this.#change(tenantId, id, async (tx, conversation) => {
      if (conversation.assigned_user_id !== from) return [];
      const returned = await this.#deps.conversations.assign(tx, tenantId, id, { userId: null, from }, actor);
      const given = await this.#deps.assignment.auto(tx, tenantId, returned.conversation);
      return [returned, ...(given === null ? [] : [given])];
    });
  }

  async #wake(stopping: AbortSignal): Promise<void> {
    for (;;) {
      const due = await this.#deps.db.systemStatement<{ id: string; tenant_id: string }>(
        'find_conversations_to_wake',
        `SELECT id, tenant_id FROM chat_conversations WHERE snoozed_until <= now() ORDER BY snoozed_until LIMIT $1`,
        [atOnce],
      );
      let woken = 0;
      for (const { id, tenant_id: tenantId } of due) {
        if (stopping.aborted) return;
        const isWoken = await this.#change(tenantId, id, async (tx, conversation) => {
          if (conversation.is_due !== true) return [];
          const awake = await this.#deps.conversations.change(tx, tenantId, id, { snoozedUntil: null }, actor);
          const given = await this.#deps.assignment.auto(tx, tenantId, awake.conversation);
          return [awake, ...(given === null ? [] : [given])];
        });
        if (isWoken) woken += 1;
      }
      if (woken === 0 || due.length < atOnce) return;
    }
  }

  /** Changes a conversation under its lock, and tells of it once that is committed; false where there was nothing to change. */
  async #change(
    tenantId: string,
    id: string,
    work: (tx: Transaction, conversation: HeldConversation) => Promise<{ committed: () => void }[]>,
  ): Promise<boolean> {
    const changed = await this.#deps.db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<HeldConversation>(
        'lock_conversation_of_nobody',
        `SELECT ${conversationColumns}, snoozed_until <= now() AS is_due FROM chat_conversations WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE`,
        [tenantId, id],
      );
      return rows[0] === undefined ? [] : work(tx, rows[0]);
    });
    for (const { committed } of changed) committed();
    return changed.length > 0;
  }
}
