export { ChatEvents } from './chat-events.ts';
export type { ChatEvent } from './chat-events.ts';
