import type { Presence } from '../../../../shared/contract/chat/agent-shapes.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { chatTopicFamily } from '../changes/index.ts';
import type { ChatChange, ChatChanges } from '../changes/index.ts';
import { AgentRooms } from './agent-rooms.ts';
import type { PresenceReader } from './agent-rooms.ts';
import { Feeds } from './feeds.ts';
import { LiveReads } from './reads.ts';
import { Viewers } from './viewers.ts';
import { VisitorRooms } from './visitor-rooms.ts';

export interface LiveChatDependencies {
  db: Database;
  events: Events;
  changes: ChatChanges;
  presences: { of: PresenceReader; workspacesOnline(tenantIds: readonly string[]): Promise<Set<string>> };
  logger: Logger;
}

type Told =
  | (ChatChange & { conversationId: string })
  | { kind: 'presence'; userId: string; presence: Presence | 'offline' };

/**
 * What happens in chats, told to the visitors and agents who are connected to this process. It hears of it by one subscription; what it was
 * not told, because word was lost, it finds when it looks by itself.
 */
export class LiveChat implements Disposable {
  readonly visitors: VisitorRooms;
  readonly agents: AgentRooms;
  readonly viewers: Viewers;
  readonly #changes: ChatChanges;
  readonly #owned: Disposable[];

  constructor({ db, events, changes, presences, logger }: LiveChatDependencies) {
    this.#changes = changes;
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
        changes.tell(tenantId, conversationId, { kind: 'viewing', userId, viewing: true }),
    );
    this.#owned = [
      events.subscribeFamily(chatTopicFamily, (tenantId, payload) =>
        this.#hear(tenantId, payload as unknown as Told, feeds),
      ),
      events.onReconnect(() => {
        void this.visitors.lookAgain();
        this.agents.lookAgain();
      }),
      this.visitors,
      this.agents,
      this.viewers,
    ];
  }

  [Symbol.dispose](): void {
    for (const owned of this.#owned) owned[Symbol.dispose]();
  }

  /** Says for 20 seconds that an agent looks at a conversation, or no longer, and whether they type. */
  show(
    tenantId: string,
    conversationId: string,
    { userId, name }: { userId: string; name: string },
    { viewing, typing }: { viewing: boolean; typing: boolean },
  ): void {
    this.#changes.tell(tenantId, conversationId, { kind: 'viewing', userId, viewing });
    this.#changes.tell(tenantId, conversationId, { kind: 'typing', who: 'agent', userId, name, typing });
  }

  /** Ids of the members who look at a conversation now. */
  viewersOf(tenantId: string, conversationId: string): string[] {
    return this.viewers.of(tenantId, conversationId);
  }

  #hear(tenantId: string, told: Told, feeds: Feeds): void {
    const { visitors, agents } = this;
    if (told.kind === 'presence') {
      agents.send(tenantId, { type: 'presence', userId: told.userId, presence: told.presence });
      visitors.presenceChanged(tenantId);
      return;
    }
    const { conversationId } = told;
    // What was too large to be carried, or is no event of ours, says nothing.
    if (typeof conversationId !== 'string') return;
    const key = { tenantId, conversationId };
    switch (told.kind) {
      case 'message':
        visitors.written(key);
        // Its visitor waits for no agent, whose first look may take long.
        if (feeds.has(conversationId) && visitors.has(key))
          feeds.written(key, told.position, { after: told.position - 1, since: null });
        agents.written(key, told.position);
        return;
      case 'conversation':
        visitors.changed(key);
        agents.changed(key);
        return;
      case 'read':
        visitors.send(key, { type: 'read', who: told.who, seq: told.seq });
        agents.send(tenantId, { type: 'read', conversationId, who: told.who, seq: told.seq });
        agents.changed(key);
        return;
      case 'removed':
        feeds.forget(conversationId);
        agents.send(tenantId, { type: 'removed', conversationId });
        return;
      case 'typing':
        if (told.who !== 'visitor')
          visitors.send(key, {
            type: 'typing',
            who: told.who,
            name: told.name,
            typing: told.typing,
          });
        agents.send(tenantId, {
          type: 'typing',
          conversationId,
          who: told.who,
          userId: told.userId,
          typing: told.typing,
        });
        return;
      case 'viewing':
        this.viewers.heard(tenantId, conversationId, told.userId, told.viewing);
        return;
      case 'delta':
        visitors.send(key, { type: 'delta', id: told.id, at: told.at, text: told.text, dropped: told.dropped });
        return;
      case 'suggestion':
        agents.send(tenantId, { type: 'suggestion', conversationId, id: told.id });
        return;
      default:
        return;
    }
  }
}
