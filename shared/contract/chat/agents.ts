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
    description:
      'Returns all members in one response, oldest first. A member without a live connection is `offline`, whatever presence the member set.',
    params: inWorkspace,
    response: named('ChatAgents', z.object({ data: z.array(chatAgent).describe('Members of the workspace') })),
  },
  setChatPresence: {
    ...agent,
    method: 'PUT',
    path: '/tenants/{tenantId}/chat/presence',
    summary: 'Set your presence',
    description:
      'The presence is stored and applies whenever you have a live connection; without one, the response has `offline`. With `online`, waiting conversations are assigned to available agents if automatic assignment is on.',
    params: inWorkspace,
    body: z.strictObject({
      presence: z.enum(presences, 'must be online or away').describe('`away` stops automatic assignment to you'),
    }),
    response: chatAgent,
  },
});
