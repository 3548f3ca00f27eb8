import { DatabaseBusy, DatabaseOutage } from '../../../platform/db/database.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import { accessTopic } from '../../../platform/http/auth/principal.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
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
/**
 * After their live connection is lost agents have so long to come back, in seconds, and the sign of life before that is
 * up to ten older.
 */
const graceSeconds = 70;
const atOnce = 100;
/** Conversations that may fail in one beat: where that many do, not they are what is wrong. */
const failuresAtMost = 500;
const beatMs = 5_000;
/** What somebody holds at this moment is not waited for long, in milliseconds: others are. */
const lockTimeoutMs = 1_000;
/** What is told of rights within so long is looked into together, in milliseconds. */
const gatherMs = 250;

/** Then nothing is wrong with the conversation, and none could go on. */
const isOutOfReach = (error: unknown): boolean => error instanceof DatabaseOutage && !(error instanceof DatabaseBusy);

/**
 * What becomes of conversations by itself: those of agents who left go to others, those that wait are given out, and
 * those that rest wake.
 */
export class AssignmentUpkeep implements Disposable {
  readonly #deps: AssignmentUpkeepDependencies;
  readonly #subscription: Disposable;
  /** Workspaces in which rights changed, and which are not looked into yet. */
  readonly #told = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: AssignmentUpkeepDependencies) {
    this.#deps = dependencies;
    // Among much else that is told there a member was removed; should word of it be lost, the next beat finds out.
    this.#subscription = dependencies.events.subscribeFamily(accessTopic(''), (tenantId) => {
      this.#told.add(tenantId);
      this.#timer ??= setTimeout(() => void this.#lookIntoTold(), gatherMs).unref();
    });
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    clearTimeout(this.#timer);
    this.#told.clear();
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
      await this.#deps.assignment.fill(tenantId, stopping).catch((error: unknown) => {
        if (isOutOfReach(error)) throw error;
        this.#tellFailed(error, { tenantId });
      });
    }
  }

  async #lookIntoTold(): Promise<void> {
    while (this.#told.size > 0) {
      const tenantIds = [...this.#told];
      this.#told.clear();
      await this.#returnOfRemoved(tenantIds).catch((error: unknown) => {
        this.#deps.logger.debug(
          { err: error },
          'the work of removed members could not be returned; the next beat does',
        );
      });
    }
    this.#timer = undefined;
  }

  async #returnAbandoned(stopping: AbortSignal): Promise<void> {
    const find = (failed: readonly string[]) =>
      this.#deps.db.systemStatement<Abandoned>(
        'find_abandoned_conversations',
        // What somebody was given after they had left was given to them all the same.
        `SELECT c.id, c.tenant_id, c.assigned_user_id FROM chat_agents a JOIN chat_widgets w ON w.tenant_id = a.tenant_id
           JOIN chat_conversations c ON c.tenant_id = a.tenant_id AND c.assigned_user_id = a.user_id AND c.status = 'open'
         WHERE a.seen_at <= now() - make_interval(secs => $1) AND c.assigned_at <= a.seen_at + make_interval(secs => $1)
           AND (w.settings->'autoAssignment'->>'returnToPool')::boolean AND c.id <> ALL ($3::uuid[]) LIMIT $2`,
        [graceSeconds, atOnce, failed],
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
        [tenantIds, atOnce, failed],
      );
    await this.#each(stopping, find, (conversation) => this.#return(conversation));
    await this.#deps.db.systemStatement(
      'forget_removed_agents',
      // The limit has each looked up by itself, rather than all members be read.
      `DELETE FROM chat_agents WHERE id IN (
         SELECT a.id FROM chat_agents a LEFT JOIN LATERAL (SELECT true AS is_there FROM users u WHERE u.id = a.user_id LIMIT 1) u ON true
         WHERE ($1::uuid[] IS NULL OR a.tenant_id = ANY ($1)) AND u.is_there IS NULL
           AND NOT EXISTS (SELECT FROM chat_conversations c WHERE c.tenant_id = a.tenant_id AND c.assigned_user_id = a.user_id AND c.status IN ('open', 'pending')))`,
      [tenantIds],
    );
  }

  /**
   * Does something with conversations batch by batch; one with which that fails is in no other's way, and comes again
   * with the next beat.
   */
  async #each<Some extends { id: string }>(
    stopping: AbortSignal | undefined,
    find: (failed: readonly string[]) => Promise<Some[]>,
    change: (some: Some) => Promise<boolean>,
  ): Promise<void> {
    const failed: string[] = [];
    while (failed.length <= failuresAtMost) {
      const found = await find(failed);
      const failedBefore = failed.length;
      let changed = 0;
      for (const some of found) {
        if (stopping?.aborted === true) return;
        try {
          if (await change(some)) changed += 1;
        } catch (error) {
          if (isOutOfReach(error)) throw error;
          if (failed.push(some.id) === 1) this.#tellFailed(error, { conversationId: some.id });
        }
      }
      if ((changed === 0 && failed.length === failedBefore) || found.length < atOnce) return;
    }
  }

  #tellFailed(error: unknown, what: { conversationId: string } | { tenantId: string }): void {
    this.#deps.logger.warn({ ...what, err: error }, 'a conversation could not go on by itself; it is tried again');
  }

  /**
   * Takes a conversation from somebody, and gives it to another where one is free; false when it was done meanwhile.
   */
  #return({ id, tenant_id: tenantId, assigned_user_id: from }: Abandoned): Promise<boolean> {
    return this.#change(tenantId, id, async (tx, conversation) => {
      if (conversation.assigned_user_id !== from) return [];
      await this.#deps.assignment.lock(tx, tenantId, id, 'returning');
      const returned = await this.#deps.conversations.assign(tx, tenantId, id, { userId: null, from }, actor);
      const given = await this.#deps.assignment.auto(tx, tenantId, returned.conversation);
      return [returned, ...(given === null ? [] : [given])];
    });
  }

  async #wake(stopping: AbortSignal): Promise<void> {
    await this.#each(
      stopping,
      (failed) =>
        this.#deps.db.systemStatement<{ id: string; tenant_id: string }>(
          'find_conversations_to_wake',
          `SELECT id, tenant_id FROM chat_conversations WHERE snoozed_until <= now() AND id <> ALL ($2::uuid[]) ORDER BY snoozed_until LIMIT $1`,
          [atOnce, failed],
        ),
      ({ id, tenant_id: tenantId }) =>
        this.#change(tenantId, id, async (tx, conversation) => {
          if (conversation.is_due !== true) return [];
          const awake = await this.#deps.conversations.change(tx, tenantId, id, { snoozedUntil: null }, actor);
          const given = await this.#deps.assignment.auto(tx, tenantId, awake.conversation);
          return [awake, ...(given === null ? [] : [given])];
        }),
    );
  }

  /**
   * Changes a conversation under its lock, and tells of it once that is committed; false where there was nothing to
   * change.
   */
  async #change(
    tenantId: string,
    id: string,
    work: (tx: Transaction, conversation: HeldConversation) => Promise<{ committed: () => void }[]>,
  ): Promise<boolean> {
    const lockedWork = async (tx: Transaction) => {
      const { rows } = await tx.query<HeldConversation>(
        'lock_conversation_of_nobody',
        `SELECT ${conversationColumns}, snoozed_until <= now() AS is_due FROM chat_conversations WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE`,
        [tenantId, id],
      );
      return rows[0] === undefined ? [] : work(tx, rows[0]);
    };
    const changed = await this.#deps.db.workspace(tenantId, lockedWork, { lockTimeoutMs });
    for (const { committed } of changed) committed();
    return changed.length > 0;
  }
}
