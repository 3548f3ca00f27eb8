export { Erasure } from './erasure.ts';
export { removeAgedConversations } from './retention.ts';
export { peopleRoutes } from './routes.ts';
export { Visitors } from './visitors.ts';
