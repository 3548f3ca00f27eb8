import { setTimeout as delay } from 'node:timers/promises';
import { chatCloseCodes, syncSeconds } from '../../../../shared/contract/chat/live.ts';
import type { VisitorFrame } from '../../../../shared/contract/chat/live.ts';
import type { VisitorConversation } from '../../../../shared/contract/chat/visitor-page.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';
import { CatchUpBuffer } from './catch-up-buffer.ts';
import { outgoing } from './connection.ts';
import type { Connection, OutgoingFrame } from './connection.ts';
import type { Feeds } from './feeds.ts';
import type { ConversationKey, LiveReads, WrittenEntry } from './reads.ts';
import { Refresher } from './refresher.ts';

/** One connected page of a visitor. */
export interface VisitorSubscriber {
  connection: Connection;
  /** The page has all messages up to this `seq`. Null before the page is live. */
  lastSeq: number | null;
  /** Whether a message was written while the missed messages were read. */
  hasMissed: boolean;
  isCatchingUp: boolean;
}

interface Room extends ConversationKey {
  subscribers: Set<VisitorSubscriber>;
  conversation: VisitorConversation | null;
  /** Last known `updated_at` of the conversation, in milliseconds of the database clock. */
  updatedAt: number;
  /** The second of each sync interval in which the room is synchronized. */
  slice: number;
}

const retryMs = 500;
const maxRoomsPerBatch = 500;

/**
 * The visitors who are connected to this process. Each page receives the messages of its conversation in order, each
 * message once, and no notes.
 */
export class VisitorRooms implements Disposable {
  readonly #rooms = new Map<string, Room>();
  /** Number of rooms by workspace. */
  readonly #counts = new Map<string, number>();
  readonly #reads: LiveReads;
  readonly #feeds: () => Feeds;
  readonly #isOnline: (tenantIds: readonly string[]) => Promise<Set<string>>;
  readonly #hasAgents: (tenantId: string) => boolean;
  readonly #logger: Logger;
  readonly #refresher: Refresher;
  readonly #presence: Refresher;
  readonly #online = new Map<string, boolean>();
  readonly #catchUpBuffer = new CatchUpBuffer();
  readonly #timer: NodeJS.Timeout;
  #tick = 0;
  #next = 0;

  constructor(options: {
    reads: LiveReads;
    feeds: () => Feeds;
    isOnline: (tenantIds: readonly string[]) => Promise<Set<string>>;
    /** Whether agents of the workspace are connected to this process. */
    hasAgents: (tenantId: string) => boolean;
    logger: Logger;
  }) {
    this.#reads = options.reads;
    this.#feeds = options.feeds;
    this.#isOnline = options.isOnline;
    this.#hasAgents = options.hasAgents;
    this.#logger = options.logger;
    this.#refresher = new Refresher((id) => this.#refresh(id), options.logger);
    this.#presence = new Refresher((tenantId) => this.#sendPresence([tenantId]), options.logger);
    this.#timer = setInterval(() => {
      this.#tick = (this.#tick + 1) % syncSeconds;
      this.#syncInBackground(({ slice }) => slice === this.#tick);
    }, 1_000);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  has({ tenantId, conversationId }: ConversationKey): boolean {
    return this.#rooms.get(conversationId)?.tenantId === tenantId;
  }

  /** Subscribes a page to new messages. Call it before `catchUp`, so that no message is lost between the two. */
  enter({ tenantId, conversationId }: ConversationKey, connection: Connection): VisitorSubscriber {
    let room = this.#rooms.get(conversationId);
    if (room === undefined) {
      room = { tenantId, conversationId, subscribers: new Set(), conversation: null, updatedAt: 0, slice: this.#next };
      this.#next = (this.#next + 1) % syncSeconds;
      this.#rooms.set(conversationId, room);
      this.#counts.set(tenantId, (this.#counts.get(tenantId) ?? 0) + 1);
    }
    const subscriber = { connection, lastSeq: null, hasMissed: false, isCatchingUp: false };
    room.subscribers.add(subscriber);
    return subscriber;
  }

  leave(conversationId: string, subscriber: VisitorSubscriber): void {
    const room = this.#rooms.get(conversationId);
    if (room?.subscribers.delete(subscriber) !== true || room.subscribers.size > 0) return;
    this.#rooms.delete(conversationId);
    // Connected agents still use the feed. A new feed would send them old messages again.
    if (!this.#hasAgents(room.tenantId)) this.#feeds().forget(conversationId);
    const left = (this.#counts.get(room.tenantId) ?? 0) - 1;
    if (left > 0) this.#counts.set(room.tenantId, left);
    else {
      this.#counts.delete(room.tenantId);
      this.#online.delete(room.tenantId);
    }
  }

  catchUpInBackground(key: ConversationKey, subscriber: VisitorSubscriber, given: number): void {
    background(this.catchUp(key, subscriber, given), this.#logger, 'sending missed messages to a visitor');
  }

  /** Sends the messages after `given` (a `seq`), makes the page live, then sends the state of the conversation. */
  async catchUp(key: ConversationKey, subscriber: VisitorSubscriber, given: number): Promise<void> {
    if (subscriber.isCatchingUp) return;
    subscriber.isCatchingUp = true;
    let after = given;
    const initialConversation = this.#reads.visitorConversation(key).catch(() => null);
    while (subscriber.connection.isOpen) {
      subscriber.hasMissed = false;
      const page = await this.#reads.missed(key, after).catch((error: unknown) => {
        this.#logger.debug({ err: error }, 'reading missed messages for a visitor failed; the read is retried');
        return 'failed' as const;
      });
      if (page === 'failed') {
        await delay(retryMs);
        continue;
      }
      if (page === null) {
        subscriber.connection.close(chatCloseCodes.revoked, 'not_found');
        return;
      }
      after = Math.min(after, page.lastSeq);
      for (const { seq, frame } of page.messages) {
        subscriber.connection.send(frame);
        after = seq;
        await this.#catchUpBuffer.waitUntilDrained(subscriber.connection, page.bytes);
      }
      if ((page.messages.length > 0 && after < page.lastSeq) || subscriber.hasMissed) continue;
      subscriber.lastSeq = after;
      subscriber.isCatchingUp = false;
      this.#feeds().begin(key, page.lastPosition);
      const conversation = await initialConversation;
      const room = this.#rooms.get(key.conversationId);
      if (conversation === null || room === undefined) this.#refresher.request(key.conversationId);
      else {
        room.conversation ??= conversation;
        this.#online.set(key.tenantId, conversation.agentOnline);
        subscriber.connection.send(outgoing({ type: 'conversation', conversation }));
      }
      subscriber.connection.send(outgoing({ type: 'sync', lastSeq: subscriber.lastSeq, status: page.status }));
      return;
    }
  }

  /** Marks that a message was written, so that pages that are catching up read again. */
  onMessageWritten({ tenantId, conversationId }: ConversationKey): void {
    const room = this.#rooms.get(conversationId);
    if (room?.tenantId === tenantId) for (const subscriber of room.subscribers) subscriber.hasMissed = true;
  }

  deliver({ conversationId }: ConversationKey, entries: readonly WrittenEntry[]): void {
    const room = this.#rooms.get(conversationId);
    if (room === undefined) return;
    for (const { public: message } of entries) {
      if (message === null) continue;
      const frame = outgoing({ type: 'message', message }, message.seq);
      for (const subscriber of room.subscribers) {
        subscriber.hasMissed = true;
        if (subscriber.isCatchingUp || subscriber.lastSeq === null || message.seq <= subscriber.lastSeq) continue;
        subscriber.connection.send(frame);
        subscriber.lastSeq = message.seq;
      }
      // A reply marks the earlier messages as read. A visitor's message reopens the conversation.
      if (message.senderType === 'agent') this.send(room, { type: 'read', who: 'agent', seq: message.seq });
      if (message.senderType === 'visitor' && room.conversation?.status !== 'open') this.requestRefresh(room);
      // The AI agent stops once an agent replies.
      if (message.senderType === 'agent' && room.conversation?.assistant !== null) this.requestRefresh(room);
    }
  }

  /** Reads a conversation again, and sends it if the state that its visitor sees changed. */
  requestRefresh({ tenantId, conversationId }: ConversationKey): void {
    if (this.#rooms.get(conversationId)?.tenantId === tenantId) this.#refresher.request(conversationId);
  }

  /** Checks again whether any agent of the workspace is online. */
  requestPresenceCheck(tenantId: string): void {
    if (this.#online.has(tenantId)) this.#presence.request(tenantId);
  }

  send({ tenantId, conversationId }: ConversationKey, frame: VisitorFrame): void {
    const room = this.#rooms.get(conversationId);
    if (room?.tenantId === tenantId) sendAll(room, outgoing(frame));
  }

  /** Synchronizes all rooms, for example after a reconnect that may have lost notifications. */
  resync(): void {
    for (const room of this.#rooms.values()) this.onMessageWritten(room);
    this.#syncInBackground(() => true);
  }

  #syncInBackground(isDue: (room: Room) => boolean): void {
    background(this.#sync(isDue), this.#logger, 'synchronization of visitor connections');
  }

  async #sync(isDue: (room: Room) => boolean): Promise<void> {
    const due = [...this.#rooms.values()].filter(isDue);
    for (let from = 0; from < due.length; from += maxRoomsPerBatch) {
      const rooms = due.slice(from, from + maxRoomsPerBatch);
      try {
        const positions = new Map((await this.#reads.positionsOf(rooms)).map((position) => [position.id, position]));
        for (const room of rooms) this.#compare(room, positions.get(room.conversationId));
        await this.#sendPresence([...new Set(rooms.map(({ tenantId }) => tenantId))]);
      } catch (error) {
        this.#logger.debug(
          { err: error },
          "reading the state of visitors' conversations failed; the next sync retries",
        );
      }
    }
  }

  #compare(room: Room, position: Awaited<ReturnType<LiveReads['positionsOf']>>[number] | undefined): void {
    if (position === undefined) {
      for (const { connection } of room.subscribers) connection.close(chatCloseCodes.revoked, 'not_found');
      return;
    }
    if (this.#feeds().has(room.conversationId))
      this.#feeds().readUpTo(room, position.last_position, { after: position.last_position, since: null });
    const updatedAt = position.updated_at.getTime();
    if (updatedAt !== room.updatedAt) {
      room.updatedAt = updatedAt;
      this.requestRefresh(room);
    }
    const frame = outgoing({ type: 'sync', lastSeq: position.last_seq, status: position.status });
    for (const { connection, lastSeq, isCatchingUp } of room.subscribers) {
      // A page that is behind receives `sync` after its missing messages.
      if (isCatchingUp || lastSeq === null) continue;
      if (lastSeq < position.last_seq) room.slice = (this.#tick + 1) % syncSeconds;
      else connection.send(frame);
    }
  }

  async #sendPresence(tenantIds: readonly string[]): Promise<void> {
    const online = await this.#isOnline(tenantIds).catch(() => null);
    if (online === null) return;
    for (const tenantId of tenantIds) {
      const agentOnline = online.has(tenantId);
      const before = this.#online.get(tenantId);
      if (before === agentOnline) continue;
      this.#online.set(tenantId, agentOnline);
      if (before === undefined) continue;
      const frame = outgoing({ type: 'presence', agentOnline });
      for (const room of this.#rooms.values())
        if (room.tenantId === tenantId) {
          if (room.conversation !== null) room.conversation = { ...room.conversation, agentOnline };
          sendAll(room, frame);
        }
    }
  }

  async #refresh(conversationId: string): Promise<void> {
    const room = this.#rooms.get(conversationId);
    if (room === undefined) return;
    const conversation = await this.#reads.visitorConversation(room).catch(() => null);
    if (conversation === null) return;
    const before = room.conversation;
    room.conversation = conversation;
    if (before === null || comparableState(before) !== comparableState(conversation))
      sendAll(room, outgoing({ type: 'conversation', conversation }));
  }
}

/** The state of a conversation that no other frame carries. */
const comparableState = ({ lastSeq: _lastSeq, agentOnline: _online, ...rest }: VisitorConversation): string =>
  JSON.stringify(rest);

function sendAll(room: Room, frame: OutgoingFrame): void {
  for (const { connection } of room.subscribers) connection.send(frame);
}
