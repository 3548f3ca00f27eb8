export { createChat } from './product.ts';
export type { ChatEvent, ChatEventFollower, ChatEvents } from './chat-events.ts';
