export { createChatEvents } from './chat-events.ts';
export type { ChatEvents } from './chat-events.ts';
