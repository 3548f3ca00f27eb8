import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { ChatEventFollower, Product } from '../../product.ts';
import { conversationRoutes, Conversations } from './conversations/index.ts';
import { createChatEvents } from './events/index.ts';
import type { ChatEvents } from './events/index.ts';

/** Live Chat. */
export interface Chat extends Product {
  events: ChatEvents;
}

/** @param followers what other products do when something happens in a chat. */
export function createChat({ db, cursors }: Platform, followers: readonly ChatEventFollower[]): Chat {
  const events = createChatEvents(followers);
  return {
    events,
    routes: conversationRoutes(new Conversations({ db, cursors, events })),
    retention: chatRetention,
  };
}

export const chatRetention: RowRetention = {
  // A link opens nothing once its day is over; so there are never more than those that the rate limits let be minted in a day.
  expiring: [{ table: 'chat_links' }],
  // Longer than any bill that is made of it: a year and a month.
  aged: [{ table: 'usage_events', days: 400 }],
};
