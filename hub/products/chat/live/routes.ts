import { chatSockets, chatStreams } from '../../../../shared/contract/chat/live.ts';
import { implementSocket } from '../../../platform/http/live/sockets.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { AgentSocketGateway } from './agent-socket-gateway.ts';
import type { VisitorSocketGateway } from './visitor-socket-gateway.ts';

export const liveRoutes = (visitors: VisitorSocketGateway, agents: AgentSocketGateway) =>
  implement(chatStreams, {
    streamVisitorEvents: (request) => visitors.openStream(request),
    streamInboxEvents: (request) => agents.openStream(request),
  });

export const liveSockets = (visitors: VisitorSocketGateway, agents: AgentSocketGateway) => [
  implementSocket(chatSockets.connectVisitor, (opened) => visitors.openSocket(opened)),
  implementSocket(chatSockets.connectAgent, (opened) => agents.openSocket(opened)),
];
