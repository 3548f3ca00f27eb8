import { z } from 'zod';
import { id, named } from '../common.ts';
import { defineResource } from '../define.ts';
import { chatAgent, presences } from './agent-shapes.ts';

/** Who of a workspace takes conversations. */

const tenantParams = z.strictObject({ tenantId: id });
const agent = {
  tag: 'Live Chat inbox',
  callers: ['session'],
  role: 'agent',
  entitlement: 'conversations_suite',
} as const;

export const chatAgents = defineResource({
  listChatAgents: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/agents',
    summary: 'List the members, with who is there',
    params: tenantParams,
    response: named('ChatAgents', z.object({ data: z.array(chatAgent) })),
  },
  setChatPresence: {
    ...agent,
    method: 'PUT',
    path: '/tenants/{tenantId}/chat/presence',
    summary: 'Say whether you take conversations',
    params: tenantParams,
    body: z.strictObject({ presence: z.enum(presences, 'must be online or away') }),
    response: chatAgent,
  },
});
