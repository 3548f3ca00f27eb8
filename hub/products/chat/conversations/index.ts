export { conversationRoutes } from './routes.ts';
export { Conversations } from './service.ts';
