export { cannedReplyRoutes } from './routes.ts';
export { CannedReplies } from './service.ts';
