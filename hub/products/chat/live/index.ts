export { AgentDoors } from './agent-doors.ts';
export { LiveChat } from './live-chat.ts';
export { liveRoutes, liveSockets } from './routes.ts';
export { VisitorDoors } from './visitor-doors.ts';
export { VisitorMarks } from './visitor-marks.ts';
