import { chatSockets, chatStreams } from '../../../../shared/contract/chat/live.ts';
import { implementSocket } from '../../../platform/http/live/sockets.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { AgentDoors } from './agent-doors.ts';
import type { VisitorDoors } from './visitor-doors.ts';

export const liveRoutes = (visitors: VisitorDoors, agents: AgentDoors) =>
  implement(chatStreams, {
    streamVisitorEvents: (request) => visitors.openStream(request),
    streamInboxEvents: (request) => agents.openStream(request),
  });

export const liveSockets = (visitors: VisitorDoors, agents: AgentDoors) => [
  implementSocket(chatSockets.connectVisitor, (opened) => visitors.openSocket(opened)),
  implementSocket(chatSockets.connectAgent, (opened) => agents.openSocket(opened)),
];
