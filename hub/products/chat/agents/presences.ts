import { AsyncResource } from 'node:async_hooks';
import type { ChatAgent, Presence } from '../../../../shared/contract/chat/agent-shapes.ts';
import { picturePath } from '../../../../shared/contract/common.ts';
import type { Database } from '../../../platform/db/database.ts';
import { afterCommit } from '../../../platform/db/joined-transaction.ts';
import { newId } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { ChatChanges } from '../changes/index.ts';
import { awaySeconds } from '../conversations/index.ts';

export interface AgentPresencesDependencies {
  db: Database;
  changes: ChatChanges;
  /** Gives waiting conversations to agents of a workspace who can take them. */
  fill: (tenantId: string) => Promise<unknown>;
  logger: Logger;
  /** How often the database is told who is there, in milliseconds. */
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
const shownPresence = `CASE WHEN a.seen_at > now() - make_interval(secs => $2) THEN a.presence ELSE 'offline' END`;

/**
 * Who of a workspace takes conversations. An agent is there while a live connection is open in any process: each process says so of all of its own by
 * one statement, so that one that dies is noticed by its silence.
 */
export class AgentPresences implements Disposable {
  readonly #deps: AgentPresencesDependencies;
  /** How many connections each agent has here. */
  readonly #here = new Map<string, { tenantId: string; userId: string; count: number }>();
  readonly #timer: NodeJS.Timeout;
  readonly #context = new AsyncResource('AgentPresences');

  constructor(dependencies: AgentPresencesDependencies) {
    this.#deps = dependencies;
    this.#timer = setInterval(() => void this.#touch(), dependencies.touchMs ?? defaultTouchMs);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** A live connection of an agent was opened. */
  came(tenantId: string, userId: string): void {
    const id = `${tenantId} ${userId}`;
    const here = this.#here.get(id) ?? { tenantId, userId, count: 0 };
    here.count += 1;
    this.#here.set(id, here);
    if (here.count > 1) return;
    this.#write(tenantId, userId, null).catch((error: unknown) => {
      this.#deps.logger.debug({ err: error }, 'it could not be noted that an agent is there; the next beat does');
    });
  }

  left(tenantId: string, userId: string): void {
    const id = `${tenantId} ${userId}`;
    const here = this.#here.get(id);
    if (here === undefined) return;
    here.count -= 1;
    if (here.count <= 0) this.#here.delete(id);
  }

  /** Notes whether an agent takes conversations. */
  async set(tenantId: string, userId: string, presence: Presence): Promise<ChatAgent> {
    await this.#write(tenantId, userId, presence);
    const [agent] = await this.#read(tenantId, userId);
    if (agent === undefined) throw new Error('an agent is no member');
    return agent;
  }

  /** The members of a workspace, with who is there. */
  async list(tenantId: string): Promise<{ data: ChatAgent[] }> {
    return { data: await this.#read(tenantId, null) };
  }

  /** What is known of all who were ever there. */
  async of(tenantId: string): Promise<Map<string, Presence | 'offline'>> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<Pick<AgentRow, 'user_id' | 'presence'>>(
        'list_presences',
        `SELECT a.user_id, ${shownPresence} AS presence FROM chat_agents a WHERE a.tenant_id = $1`,
        [tenantId, awaySeconds],
      ),
    );
    return new Map(rows.map((row) => [row.user_id, row.presence]));
  }

  /** In which of some workspaces somebody takes conversations now. */
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
    // Only a connection is a sign of life; whoever says something without one is not there by that.
    const isHere = this.#here.has(`${tenantId} ${userId}`);
    const { rows } = await this.#deps.db.workspace(tenantId, (tx) =>
      tx.query<{ presence: Presence; is_here: boolean }>(
        'note_agent',
        `INSERT INTO chat_agents AS a (id, tenant_id, user_id, presence, seen_at)
         SELECT $1, $2, $3, coalesce($4, 'online'), CASE WHEN $5 THEN now() END FROM users WHERE id = $3 AND tenant_id = $2
         ON CONFLICT (tenant_id, user_id) DO UPDATE SET presence = coalesce($4, a.presence), seen_at = CASE WHEN $5 THEN now() ELSE a.seen_at END, updated_at = now()
         RETURNING presence, seen_at > now() - make_interval(secs => $6) AS is_here`,
        [newId(), tenantId, userId, presence, isHere, awaySeconds],
      ),
    );
    const [agent] = rows;
    if (agent === undefined) return;
    const shown = agent.is_here ? agent.presence : 'offline';
    this.#deps.changes.tellPresence(tenantId, userId, shown);
    if (shown !== 'online') return;
    if (!this.#deps.db.isJoined) await this.#fill(tenantId);
    // Within a transaction of somebody else it would keep all that it gives out locked until that ends.
    else afterCommit(() => void this.#context.runInAsyncScope(() => this.#fill(tenantId)));
  }

  #fill(tenantId: string): Promise<unknown> {
    return this.#deps.fill(tenantId).catch((error: unknown) => {
      this.#deps.logger.debug({ err: error }, 'waiting conversations could not be given out; the next beat does');
    });
  }

  async #touch(): Promise<void> {
    const here = [...this.#here.values()];
    if (here.length === 0) return;
    try {
      // Whose coming could not be noted is noted now.
      const come = await this.#deps.db.systemStatement<{ tenant_id: string; user_id: string }>(
        'touch_agents',
        // One that somebody assigns to at this moment is touched at the next beat: nobody waits for another here.
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
      for (const { tenant_id: tenantId, user_id: userId } of come) {
        this.#deps.changes.tellPresence(tenantId, userId, 'online');
        await this.#fill(tenantId);
      }
    } catch (error) {
      this.#deps.logger.debug({ err: error }, 'it could not be noted which agents are there; the next beat does');
    }
  }

  async #read(tenantId: string, userId: string | null): Promise<ChatAgent[]> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<AgentRow>(
        'list_chat_agents',
        `SELECT u.id AS user_id, u.email, u.display_name, (SELECT p.id FROM member_pictures p WHERE p.user_id = u.id) AS picture, ${shownPresence} AS presence,
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
