import { DatabaseBusy, DatabaseOutage } from '../../../platform/db/database.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import { accessTopic } from '../../../platform/http/auth/principal.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';
import type { PeriodicTask } from '../../../platform/process/periodic-tasks.ts';
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

/** A conversation whose assignee is disconnected or removed. */
interface Abandoned {
  id: string;
  tenant_id: string;
  assigned_user_id: string;
}

interface LockedConversation extends ConversationRow {
  /** Whether the snooze has ended, by the database clock. Null if the conversation is not snoozed. */
  is_due: boolean | null;
}

const actor = { actor: 'system', environment: null };
/**
 * An agent who disconnects keeps conversations for this long. It includes up to 10 s between two updates of `seen_at`.
 */
const graceSeconds = 70;
const maxConversationsPerBatch = 100;
/** A run stops after this many failures. The cause is then not a single conversation. */
const maxFailuresPerRun = 500;
const intervalMs = 5_000;
/** A locked conversation is skipped after this time. */
const lockTimeoutMs = 1_000;
/** Access changes within this time are handled together. */
const debounceMs = 250;

/** An outage affects all conversations, so it ends the run. */
const isDatabaseOutage = (error: unknown): boolean =>
  error instanceof DatabaseOutage && !(error instanceof DatabaseBusy);

/**
 * Periodic tasks for assignments: reassigns the conversations of disconnected and removed agents, assigns waiting
 * conversations, and ends snoozes.
 */
export class AssignmentUpkeep implements Disposable {
  readonly #deps: AssignmentUpkeepDependencies;
  readonly #subscription: Disposable;
  /** Workspaces whose access changed since the last check. */
  readonly #changedWorkspaces = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: AssignmentUpkeepDependencies) {
    this.#deps = dependencies;
    // Access changes include removed members. The periodic task covers lost notifications.
    this.#subscription = dependencies.events.subscribeFamily(accessTopic(''), (tenantId) => {
      this.#changedWorkspaces.add(tenantId);
      this.#timer ??= setTimeout(
        () => background(this.#returnInChangedWorkspaces(), dependencies.logger, 'reassignment of conversations'),
        debounceMs,
      ).unref();
    });
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    clearTimeout(this.#timer);
    this.#changedWorkspaces.clear();
  }

  get tasks(): PeriodicTask[] {
    return [
      { name: 'disconnected chat agents', everyMs: intervalMs, run: (stopping) => this.#returnAbandoned(stopping) },
      { name: 'removed chat agents', everyMs: intervalMs, run: (stopping) => this.#returnOfRemoved(null, stopping) },
      { name: 'snoozed conversations', everyMs: intervalMs, run: (stopping) => this.#wake(stopping) },
      { name: 'waiting conversations', everyMs: intervalMs, run: (stopping) => this.#fill(stopping) },
    ];
  }

  async #fill(stopping: AbortSignal): Promise<void> {
    for (const tenantId of await this.#deps.assignment.workspacesToFill()) {
      if (stopping.aborted) return;
      await this.#deps.assignment.fill(tenantId, stopping).catch((error: unknown) => {
        if (isDatabaseOutage(error)) throw error;
        this.#logFailure(error, { tenantId });
      });
    }
  }

  async #returnInChangedWorkspaces(): Promise<void> {
    while (this.#changedWorkspaces.size > 0) {
      const tenantIds = [...this.#changedWorkspaces];
      this.#changedWorkspaces.clear();
      await this.#returnOfRemoved(tenantIds).catch((error: unknown) => {
        this.#deps.logger.debug(
          { err: error },
          'reassigning the conversations of removed members failed; the next run retries',
        );
      });
    }
    this.#timer = undefined;
  }

  async #returnAbandoned(stopping: AbortSignal): Promise<void> {
    const find = (failed: readonly string[]) =>
      this.#deps.db.systemStatement<Abandoned>(
        'find_abandoned_conversations',
        // Conversations that were assigned after the agent disconnected stay assigned.
        `SELECT c.id, c.tenant_id, c.assigned_user_id FROM chat_agents a JOIN chat_widgets w ON w.tenant_id = a.tenant_id
           JOIN chat_conversations c ON c.tenant_id = a.tenant_id AND c.assigned_user_id = a.user_id AND c.status = 'open'
         WHERE a.seen_at <= now() - make_interval(secs => $1) AND c.assigned_at <= a.seen_at + make_interval(secs => $1)
           AND (w.settings->'autoAssignment'->>'returnToPool')::boolean AND c.id <> ALL ($3::uuid[]) LIMIT $2`,
        [graceSeconds, maxConversationsPerBatch, failed],
      );
    await this.#each(stopping, find, (conversation) => this.#return(conversation));
  }

  /** @param tenantIds null for all workspaces. */
  async #returnOfRemoved(tenantIds: readonly string[] | null, stopping?: AbortSignal): Promise<void> {
    const find = (failed: readonly string[]) =>
      this.#deps.db.systemStatement<Abandoned>(
        'find_conversations_of_removed',
        `SELECT c.id, c.tenant_id, c.assigned_user_id FROM chat_agents a
           JOIN chat_conversations c ON c.tenant_id = a.tenant_id AND c.assigned_user_id = a.user_id AND c.status IN ('open', 'pending')
         WHERE ($1::uuid[] IS NULL OR a.tenant_id = ANY ($1)) AND NOT EXISTS (SELECT FROM users u WHERE u.id = a.user_id) AND c.id <> ALL ($3::uuid[]) LIMIT $2`,
        [tenantIds, maxConversationsPerBatch, failed],
      );
    await this.#each(stopping, find, (conversation) => this.#return(conversation));
    await this.#deps.db.systemStatement(
      'forget_removed_agents',
      // The LIMIT makes PostgreSQL look up each member instead of reading all members.
      `DELETE FROM chat_agents WHERE id IN (
         SELECT a.id FROM chat_agents a LEFT JOIN LATERAL (SELECT true AS is_there FROM users u WHERE u.id = a.user_id LIMIT 1) u ON true
         WHERE ($1::uuid[] IS NULL OR a.tenant_id = ANY ($1)) AND u.is_there IS NULL
           AND NOT EXISTS (SELECT FROM chat_conversations c WHERE c.tenant_id = a.tenant_id AND c.assigned_user_id = a.user_id AND c.status IN ('open', 'pending')))`,
      [tenantIds],
    );
  }

  /** Changes conversations in batches. A failed conversation does not block the others; the next run retries it. */
  async #each<Some extends { id: string }>(
    stopping: AbortSignal | undefined,
    find: (failed: readonly string[]) => Promise<Some[]>,
    change: (some: Some) => Promise<boolean>,
  ): Promise<void> {
    const failed: string[] = [];
    while (failed.length <= maxFailuresPerRun) {
      const found = await find(failed);
      const failedBefore = failed.length;
      let changed = 0;
      for (const some of found) {
        if (stopping?.aborted === true) return;
        try {
          if (await change(some)) changed += 1;
        } catch (error) {
          if (isDatabaseOutage(error)) throw error;
          if (failed.push(some.id) === 1) this.#logFailure(error, { conversationId: some.id });
        }
      }
      if ((changed === 0 && failed.length === failedBefore) || found.length < maxConversationsPerBatch) return;
    }
  }

  #logFailure(error: unknown, what: { conversationId: string } | { tenantId: string }): void {
    this.#deps.logger.warn(
      { ...what, err: error },
      'an automatic change of a conversation failed; the next run retries',
    );
  }

  /**
   * Unassigns a conversation and assigns it to another available agent. Returns false if the assignee changed
   * meanwhile.
   */
  #return({ id, tenant_id: tenantId, assigned_user_id: from }: Abandoned): Promise<boolean> {
    return this.#change(tenantId, id, async (tx, conversation) => {
      if (conversation.assigned_user_id !== from) return false;
      await this.#deps.assignment.lock(tx, tenantId, id, 'returning');
      const returned = await this.#deps.conversations.assign(tx, tenantId, id, { userId: null, from }, actor);
      await this.#deps.assignment.auto(tx, tenantId, returned);
      return true;
    });
  }

  async #wake(stopping: AbortSignal): Promise<void> {
    await this.#each(
      stopping,
      (failed) =>
        this.#deps.db.systemStatement<{ id: string; tenant_id: string }>(
          'find_conversations_to_wake',
          `SELECT id, tenant_id FROM chat_conversations WHERE snoozed_until <= now() AND id <> ALL ($2::uuid[]) ORDER BY snoozed_until LIMIT $1`,
          [maxConversationsPerBatch, failed],
        ),
      ({ id, tenant_id: tenantId }) =>
        this.#change(tenantId, id, async (tx, conversation) => {
          if (conversation.is_due !== true) return false;
          const awake = await this.#deps.conversations.change(tx, tenantId, id, { snoozedUntil: null }, actor);
          await this.#deps.assignment.auto(tx, tenantId, awake.conversation);
          return true;
        }),
    );
  }

  /** Changes a conversation under its lock. Returns false if nothing changed. */
  #change(
    tenantId: string,
    id: string,
    work: (tx: Transaction, conversation: LockedConversation) => Promise<boolean>,
  ): Promise<boolean> {
    const lockedWork = async (tx: Transaction) => {
      const { rows } = await tx.query<LockedConversation>(
        'lock_conversation_of_upkeep',
        `SELECT ${conversationColumns}, snoozed_until <= now() AS is_due FROM chat_conversations WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE`,
        [tenantId, id],
      );
      return rows[0] === undefined ? false : work(tx, rows[0]);
    };
    return this.#deps.db.workspace(tenantId, lockedWork, { lockTimeoutMs });
  }
}
