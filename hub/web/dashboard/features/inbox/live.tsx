import { useQueryClient } from '@tanstack/react-query';
import type { QueryClient } from '@tanstack/react-query';
import { createContext, useContext, useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { AgentFrame } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import { Store } from '../../../../../shared/web/store.ts';
import { keyOf } from '../../app/api.ts';
import type { Answer, OperationId } from '../../app/api.ts';
import { useRereads } from '../../app/live-updates.tsx';
import type { Rereads } from '../../app/rereads.ts';
import { sessionState } from '../../app/session-state.ts';
import { useSession } from '../../app/session.tsx';
import { AgentConnection } from './agent-connection.ts';
import { isOutdated, patchConversation, patchFields, removeConversation } from './conversation-cache.ts';
import { draftsOf } from './drafts.ts';
import { Threads } from './thread.ts';

/** A visitor or an agent who types in a conversation. */
export interface Typer {
  who: 'visitor' | 'agent' | 'ai';
  userId: string | null;
}

interface LiveState {
  isConnected: boolean;
  /** By conversation. */
  typers: Readonly<Record<string, readonly Typer[]>>;
  /** Ids of the members who view a conversation, by conversation. */
  viewers: Readonly<Record<string, readonly string[]>>;
}

/** Without a connection, the open conversation is read again at this interval. */
const pollMs = 3_000;
/** Without a new signal for this time, typing has stopped. Clients repeat the signal every 3 seconds. */
const typingMs = 8_000;

const lists: readonly OperationId[] = ['listInboxConversations', 'getInboxConversation', 'getInboxVisitor'];

/** What the inbox knows besides the responses of the API, and keeps current by the live connection. */
export class InboxLive {
  readonly store = new Store<LiveState>({ isConnected: true, typers: {}, viewers: {} });
  readonly threads: Threads;
  readonly drafts: ReturnType<typeof draftsOf>;
  readonly connection: AgentConnection;
  readonly #cache: QueryClient;
  readonly #tenantId: string;
  readonly #userId: string;
  /** Newest change of each conversation that this page knows, so that `sync` finds only missed ones. */
  readonly #changedAt = new Map<string, string>();
  readonly #typingTimers = new Map<string, ReturnType<typeof setTimeout>>();
  readonly #rereads: Rereads;
  #wasConnected = false;
  #openId: string | null = null;

  constructor(cache: QueryClient, rereads: Rereads, tenantId: string, userId: string) {
    this.#cache = cache;
    this.#rereads = rereads;
    this.#tenantId = tenantId;
    this.#userId = userId;
    this.threads = new Threads(tenantId);
    this.drafts = draftsOf(tenantId, userId);
    this.connection = new AgentConnection({
      tenantId,
      onFrame: (frame) => this.#onFrame(frame),
      onConnected: (isConnected) => this.#onConnected(isConnected),
    });
  }

  start(): () => void {
    const flush = () => this.drafts.flush();
    addEventListener('pagehide', flush);
    document.addEventListener('visibilitychange', flush);
    const stop = this.connection.start();
    const poll = setInterval(() => this.#poll(), pollMs);
    return () => {
      clearInterval(poll);
      flush();
      removeEventListener('pagehide', flush);
      document.removeEventListener('visibilitychange', flush);
      for (const timer of this.#typingTimers.values()) clearTimeout(timer);
      stop();
    };
  }

  /** The agent opens a conversation; null for none. */
  open(id: string | null): void {
    this.#openId = id;
    this.connection.view(id);
  }

  /** Reads operations again soon. */
  reread(ids: readonly OperationId[]): void {
    for (const id of ids) this.#rereads.request([id]);
  }

  /** Where live connections are blocked, or after a failure, plain requests bring the messages. */
  #poll(): void {
    const thread = this.#openId === null ? undefined : this.threads.find(this.#openId);
    if (thread === undefined || !navigator.onLine || document.hidden) return;
    if (sessionState.state.problem !== null) return;
    const { isLoaded, isCurrent, isReading } = thread.store.state;
    if (!isLoaded || isReading || (isCurrent && this.store.state.isConnected)) return;
    background(thread.catchUp());
    if (!this.store.state.isConnected) this.reread(['listInboxConversations', 'countInboxConversations']);
  }

  #onConnected(isConnected: boolean): void {
    this.store.set({ isConnected });
    if (!isConnected) {
      this.threads.noteLoss();
      this.store.set({ typers: {}, viewers: {} });
      return;
    }
    // What the connection missed is not repeated. The first connection follows responses that are new.
    if (this.#wasConnected) {
      if (this.#openId !== null) background(this.threads.of(this.#openId).catchUp());
      this.reread([...lists, 'countInboxConversations', 'listChatAgents', 'listAiSuggestions']);
      this.drafts.flush();
    }
    this.#wasConnected = true;
  }

  #onFrame(frame: AgentFrame): void {
    switch (frame.type) {
      case 'message':
        this.threads.find(frame.message.conversationId)?.receive(frame.message);
        break;
      case 'conversation': {
        const { conversation } = frame;
        this.#changedAt.set(conversation.id, conversation.updatedAt);
        patchConversation(this.#cache, this.#tenantId, conversation, this.#userId);
        this.threads.find(conversation.id)?.notePosition(conversation.lastPosition);
        this.reread(['countInboxConversations']);
        break;
      }
      case 'removed':
        removeConversation(this.#cache, frame.conversationId);
        this.reread(['countInboxConversations', 'getInboxConversation']);
        break;
      case 'typing':
        this.#setTyping(frame.conversationId, { who: frame.who, userId: frame.userId }, frame.typing);
        break;
      case 'read':
        patchFields(this.#cache, this.#tenantId, frame.conversationId, ({ agentReadSeq, visitorReadSeq }) =>
          frame.who === 'visitor'
            ? { visitorReadSeq: Math.max(visitorReadSeq, frame.seq) }
            : { agentReadSeq: Math.max(agentReadSeq, frame.seq) },
        );
        if (frame.who === 'agent') this.reread(['countInboxConversations']);
        break;
      case 'presence':
        this.#cache.setQueryData<Answer<'listChatAgents'>>(
          keyOf('listChatAgents', { params: { tenantId: this.#tenantId } }),
          (agents) =>
            agents && {
              data: agents.data.map((agent) =>
                agent.userId === frame.userId ? { ...agent, presence: frame.presence } : agent,
              ),
            },
        );
        break;
      case 'suggestion':
        if (frame.conversationId === this.#openId) this.reread(['listAiSuggestions']);
        break;
      case 'viewers':
        this.store.set({ viewers: { ...this.store.state.viewers, [frame.conversationId]: frame.userIds } });
        break;
      case 'sync':
        this.#onSync(frame);
        break;
      default:
    }
  }

  #onSync({ changed, complete }: Extract<AgentFrame, { type: 'sync' }>): void {
    let isBehind = !complete;
    for (const change of changed) {
      this.threads.find(change.id)?.notePosition(change.lastPosition);
      const known = this.#changedAt.get(change.id);
      if (known !== undefined && known >= change.updatedAt) continue;
      this.#changedAt.set(change.id, change.updatedAt);
      isBehind ||= isOutdated(this.#cache, this.#tenantId, change);
    }
    if (isBehind) this.reread([...lists, 'countInboxConversations']);
  }

  #setTyping(id: string, typer: Typer, isTyping: boolean): void {
    if (typer.userId === this.#userId) return;
    const key = `${id} ${typer.who} ${typer.userId ?? ''}`;
    clearTimeout(this.#typingTimers.get(key));
    this.#typingTimers.delete(key);
    const { typers } = this.store.state;
    const others = (typers[id] ?? []).filter(({ who, userId }) => who !== typer.who || userId !== typer.userId);
    this.store.set({ typers: { ...typers, [id]: isTyping ? [...others, typer] : others } });
    if (isTyping)
      this.#typingTimers.set(
        key,
        setTimeout(() => this.#setTyping(id, typer, false), typingMs),
      );
  }
}

const LiveContext = createContext<InboxLive | null>(null);

/** Opens the live connection of the agent while the inbox is on the page. */
export function InboxLiveProvider({ children }: { children: ReactNode }) {
  const cache = useQueryClient();
  const rereads = useRereads();
  const { tenantId, user } = useSession();
  const userId = user.id;
  const [live, setLive] = useState<InboxLive | null>(null);
  useEffect(() => {
    const started = new InboxLive(cache, rereads, tenantId, userId);
    const stop = started.start();
    setLive(started);
    return stop;
  }, [cache, rereads, tenantId, userId]);
  return live === null ? null : <LiveContext value={live}>{children}</LiveContext>;
}

export function useInboxLive(): InboxLive {
  const live = useContext(LiveContext);
  if (live === null) throw new Error('The inbox has no live connection.');
  return live;
}
