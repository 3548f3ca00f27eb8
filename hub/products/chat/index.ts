export type { ChatEvents } from './events/index.ts';
export { createChat } from './product.ts';
export type { Chat } from './product.ts';
