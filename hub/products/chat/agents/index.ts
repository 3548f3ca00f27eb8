export { AgentPresences } from './presences.ts';
export { agentRoutes } from './routes.ts';
