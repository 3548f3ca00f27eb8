import type { ChatEventType } from '../shared/contract/chat/chat-events.ts';
import type { JsonObject } from '../shared/json.ts';
import type { Skill } from './engine/skill.ts';
import type { Transaction } from './platform/db/database.ts';
import type { RowRetention } from './platform/db/row-retention.ts';
import type { WaitRoute } from './platform/http/live/long-polls.ts';
import type { SocketRoute } from './platform/http/live/sockets.ts';
import type { Page } from './platform/http/pages/page.ts';
import type { Route } from './platform/http/routing/implement.ts';
import type { PeriodicTask } from './platform/process/periodic-tasks.ts';

/** What a product offers the hub that it is part of; what it leaves out it has none of. */
export interface Product {
  /** Operations of the API. */
  routes?: readonly Route[];
  /** Operations of the API that become WebSockets. */
  sockets?: readonly SocketRoute[];
  /** Operations of `routes` whose requests wait. */
  waits?: readonly WaitRoute[];
  /** Pages beside the API. */
  pages?: readonly Page[];
  /** What steps of workflows and agents can call. */
  skills?: readonly Skill[];
  /** What the one process that leads does from time to time. */
  tasks?: readonly PeriodicTask[];
  /** What it does when something happens in a chat. */
  followers?: readonly ChatEventFollower[];
  /** What it forgets when conversations are erased. */
  erasers?: readonly ConversationEraser[];
  /** How long its rows stay. */
  retention?: RowRetention;
}

/** An event of Live Chat, as its followers get it. */
export interface ChatEvent {
  tenantId: string;
  type: ChatEventType;
  /** The same for every follower and every retry. */
  eventId: string;
  payload: JsonObject;
  /** Runs that led to it: 0 for what a person did. */
  depth: number;
}

/** Follows events, in the transaction of what caused them; what it answers is called after the commit. */
export type ChatEventFollower = (tx: Transaction, event: ChatEvent) => Promise<() => void>;

/**
 * Forgets some of what is kept of conversations that are about to be erased, in a transaction that has locked them; does not wait for others.
 * Answers whether there may be more: then it is called again, in another transaction, before they go.
 */
export type ConversationEraser = (
  tx: Transaction,
  tenantId: string,
  conversationIds: readonly string[],
) => Promise<boolean>;

/** An inbound message of a channel, for Live Chat. */
export interface ChannelMessage {
  channelId: string;
  /** The source of a conversation that the message opens: the name of the channel. */
  source: string;
  environment: 'live' | 'test';
  /** Identifies the sender within the channel. */
  sender: string;
  senderName: string;
  /** Where replies are sent, as the provider names it. */
  replyTo: string;
  text: string;
}

/** Live Chat, as channels use it. Both functions work in the caller's transaction. */
export interface ChannelConversations {
  /**
   * Writes a message into the sender's conversation, and opens one if needed. Call the result after the commit.
   * Null for a blocked visitor, whose message is not written.
   */
  receive(tx: Transaction, tenantId: string, message: ChannelMessage): Promise<(() => void) | null>;
  /**
   * Where a reply to a visitor is sent; null for a visitor of no channel. An automatic reply counts towards `automaticReplies`,
   * the automatic replies of the last hour.
   */
  replyAddress(
    tx: Transaction,
    visitorId: string,
    isAutomatic: boolean,
  ): Promise<{ channelId: string; replyTo: string; automaticReplies: number } | null>;
}
