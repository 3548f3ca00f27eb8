import { z } from 'zod';
import { named } from '../common.ts';
import { defineResource } from '../define.ts';
import { chatAgent, presences } from './agent-shapes.ts';
import { agent, inWorkspace } from './callers.ts';

/** Agents of a workspace and their presence. */

export const chatAgents = defineResource({
  listChatAgents: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/agents',
    summary: 'List members with their presence',
    params: inWorkspace,
    response: named('ChatAgents', z.object({ data: z.array(chatAgent).describe('Members of the workspace') })),
  },
  setChatPresence: {
    ...agent,
    method: 'PUT',
    path: '/tenants/{tenantId}/chat/presence',
    summary: 'Set your presence',
    params: inWorkspace,
    body: z.strictObject({
      presence: z.enum(presences, 'must be online or away').describe('`away` stops automatic assignment to you'),
    }),
    response: chatAgent,
  },
});
