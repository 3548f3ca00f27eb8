export type { ChatActor } from './actor.ts';
export { ConversationWriter } from './conversation-writes.ts';
export type { ChangedConversation } from './conversation-writes.ts';
export { MessageWriter } from './message-writes.ts';
export { conversationRoutes } from './routes.ts';
export { Conversations } from './service.ts';
export {
  conversationColumns,
  messageColumns,
  presentConversation,
  presentMessage,
  presentVisitor,
  visitorColumns,
} from './rows.ts';
export type { ConversationRow, MessageRow, PublicMessageRow, VisitorRow } from './rows.ts';
export { assertAttributesFit, attributesSize, splitAttributes } from './visitors.ts';
export type { AttributesSize } from './visitors.ts';
