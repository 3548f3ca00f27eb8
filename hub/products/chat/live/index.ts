export { AgentSocketGateway } from './agent-socket-gateway.ts';
export { LiveChat } from './live-chat.ts';
export { liveRoutes, liveSockets } from './routes.ts';
export { VisitorSocketGateway } from './visitor-socket-gateway.ts';
export { VisitorMarks } from './visitor-marks.ts';
