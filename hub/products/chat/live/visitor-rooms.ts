import { setTimeout as delay } from 'node:timers/promises';
import { chatCloseCodes, syncSeconds } from '../../../../shared/contract/chat/live.ts';
import type { VisitorFrame } from '../../../../shared/contract/chat/live.ts';
import type { VisitorConversation } from '../../../../shared/contract/chat/visitor-page.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { outgoing } from './connection.ts';
import type { Connection, OutgoingFrame } from './connection.ts';
import type { Feeds } from './feeds.ts';
import type { ConversationKey, LiveReads, WrittenEntry } from './reads.ts';
import { Refresher } from './refresher.ts';
import { SlowReaders } from './slow-readers.ts';

/** One page of a visitor. */
export interface VisitorGuest {
  connection: Connection;
  /** Up to which message it has all; null before it is live. */
  lastSeq: number | null;
  /** Whether something was written while it was looked for what it missed. */
  hasMissed: boolean;
  isCatchingUp: boolean;
}

interface Room extends ConversationKey {
  guests: Set<VisitorGuest>;
  conversation: VisitorConversation | null;
  /** When the conversation was last known to change, as the database says. */
  updatedAt: number;
  /** In which second of the beat it is looked at. */
  slice: number;
}

const retryMs = 500;
const roomsAtOnce = 500;

/** The visitors who are connected to this process: each gets the messages of its conversation in their order, each once, and never a note. */
export class VisitorRooms implements Disposable {
  readonly #rooms = new Map<string, Room>();
  /** How many rooms each workspace has. */
  readonly #counts = new Map<string, number>();
  readonly #reads: LiveReads;
  readonly #feeds: () => Feeds;
  readonly #isOnline: (tenantIds: readonly string[]) => Promise<Set<string>>;
  readonly #hasAgents: (tenantId: string) => boolean;
  readonly #logger: Logger;
  readonly #refresher = new Refresher((id) => this.#refresh(id));
  readonly #presence = new Refresher((tenantId) => this.#tellPresence([tenantId]));
  readonly #online = new Map<string, boolean>();
  readonly #slowReaders = new SlowReaders();
  readonly #timer: NodeJS.Timeout;
  #tick = 0;
  #next = 0;

  constructor(options: {
    reads: LiveReads;
    feeds: () => Feeds;
    isOnline: (tenantIds: readonly string[]) => Promise<Set<string>>;
    /** Whether agents of a workspace follow its conversations, too. */
    hasAgents: (tenantId: string) => boolean;
    logger: Logger;
  }) {
    this.#reads = options.reads;
    this.#feeds = options.feeds;
    this.#isOnline = options.isOnline;
    this.#hasAgents = options.hasAgents;
    this.#logger = options.logger;
    this.#timer = setInterval(() => {
      this.#tick = (this.#tick + 1) % syncSeconds;
      void this.#look(({ slice }) => slice === this.#tick);
    }, 1_000);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  has({ tenantId, conversationId }: ConversationKey): boolean {
    return this.#rooms.get(conversationId)?.tenantId === tenantId;
  }

  /** Hears from now on of whatever is written; to be done before it is looked for what was missed. */
  enter({ tenantId, conversationId }: ConversationKey, connection: Connection): VisitorGuest {
    let room = this.#rooms.get(conversationId);
    if (room === undefined) {
      room = { tenantId, conversationId, guests: new Set(), conversation: null, updatedAt: 0, slice: this.#next };
      this.#next = (this.#next + 1) % syncSeconds;
      this.#rooms.set(conversationId, room);
      this.#counts.set(tenantId, (this.#counts.get(tenantId) ?? 0) + 1);
    }
    const guest = { connection, lastSeq: null, hasMissed: false, isCatchingUp: false };
    room.guests.add(guest);
    return guest;
  }

  leave(conversationId: string, guest: VisitorGuest): void {
    const room = this.#rooms.get(conversationId);
    if (room?.guests.delete(guest) !== true || room.guests.size > 0) return;
    this.#rooms.delete(conversationId);
    // Agents who hear of it go on where it is; read anew, what is old would be told to them once more.
    if (!this.#hasAgents(room.tenantId)) this.#feeds().forget(conversationId);
    const left = (this.#counts.get(room.tenantId) ?? 0) - 1;
    if (left > 0) this.#counts.set(room.tenantId, left);
    else {
      this.#counts.delete(room.tenantId);
      this.#online.delete(room.tenantId);
    }
  }

  /** Sends what came after a message, then lets it hear live, and tells how the conversation is. */
  async catchUp(key: ConversationKey, guest: VisitorGuest, given: number): Promise<void> {
    if (guest.isCatchingUp) return;
    guest.isCatchingUp = true;
    let after = given;
    const shown = this.#reads.visitorConversation(key).catch(() => null);
    while (guest.connection.isOpen) {
      guest.hasMissed = false;
      const page = await this.#reads.missed(key, after).catch((error: unknown) => {
        this.#logger.debug({ err: error }, 'messages could not be read for a visitor; it is tried again');
        return 'failed' as const;
      });
      if (page === 'failed') {
        await delay(retryMs);
        continue;
      }
      if (page === null) {
        guest.connection.close(chatCloseCodes.revoked, 'not_found');
        return;
      }
      after = Math.min(after, page.lastSeq);
      for (const { seq, frame } of page.messages) {
        guest.connection.send(frame);
        after = seq;
        await this.#slowReaders.untilTaken(guest.connection, page.bytes);
      }
      if ((page.messages.length > 0 && after < page.lastSeq) || guest.hasMissed) continue;
      guest.lastSeq = after;
      guest.isCatchingUp = false;
      this.#feeds().begin(key, page.lastPosition);
      const conversation = await shown;
      const room = this.#rooms.get(key.conversationId);
      if (conversation === null || room === undefined) this.#refresher.ask(key.conversationId);
      else {
        room.conversation ??= conversation;
        this.#online.set(key.tenantId, conversation.agentOnline);
        guest.connection.send(outgoing({ type: 'conversation', conversation }));
      }
      guest.connection.send(outgoing({ type: 'sync', lastSeq: guest.lastSeq, status: page.status }));
      return;
    }
  }

  /** Something was written: whoever is looking for what it missed looks once more. */
  written({ tenantId, conversationId }: ConversationKey): void {
    const room = this.#rooms.get(conversationId);
    if (room?.tenantId === tenantId) for (const guest of room.guests) guest.hasMissed = true;
  }

  deliver({ conversationId }: ConversationKey, entries: readonly WrittenEntry[]): void {
    const room = this.#rooms.get(conversationId);
    if (room === undefined) return;
    for (const { public: message } of entries) {
      if (message === null) continue;
      const frame = outgoing({ type: 'message', message }, message.seq);
      for (const guest of room.guests) {
        guest.hasMissed = true;
        if (guest.isCatchingUp || guest.lastSeq === null || message.seq <= guest.lastSeq) continue;
        guest.connection.send(frame);
        guest.lastSeq = message.seq;
      }
      // Whoever replies has read what came before; and a visitor who writes opens a conversation again.
      if (message.senderType === 'agent') this.send(room, { type: 'read', who: 'agent', seq: message.seq });
      if (message.senderType === 'visitor' && room.conversation?.status !== 'open') this.changed(room);
      // Where people write, the assistant does not any more.
      if (message.senderType === 'agent' && room.conversation?.assistant !== null) this.changed(room);
    }
  }

  /** Has a conversation looked at, and told where its visitor sees a difference. */
  changed({ tenantId, conversationId }: ConversationKey): void {
    if (this.#rooms.get(conversationId)?.tenantId === tenantId) this.#refresher.ask(conversationId);
  }

  /** Whether somebody of a workspace is there may be otherwise. */
  presenceChanged(tenantId: string): void {
    if (this.#online.has(tenantId)) this.#presence.ask(tenantId);
  }

  send({ tenantId, conversationId }: ConversationKey, frame: VisitorFrame): void {
    const room = this.#rooms.get(conversationId);
    if (room?.tenantId === tenantId) sendAll(room, outgoing(frame));
  }

  /** Looks at all of them again: what was told may have been missed. */
  lookAgain(): Promise<void> {
    for (const room of this.#rooms.values()) this.written(room);
    return this.#look(() => true);
  }

  async #look(isDue: (room: Room) => boolean): Promise<void> {
    const due = [...this.#rooms.values()].filter(isDue);
    for (let from = 0; from < due.length; from += roomsAtOnce) {
      const rooms = due.slice(from, from + roomsAtOnce);
      try {
        const standings = new Map((await this.#reads.standings(rooms)).map((standing) => [standing.id, standing]));
        for (const room of rooms) this.#compare(room, standings.get(room.conversationId));
        await this.#tellPresence([...new Set(rooms.map(({ tenantId }) => tenantId))]);
      } catch (error) {
        this.#logger.debug({ err: error }, 'conversations of visitors could not be looked at; the next beat does');
      }
    }
  }

  #compare(room: Room, standing: Awaited<ReturnType<LiveReads['standings']>>[number] | undefined): void {
    if (standing === undefined) {
      for (const { connection } of room.guests) connection.close(chatCloseCodes.revoked, 'not_found');
      return;
    }
    if (this.#feeds().has(room.conversationId))
      this.#feeds().written(room, standing.last_position, { after: standing.last_position, since: null });
    const updatedAt = standing.updated_at.getTime();
    if (updatedAt !== room.updatedAt) {
      room.updatedAt = updatedAt;
      this.changed(room);
    }
    const frame = outgoing({ type: 'sync', lastSeq: standing.last_seq, status: standing.status });
    for (const { connection, lastSeq, isCatchingUp } of room.guests) {
      // Whoever is about to get more is told once it has that.
      if (isCatchingUp || lastSeq === null) continue;
      if (lastSeq < standing.last_seq) room.slice = (this.#tick + 1) % syncSeconds;
      else connection.send(frame);
    }
  }

  async #tellPresence(tenantIds: readonly string[]): Promise<void> {
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
    if (before === null || essenceOf(before) !== essenceOf(conversation))
      sendAll(room, outgoing({ type: 'conversation', conversation }));
  }
}

/** What of a conversation is told by nothing else. */
const essenceOf = ({ lastSeq: _lastSeq, agentOnline: _online, ...rest }: VisitorConversation): string =>
  JSON.stringify(rest);

function sendAll(room: Room, frame: OutgoingFrame): void {
  for (const { connection } of room.guests) connection.send(frame);
}
