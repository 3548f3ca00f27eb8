import type { Presence } from '../../../../shared/contract/chat/agent-shapes.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { chatTopicFamily, publishChatChange } from '../changes/index.ts';
import type { ChatChange } from '../changes/index.ts';
import { AgentRooms } from './agent-rooms.ts';
import type { PresenceReader } from './agent-rooms.ts';
import { Feeds } from './feeds.ts';
import { LiveReads } from './reads.ts';
import { Viewers } from './viewers.ts';
import { VisitorRooms } from './visitor-rooms.ts';

export interface LiveChatDependencies {
  db: Database;
  events: Events;
  presences: { of: PresenceReader; workspacesOnline(tenantIds: readonly string[]): Promise<Set<string>> };
  logger: Logger;
}

type ChatNotification =
  | (ChatChange & { conversationId: string })
  | { kind: 'presence'; userId: string; presence: Presence | 'offline' };

/**
 * Sends chat updates to the visitors and agents who are connected to this process.
 * One subscription receives the notifications of all workspaces. Periodic syncs find changes whose notification was
 * lost.
 */
export class LiveChat implements Disposable {
  readonly visitors: VisitorRooms;
  readonly agents: AgentRooms;
  readonly viewers: Viewers;
  readonly #events: Events;
  readonly #owned: Disposable[];

  constructor({ db, events, presences, logger }: LiveChatDependencies) {
    this.#events = events;
    const reads = new LiveReads(db);
    const feeds: Feeds = new Feeds(
      reads,
      (key, entries) => {
        this.visitors.deliver(key, entries);
        this.agents.deliver(key, entries);
      },
      logger,
    );
    this.visitors = new VisitorRooms({
      reads,
      feeds: () => feeds,
      isOnline: (tenantIds) => presences.workspacesOnline(tenantIds),
      hasAgents: (tenantId) => this.agents.has(tenantId),
      logger,
    });
    this.agents = new AgentRooms({
      db,
      reads,
      feeds: () => feeds,
      presencesOf: (tenantId) => presences.of(tenantId),
      isFollowed: (key) => this.visitors.has(key),
      logger,
    });
    this.viewers = new Viewers(
      ({ tenantId, conversationId }, userIds) =>
        this.agents.send(tenantId, { type: 'viewers', conversationId, userIds }),
      ({ tenantId, conversationId, userId }) =>
        publishChatChange(events, tenantId, conversationId, { kind: 'viewing', userId, viewing: true }),
    );
    this.#owned = [
      events.subscribeFamily(chatTopicFamily, (tenantId, payload) =>
        this.#onChange(tenantId, payload as unknown as ChatNotification, feeds),
      ),
      events.onReconnect(() => {
        this.visitors.resync();
        this.agents.resync();
      }),
      this.visitors,
      this.agents,
      this.viewers,
    ];
  }

  [Symbol.dispose](): void {
    for (const owned of this.#owned) owned[Symbol.dispose]();
  }

  /** Publishes whether an agent views a conversation and types in it. A view expires after 20 s. */
  show(
    tenantId: string,
    conversationId: string,
    { userId, name }: { userId: string; name: string },
    { viewing, typing }: { viewing: boolean; typing: boolean },
  ): void {
    publishChatChange(this.#events, tenantId, conversationId, { kind: 'viewing', userId, viewing });
    publishChatChange(this.#events, tenantId, conversationId, { kind: 'typing', who: 'agent', userId, name, typing });
  }

  /** User ids of the current viewers of a conversation. */
  viewersOf(tenantId: string, conversationId: string): string[] {
    return this.viewers.of(tenantId, conversationId);
  }

  #onChange(tenantId: string, change: ChatNotification, feeds: Feeds): void {
    const { visitors, agents } = this;
    if (change.kind === 'presence') {
      agents.send(tenantId, { type: 'presence', userId: change.userId, presence: change.presence });
      visitors.requestPresenceCheck(tenantId);
      return;
    }
    const { conversationId } = change;
    // Notifications that were too large to transmit arrive without a conversation id.
    if (typeof conversationId !== 'string') return;
    const key = { tenantId, conversationId };
    switch (change.kind) {
      case 'message':
        visitors.onMessageWritten(key);
        // Visitors do not wait for the first sync of the agents, which may take long.
        if (feeds.has(conversationId) && visitors.has(key))
          feeds.readUpTo(key, change.position, { after: change.position - 1, since: null });
        agents.onMessageWritten(key, change.position);
        return;
      case 'conversation':
        visitors.requestRefresh(key);
        agents.requestRefresh(key);
        return;
      case 'read':
        visitors.send(key, { type: 'read', who: change.who, seq: change.seq });
        agents.send(tenantId, { type: 'read', conversationId, who: change.who, seq: change.seq });
        agents.requestRefresh(key);
        return;
      case 'removed':
        feeds.forget(conversationId);
        agents.send(tenantId, { type: 'removed', conversationId });
        return;
      case 'typing':
        if (change.who !== 'visitor')
          visitors.send(key, {
            type: 'typing',
            who: change.who,
            name: change.name,
            typing: change.typing,
          });
        agents.send(tenantId, {
          type: 'typing',
          conversationId,
          who: change.who,
          userId: change.userId,
          typing: change.typing,
        });
        return;
      case 'viewing':
        this.viewers.update(tenantId, conversationId, change.userId, change.viewing);
        return;
      case 'delta':
        visitors.send(key, { type: 'delta', id: change.id, at: change.at, text: change.text, dropped: change.dropped });
        return;
      case 'suggestion':
        agents.send(tenantId, { type: 'suggestion', conversationId, id: change.id });
        return;
      default:
        return;
    }
  }
}
