import type { ChatEventFollower, Product } from '../../product.ts';
import { createChatEvents } from './chat-events.ts';
import type { ChatEvents } from './chat-events.ts';

/** Live Chat: for now the events that it tells. */
export interface Chat extends Product {
  events: ChatEvents;
}

/** @param followers what other products do when something happens in a chat. */
export const createChat = (followers: readonly ChatEventFollower[]): Chat => ({ events: createChatEvents(followers) });
