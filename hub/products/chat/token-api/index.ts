export { Conversations } from './conversations.ts';
export { conversationRoutes } from './routes.ts';
