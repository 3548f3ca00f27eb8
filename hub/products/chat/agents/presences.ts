import { AsyncResource } from 'node:async_hooks';
import type { ChatAgent, Presence } from '../../../../shared/contract/chat/agent-shapes.ts';
import { picturePath } from '../../../../shared/contract/common.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Publisher } from '../../../platform/events/events.ts';
import { newId } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';
import { publishPresence } from '../changes/index.ts';
import { awaySeconds } from '../conversations/index.ts';

export interface AgentPresencesDependencies {
  db: Database;
  events: Publisher;
  /** Assigns waiting conversations to the available agents of a workspace. */
  fill: (tenantId: string) => Promise<unknown>;
  logger: Logger;
  /** Interval in which `seen_at` of the connected agents is updated. */
  touchMs?: number;
}

interface AgentRow {
  user_id: string;
  email: string;
  display_name: string | null;
  picture: string | null;
  presence: Presence | 'offline';
  open_conversations: number;
}

const defaultTouchMs = 10_000;
const effectivePresence = `CASE WHEN a.seen_at > now() - make_interval(secs => $2) THEN a.presence ELSE 'offline' END`;

/**
 * The presence of agents. An agent is present while a live connection is open in any process.
 * Each process updates `seen_at` of all its agents with one statement. The agents of a dead process expire.
 */
export class AgentPresences implements Disposable {
  readonly #deps: AgentPresencesDependencies;
  /** Live connections of this process, by agent. */
  readonly #connections = new Map<string, { tenantId: string; userId: string; count: number }>();
  readonly #timer: NodeJS.Timeout;
  readonly #context = new AsyncResource('AgentPresences');

  constructor(dependencies: AgentPresencesDependencies) {
    this.#deps = dependencies;
    this.#timer = setInterval(
      () => background(this.#touch(), dependencies.logger, 'update of the presence of agents'),
      dependencies.touchMs ?? defaultTouchMs,
    );
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Call it when a live connection of an agent opens. */
  connected(tenantId: string, userId: string): void {
    const id = `${tenantId} ${userId}`;
    const here = this.#connections.get(id) ?? { tenantId, userId, count: 0 };
    here.count += 1;
    this.#connections.set(id, here);
    if (here.count > 1) return;
    this.#write(tenantId, userId, null).catch((error: unknown) => {
      this.#deps.logger.debug({ err: error }, 'storing the presence of an agent failed; the next heartbeat retries');
    });
  }

  disconnected(tenantId: string, userId: string): void {
    const id = `${tenantId} ${userId}`;
    const here = this.#connections.get(id);
    if (here === undefined) return;
    here.count -= 1;
    if (here.count <= 0) this.#connections.delete(id);
  }

  /** Sets whether an agent accepts conversations. */
  async set(tenantId: string, userId: string, presence: Presence): Promise<ChatAgent> {
    await this.#write(tenantId, userId, presence);
    const [agent] = await this.#read(tenantId, userId);
    if (agent === undefined) throw new Error('the agent is not a member of the workspace');
    return agent;
  }

  /** The members of a workspace with their presence. */
  async list(tenantId: string): Promise<{ data: ChatAgent[] }> {
    return { data: await this.#read(tenantId, null) };
  }

  /** The presence of every member who was ever connected. */
  async of(tenantId: string): Promise<Map<string, Presence | 'offline'>> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<Pick<AgentRow, 'user_id' | 'presence'>>(
        'list_presences',
        `SELECT a.user_id, ${effectivePresence} AS presence FROM chat_agents a WHERE a.tenant_id = $1`,
        [tenantId, awaySeconds],
      ),
    );
    return new Map(rows.map((row) => [row.user_id, row.presence]));
  }

  /** The workspaces that have an agent online now. */
  async workspacesOnline(tenantIds: readonly string[]): Promise<Set<string>> {
    const rows = await this.#deps.db.systemStatement<{ tenant_id: string }>(
      'find_workspaces_online',
      `SELECT t.tenant_id FROM unnest($1::uuid[]) AS t (tenant_id)
       WHERE EXISTS (SELECT FROM chat_agents a WHERE a.tenant_id = t.tenant_id AND a.presence = 'online' AND a.seen_at > now() - make_interval(secs => $2))`,
      [tenantIds, awaySeconds],
    );
    return new Set(rows.map((row) => row.tenant_id));
  }

  async #write(tenantId: string, userId: string, presence: Presence | null): Promise<void> {
    // Only a live connection updates `seen_at`. Setting the presence by request does not.
    const isHere = this.#connections.has(`${tenantId} ${userId}`);
    const { db, logger } = this.#deps;
    const { isJoined } = db;
    const isOnline = await db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<{ presence: Presence; is_here: boolean }>(
        'upsert_agent',
        `INSERT INTO chat_agents AS a (id, tenant_id, user_id, presence, seen_at)
         SELECT $1, $2, $3, coalesce($4, 'online'), CASE WHEN $5 THEN now() END FROM users WHERE id = $3 AND tenant_id = $2
         ON CONFLICT (tenant_id, user_id) DO UPDATE SET presence = coalesce($4, a.presence), seen_at = CASE WHEN $5 THEN now() ELSE a.seen_at END, updated_at = now()
         RETURNING presence, seen_at > now() - make_interval(secs => $6) AS is_here`,
        [newId(), tenantId, userId, presence, isHere, awaySeconds],
      );
      const [agent] = rows;
      if (agent === undefined) return false;
      const effective = agent.is_here ? agent.presence : 'offline';
      publishPresence(tx, tenantId, userId, effective);
      // Inside the caller's transaction, the assignments would stay locked until it ends.
      if (effective === 'online' && isJoined)
        tx.onCommit(() =>
          this.#context.runInAsyncScope(() =>
            background(this.#fill(tenantId), logger, 'assignment of waiting conversations'),
          ),
        );
      return effective === 'online';
    });
    if (isOnline && !isJoined) await this.#fill(tenantId);
  }

  #fill(tenantId: string): Promise<unknown> {
    return this.#deps.fill(tenantId).catch((error: unknown) => {
      this.#deps.logger.debug({ err: error }, 'assigning waiting conversations failed; the next run retries');
    });
  }

  async #touch(): Promise<void> {
    const here = [...this.#connections.values()];
    if (here.length === 0) return;
    try {
      // Inserts agents whose row could not be written when they connected.
      const inserted = await this.#deps.db.systemStatement<{ tenant_id: string; user_id: string }>(
        'touch_agents',
        // Rows that an assignment locks are skipped until the next heartbeat, so that the statement never waits.
        `WITH here AS (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS h (tenant_id, user_id, new_id)
         ), due AS (
           SELECT a.id FROM here h JOIN chat_agents a ON a.tenant_id = h.tenant_id AND a.user_id = h.user_id FOR NO KEY UPDATE OF a SKIP LOCKED
         ), touched AS (
           UPDATE chat_agents SET seen_at = now() FROM due WHERE chat_agents.id = due.id
         )
         INSERT INTO chat_agents (id, tenant_id, user_id, seen_at)
         SELECT h.new_id, h.tenant_id, h.user_id, now() FROM here h JOIN users u ON u.id = h.user_id AND u.tenant_id = h.tenant_id
         WHERE NOT EXISTS (SELECT FROM chat_agents a WHERE a.tenant_id = h.tenant_id AND a.user_id = h.user_id) ORDER BY h.tenant_id, h.user_id
         ON CONFLICT DO NOTHING RETURNING tenant_id, user_id`,
        [here.map(({ tenantId }) => tenantId), here.map(({ userId }) => userId), here.map(() => newId())],
      );
      for (const { tenant_id: tenantId, user_id: userId } of inserted) {
        publishPresence(this.#deps.events, tenantId, userId, 'online');
        await this.#fill(tenantId);
      }
    } catch (error) {
      this.#deps.logger.debug({ err: error }, 'updating the presence of agents failed; the next heartbeat retries');
    }
  }

  async #read(tenantId: string, userId: string | null): Promise<ChatAgent[]> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<AgentRow>(
        'list_chat_agents',
        `SELECT u.id AS user_id, u.email, u.display_name, (SELECT p.id FROM member_pictures p WHERE p.user_id = u.id) AS picture, ${effectivePresence} AS presence,
           (SELECT count(*)::int FROM chat_conversations c WHERE c.tenant_id = $1 AND c.assigned_user_id = u.id AND c.status = 'open') AS open_conversations
         FROM users u LEFT JOIN chat_agents a ON a.tenant_id = $1 AND a.user_id = u.id
         WHERE u.tenant_id = $1 AND ($3::uuid IS NULL OR u.id = $3) ORDER BY u.id`,
        [tenantId, awaySeconds, userId],
      ),
    );
    return rows.map((row) => ({
      userId: row.user_id,
      email: row.email,
      displayName: row.display_name,
      picture: row.picture === null ? null : picturePath(row.picture),
      presence: row.presence,
      openConversations: row.open_conversations,
    }));
  }
}
