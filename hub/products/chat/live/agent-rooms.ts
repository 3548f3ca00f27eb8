import type { Presence } from '../../../../shared/contract/chat/agent-shapes.ts';
import { chatSilenceSeconds, syncSeconds } from '../../../../shared/contract/chat/live.ts';
import type { AgentFrame } from '../../../../shared/contract/chat/live.ts';
import { readNow } from '../../../platform/db/clock.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { outgoing } from './connection.ts';
import type { Connection } from './connection.ts';
import type { Feeds } from './feeds.ts';
import type { ConversationKey, LiveReads, WrittenEntry } from './reads.ts';
import { Refresher } from './refresher.ts';

interface Room {
  tenantId: string;
  subscribers: Set<Connection>;
  /** Connections that requested a `sync` frame. They receive it even when nothing changed. */
  awaitingSync: Set<Connection>;
  /** A new feed sends the messages written after this time. Null before the first sync. */
  since: Date | null;
  /** Positions of messages that were announced before the first sync, by conversation. */
  earlyPositions: Map<string, number>;
  /** The last `updated_at` that was sent for each conversation, in milliseconds of the database clock. */
  sentUpdatedAt: Map<string, number>;
  presences: Map<string, Presence | 'offline'>;
}

interface ChangedRow {
  id: string;
  last_position: number;
  status: string;
  updated_at: Date;
  now: Date;
}

export type PresenceReader = (tenantId: string) => Promise<Map<string, Presence | 'offline'>>;

/** Conversations in one `sync` frame. */
const maxChangedPerSync = 200;
/** The first sync looks back this far, for messages whose transaction commits late. */
const maxCommitDelayMs = 2_000;
/** Delay before a failed first sync is retried. Agents receive few updates until the first sync succeeds. */
const retryMs = 500;
/**
 * Feeds without new messages for this long are dropped. A restarted feed sends the messages since `Room.since`. This
 * must be longer than `sentRetentionMs`, so that no message is sent twice.
 */
const feedIdleMs = 120_000;
/** `Room.since` and `Room.sentUpdatedAt` go back at most this far before the last sync. */
const sentRetentionMs = 90_000;
/** Number of recent messages that are searched for new ones when a feed starts. */
const maxLookBackPositions = 100;

/**
 * The agents who are connected to this process. Each agent receives the updates of all conversations of the workspace.
 * One database read serves all connections of a workspace.
 */
export class AgentRooms implements Disposable {
  readonly #rooms = new Map<string, Room>();
  readonly #db: Database;
  readonly #reads: LiveReads;
  readonly #feeds: () => Feeds;
  readonly #presencesOf: PresenceReader;
  readonly #isFollowed: (key: ConversationKey) => boolean;
  readonly #logger: Logger;
  readonly #syncs: Refresher;
  readonly #refresher: Refresher;
  readonly #timer: NodeJS.Timeout;

  constructor(options: {
    db: Database;
    reads: LiveReads;
    feeds: () => Feeds;
    presencesOf: PresenceReader;
    /** Whether a visitor of the conversation is connected to this process. */
    isFollowed: (key: ConversationKey) => boolean;
    logger: Logger;
  }) {
    this.#db = options.db;
    this.#reads = options.reads;
    this.#feeds = options.feeds;
    this.#presencesOf = options.presencesOf;
    this.#isFollowed = options.isFollowed;
    this.#logger = options.logger;
    this.#syncs = new Refresher((tenantId) => this.#sync(tenantId), options.logger);
    this.#refresher = new Refresher((key) => this.#refresh(key), options.logger);
    this.#timer = setInterval(() => this.resync(), syncSeconds * 1_000);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#rooms.clear();
  }

  has(tenantId: string): boolean {
    return this.#rooms.has(tenantId);
  }

  enter(tenantId: string, connection: Connection): void {
    const isFirst = !this.#rooms.has(tenantId);
    const room: Room = this.#rooms.get(tenantId) ?? {
      tenantId,
      subscribers: new Set(),
      awaitingSync: new Set(),
      since: null,
      earlyPositions: new Map(),
      sentUpdatedAt: new Map(),
      presences: new Map(),
    };
    this.#rooms.set(tenantId, room);
    room.subscribers.add(connection);
    if (isFirst) this.#syncs.request(tenantId);
  }

  leave(tenantId: string, connection: Connection): void {
    const room = this.#rooms.get(tenantId);
    room?.awaitingSync.delete(connection);
    if (room?.subscribers.delete(connection) !== true || room.subscribers.size > 0) return;
    this.#rooms.delete(tenantId);
    // These feeds are not read any longer. Kept feeds would send old messages to the next agent who connects.
    this.#feeds().prune(0, (key) => key.tenantId !== tenantId || this.#isFollowed(key));
  }

  /** Requests a `sync` frame for a connection. The frame shows a state that is read after this call. */
  requestSync(tenantId: string, connection: Connection): void {
    this.#rooms.get(tenantId)?.awaitingSync.add(connection);
    this.#syncs.request(tenantId);
  }

  onMessageWritten(key: ConversationKey, position: number): void {
    const room = this.#rooms.get(key.tenantId);
    if (room === undefined) return;
    // The first sync sets where the feeds start. Earlier announcements wait for it.
    if (room.since === null) room.earlyPositions.set(key.conversationId, position);
    else
      this.#feeds().readUpTo(key, position, { after: Math.max(0, position - maxLookBackPositions), since: room.since });
    this.requestRefresh(key);
  }

  deliver({ tenantId }: ConversationKey, entries: readonly WrittenEntry[]): void {
    for (const { inbox } of entries) this.send(tenantId, { type: 'message', message: inbox });
  }

  requestRefresh({ tenantId, conversationId }: ConversationKey): void {
    if (this.#rooms.has(tenantId)) this.#refresher.request(`${tenantId} ${conversationId}`);
  }

  send(tenantId: string, given: AgentFrame): void {
    const room = this.#rooms.get(tenantId);
    if (room === undefined) return;
    if (given.type === 'presence') room.presences.set(given.userId, given.presence);
    const frame = outgoing(given);
    for (const connection of room.subscribers) connection.send(frame);
  }

  resync(): void {
    for (const room of this.#rooms.values()) {
      for (const connection of room.subscribers) room.awaitingSync.add(connection);
      this.#syncs.request(room.tenantId);
    }
  }

  async #sync(tenantId: string): Promise<void> {
    const room = this.#rooms.get(tenantId);
    if (room === undefined) return;
    const awaitingSync = [...room.awaitingSync];
    room.awaitingSync.clear();
    try {
      const [{ rows, now }, presences] = await Promise.all([this.#readChanged(tenantId), this.#presencesOf(tenantId)]);
      this.#compare(room, rows, now);
      for (const [userId, presence] of presences)
        if (room.presences.get(userId) !== presence) this.send(tenantId, { type: 'presence', userId, presence });
      const frame = outgoing({
        type: 'sync',
        at: now.toISOString(),
        changed: rows.slice(0, maxChangedPerSync).map((row) => ({
          id: row.id,
          lastPosition: row.last_position,
          status: row.status,
          updatedAt: row.updated_at.toISOString(),
        })),
        complete: rows.length <= maxChangedPerSync,
      });
      for (const connection of awaitingSync) connection.send(frame);
    } catch (error) {
      for (const connection of awaitingSync) if (room.subscribers.has(connection)) room.awaitingSync.add(connection);
      this.#logger.debug(
        { err: error },
        'reading the changed conversations of a workspace failed; the next sync retries',
      );
      if (room.since === null) setTimeout(() => this.#syncs.request(tenantId), retryMs).unref();
    }
  }

  async #readChanged(tenantId: string): Promise<{ rows: ChangedRow[]; now: Date }> {
    return this.#db.read(tenantId, async (tx) => {
      const [changed, now] = await Promise.all([
        tx.query<ChangedRow>(
          'list_changed_conversations',
          `SELECT id, last_position, status, updated_at FROM chat_conversations
           WHERE tenant_id = $1 AND updated_at > now() - make_interval(secs => $2) ORDER BY updated_at DESC LIMIT $3`,
          [tenantId, chatSilenceSeconds, maxChangedPerSync + 1],
        ),
        readNow(tx),
      ]);
      return { rows: changed.rows, now };
    });
  }

  /** Sends the changes whose notification was lost. */
  #compare(room: Room, rows: readonly ChangedRow[], now: Date): void {
    const isFirst = room.since === null;
    const since = isFirst
      ? now.getTime() - maxCommitDelayMs
      : Math.max((room.since as Date).getTime(), now.getTime() - sentRetentionMs);
    room.since = new Date(since);
    for (const row of rows) {
      const key = { tenantId: room.tenantId, conversationId: row.id };
      const updatedAt = row.updated_at.getTime();
      if (isFirst) this.#feeds().begin(key, row.last_position);
      if (row.last_position > 0)
        this.#feeds().readUpTo(key, row.last_position, {
          after: Math.max(0, row.last_position - maxLookBackPositions),
          since: room.since,
        });
      if (isFirst) room.sentUpdatedAt.set(row.id, updatedAt);
      else if ((room.sentUpdatedAt.get(row.id) ?? 0) < updatedAt) this.requestRefresh(key);
    }
    for (const [conversationId, position] of room.earlyPositions)
      this.onMessageWritten({ tenantId: room.tenantId, conversationId }, position);
    room.earlyPositions.clear();
    for (const [id, at] of room.sentUpdatedAt) if (at < now.getTime() - sentRetentionMs) room.sentUpdatedAt.delete(id);
    this.#feeds().prune(feedIdleMs, this.#isFollowed);
  }

  async #refresh(given: string): Promise<void> {
    const [tenantId = '', conversationId = ''] = given.split(' ');
    const room = this.#rooms.get(tenantId);
    if (room === undefined) return;
    try {
      const conversation = await this.#reads.inboxConversation({ tenantId, conversationId });
      if (conversation === null) {
        room.sentUpdatedAt.delete(conversationId);
        this.send(tenantId, { type: 'removed', conversationId });
        return;
      }
      room.sentUpdatedAt.set(conversationId, Date.parse(conversation.updatedAt));
      this.send(tenantId, { type: 'conversation', conversation });
    } catch (error) {
      this.#logger.debug({ err: error }, 'reading a conversation for its agents failed; the next sync retries');
    }
  }
}
