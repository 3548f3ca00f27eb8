export { Inbox } from './inbox.ts';
export { inboxRoutes } from './routes.ts';
export type { Viewing } from './viewing.ts';
