import type { Presence } from '../../../../shared/contract/chat/agent-shapes.ts';
import { chatSilenceSeconds, syncSeconds } from '../../../../shared/contract/chat/live.ts';
import type { AgentFrame } from '../../../../shared/contract/chat/live.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { outgoing } from './connection.ts';
import type { Connection } from './connection.ts';
import type { Feeds } from './feeds.ts';
import type { ConversationKey, LiveReads, WrittenEntry } from './reads.ts';
import { Refresher } from './refresher.ts';

interface Room {
  tenantId: string;
  guests: Set<Connection>;
  /** Those that asked for a look, and are told even where nothing changed. */
  asking: Set<Connection>;
  /** Messages from then on are told; null before the first look. */
  since: Date | null;
  /** What was told to be written before the first look. */
  early: Map<string, number>;
  /** When conversations changed that were told, as the database says. */
  told: Map<string, number>;
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

/** What one `sync` names at most. */
const changedAtMost = 200;
/** A message whose transaction took so long is told all the same, in milliseconds. */
const lateMs = 2_000;
/** A first look that failed is tried again so soon, in milliseconds: until it succeeds its agents hear little. */
const retryMs = 500;
/** Conversations in which nothing is written for so long are forgotten; what is told of them then is new, in milliseconds. */
const idleMs = 120_000;
const rememberedMs = 90_000;
/** So many messages of a conversation that nobody followed are looked through for new ones. */
const lookBack = 100;

/** The agents who are connected to this process: each hears of all conversations of the workspace. One look is for all of a workspace. */
export class AgentRooms implements Disposable {
  readonly #rooms = new Map<string, Room>();
  readonly #db: Database;
  readonly #reads: LiveReads;
  readonly #feeds: () => Feeds;
  readonly #presencesOf: PresenceReader;
  readonly #isFollowed: (key: ConversationKey) => boolean;
  readonly #logger: Logger;
  readonly #looks = new Refresher((tenantId) => this.#look(tenantId));
  readonly #refresher = new Refresher((key) => this.#refresh(key));
  readonly #timer: NodeJS.Timeout;

  constructor(options: {
    db: Database;
    reads: LiveReads;
    feeds: () => Feeds;
    presencesOf: PresenceReader;
    /** Whether a visitor is there, too. */
    isFollowed: (key: ConversationKey) => boolean;
    logger: Logger;
  }) {
    this.#db = options.db;
    this.#reads = options.reads;
    this.#feeds = options.feeds;
    this.#presencesOf = options.presencesOf;
    this.#isFollowed = options.isFollowed;
    this.#logger = options.logger;
    this.#timer = setInterval(() => this.lookAgain(), syncSeconds * 1_000);
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
      guests: new Set(),
      asking: new Set(),
      since: null,
      early: new Map(),
      told: new Map(),
      presences: new Map(),
    };
    this.#rooms.set(tenantId, room);
    room.guests.add(connection);
    if (isFirst) this.#looks.ask(tenantId);
  }

  leave(tenantId: string, connection: Connection): void {
    const room = this.#rooms.get(tenantId);
    room?.asking.delete(connection);
    if (room?.guests.delete(connection) !== true || room.guests.size > 0) return;
    this.#rooms.delete(tenantId);
    // Nobody goes on reading them, so that whoever comes next would be told what is old.
    this.#feeds().prune(0, (key) => key.tenantId !== tenantId || this.#isFollowed(key));
  }

  /** Has `sync` sent to a connection once it was looked after this. */
  hello(tenantId: string, connection: Connection): void {
    this.#rooms.get(tenantId)?.asking.add(connection);
    this.#looks.ask(tenantId);
  }

  written(key: ConversationKey, position: number): void {
    const room = this.#rooms.get(key.tenantId);
    if (room === undefined) return;
    // What the first look sees is none of what is told from then on.
    if (room.since === null) room.early.set(key.conversationId, position);
    else this.#feeds().written(key, position, { after: Math.max(0, position - lookBack), since: room.since });
    this.changed(key);
  }

  deliver({ tenantId }: ConversationKey, entries: readonly WrittenEntry[]): void {
    for (const { inbox } of entries) this.send(tenantId, { type: 'message', message: inbox });
  }

  changed({ tenantId, conversationId }: ConversationKey): void {
    if (this.#rooms.has(tenantId)) this.#refresher.ask(`${tenantId} ${conversationId}`);
  }

  send(tenantId: string, given: AgentFrame): void {
    const room = this.#rooms.get(tenantId);
    if (room === undefined) return;
    if (given.type === 'presence') room.presences.set(given.userId, given.presence);
    const frame = outgoing(given);
    for (const connection of room.guests) connection.send(frame);
  }

  lookAgain(): void {
    for (const room of this.#rooms.values()) {
      for (const connection of room.guests) room.asking.add(connection);
      this.#looks.ask(room.tenantId);
    }
  }

  async #look(tenantId: string): Promise<void> {
    const room = this.#rooms.get(tenantId);
    if (room === undefined) return;
    const asking = [...room.asking];
    room.asking.clear();
    try {
      const [{ rows, now }, presences] = await Promise.all([this.#readChanged(tenantId), this.#presencesOf(tenantId)]);
      this.#compare(room, rows, now);
      for (const [userId, presence] of presences)
        if (room.presences.get(userId) !== presence) this.send(tenantId, { type: 'presence', userId, presence });
      const frame = outgoing({
        type: 'sync',
        at: now.toISOString(),
        changed: rows.slice(0, changedAtMost).map((row) => ({
          id: row.id,
          lastPosition: row.last_position,
          status: row.status,
          updatedAt: row.updated_at.toISOString(),
        })),
        complete: rows.length <= changedAtMost,
      });
      for (const connection of asking) connection.send(frame);
    } catch (error) {
      for (const connection of asking) if (room.guests.has(connection)) room.asking.add(connection);
      this.#logger.debug({ err: error }, 'the conversations of a workspace could not be looked at; it is tried again');
      if (room.since === null) setTimeout(() => this.#looks.ask(tenantId), retryMs).unref();
    }
  }

  async #readChanged(tenantId: string): Promise<{ rows: ChangedRow[]; now: Date }> {
    return this.#db.read(tenantId, async (tx) => {
      const [changed, clock] = await Promise.all([
        tx.query<ChangedRow>(
          'list_changed_conversations',
          `SELECT id, last_position, status, updated_at FROM chat_conversations
           WHERE tenant_id = $1 AND updated_at > now() - make_interval(secs => $2) ORDER BY updated_at DESC LIMIT $3`,
          [tenantId, chatSilenceSeconds, changedAtMost + 1],
        ),
        tx.query<{ now: Date }>('read_clock', 'SELECT now()', []),
      ]);
      return { rows: changed.rows, now: (clock.rows[0] as { now: Date }).now };
    });
  }

  /** Finds what was told to nobody here, because word of it was lost. */
  #compare(room: Room, rows: readonly ChangedRow[], now: Date): void {
    const isFirst = room.since === null;
    const since = isFirst
      ? now.getTime() - lateMs
      : Math.max((room.since as Date).getTime(), now.getTime() - rememberedMs);
    room.since = new Date(since);
    for (const row of rows) {
      const key = { tenantId: room.tenantId, conversationId: row.id };
      const updatedAt = row.updated_at.getTime();
      if (isFirst) this.#feeds().begin(key, row.last_position);
      if (row.last_position > 0)
        this.#feeds().written(key, row.last_position, {
          after: Math.max(0, row.last_position - lookBack),
          since: room.since,
        });
      if (isFirst) room.told.set(row.id, updatedAt);
      else if ((room.told.get(row.id) ?? 0) < updatedAt) this.changed(key);
    }
    for (const [conversationId, position] of room.early)
      this.written({ tenantId: room.tenantId, conversationId }, position);
    room.early.clear();
    for (const [id, at] of room.told) if (at < now.getTime() - rememberedMs) room.told.delete(id);
    this.#feeds().prune(idleMs, this.#isFollowed);
  }

  async #refresh(given: string): Promise<void> {
    const [tenantId = '', conversationId = ''] = given.split(' ');
    const room = this.#rooms.get(tenantId);
    if (room === undefined) return;
    try {
      const conversation = await this.#reads.inboxConversation({ tenantId, conversationId });
      if (conversation === null) {
        room.told.delete(conversationId);
        this.send(tenantId, { type: 'removed', conversationId });
        return;
      }
      room.told.set(conversationId, Date.parse(conversation.updatedAt));
      this.send(tenantId, { type: 'conversation', conversation });
    } catch (error) {
      this.#logger.debug({ err: error }, 'a conversation could not be read for its agents; the next beat does');
    }
  }
}
