export type { ChatEvents } from './chat-events.ts';
export { createChat } from './product.ts';
