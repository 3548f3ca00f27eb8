export { VisitorEntry } from './entry.ts';
export { visitorPageRoutes } from './routes.ts';
export { VisitorSessions } from './sessions.ts';
export { VisitorChat } from './visitor-chat.ts';
