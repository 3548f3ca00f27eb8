export { foldDoneCounts } from './done-counts.ts';
export { Inbox } from './inbox.ts';
export { inboxRoutes } from './routes.ts';
export {
  inboxColumns,
  inboxJoins,
  inboxVisitorColumns,
  presentInboxConversation,
  presentInboxMessage,
  presentInboxVisitor,
} from './rows.ts';
export type { InboxConversationRow, InboxVisitorRow } from './rows.ts';
