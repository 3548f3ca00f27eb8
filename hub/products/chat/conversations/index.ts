export type { ChatActor } from './actor.ts';
export { awaySeconds } from './away-seconds.ts';
export { listConversations } from './conversation-list.ts';
export type { ConversationFilter } from './conversation-list.ts';
export { ConversationWriter } from './conversation-writes.ts';
export { maxPageBytes, pageOf, pageText } from './message-page.ts';
export { MessageWriter } from './message-writes.ts';
export type { NewMessage } from './message-writes.ts';
export { someAgentIsOnline } from './owner.ts';
export { markRead } from './read-marks.ts';
export {
  conversationColumns,
  messageColumns,
  presentConversation,
  presentContent,
  presentMessage,
  presentVisitor,
  visitorColumns,
} from './rows.ts';
export type { ConversationRow, MessageRow, PublicMessageRow, VisitorRow } from './rows.ts';
export { assertAttributesFit, attributesSize, upsertVisitor, splitAttributes } from './visitors.ts';
export type { AttributesSize } from './visitors.ts';
