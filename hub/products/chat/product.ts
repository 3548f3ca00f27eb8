import type { Platform } from '../../platform/open-platform.ts';
import type { ChatEventFollower, Product } from '../../product.ts';
import { createChatEvents } from './chat-events.ts';
import type { ChatEvents } from './chat-events.ts';
import { conversationRoutes, Conversations } from './conversations/index.ts';

/** Live Chat. */
export interface Chat extends Product {
  events: ChatEvents;
}

/** @param followers what other products do when something happens in a chat. */
export function createChat({ db, cursors }: Platform, followers: readonly ChatEventFollower[]): Chat {
  const events = createChatEvents(followers);
  return { events, routes: conversationRoutes(new Conversations({ db, cursors, events })) };
}
