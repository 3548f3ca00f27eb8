import { chatAgents } from '../../../../shared/contract/chat/agents.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { AgentPresences } from './presences.ts';

export const agentRoutes = (presences: AgentPresences) =>
  implement(chatAgents, {
    listChatAgents: ({ principal }) => presences.list(principal.tenantId),
    setChatPresence: ({ principal, body }) => presences.set(principal.tenantId, principal.user.id, body.presence),
  });
