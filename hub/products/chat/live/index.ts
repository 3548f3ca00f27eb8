export { AgentDoors } from './agent-doors.ts';
export { createChatChanges } from './changes.ts';
export type { ChatChanges } from './changes.ts';
export { LiveChat } from './live-chat.ts';
export { liveRoutes, liveSockets } from './routes.ts';
export { VisitorDoors } from './visitor-doors.ts';
