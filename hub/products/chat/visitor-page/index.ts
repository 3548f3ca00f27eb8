export { VisitorEntry } from './entry.ts';
export type { AnonymousVisitorLimits } from './entry.ts';
export { visitorPageRoutes } from './routes.ts';
export { SessionOpenings } from './session-openings.ts';
export { VisitorSessions } from './sessions.ts';
export { VisitorChat } from './visitor-chat.ts';
export { presentVisitorConversation, visitorViewColumns, visitorViewJoins } from './view.ts';
export type { VisitorViewRow } from './view.ts';
