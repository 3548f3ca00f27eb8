import { agents as resource, toolProfiles } from '../../../../shared/contract/automations/agents.ts';
import { actorOf, runCallerOf } from '../../../platform/http/auth/principal.ts';
import { expectedVersions, withETag } from '../../../platform/http/routing/if-match.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import { testKeyNotAllowed } from '../test-keys/index.ts';
import type { Agents } from './agents.ts';
import type { ToolProfiles } from './tool-profiles.ts';

export const agentRoutes = (agents: Agents, profiles: ToolProfiles) => [
  ...implement(resource, {
    listAutomationAgents: ({ principal, query }) => agents.list(principal.tenantId, query),
    async createAutomationAgent({ principal, body }) {
      const { actor, environment } = runCallerOf(principal);
      if (environment === 'test' && body.routeKeys.length > 0)
        throw testKeyNotAllowed('which agent answers live messages, so it cannot set routeKeys');
      return agents.create(principal.tenantId, body, actor);
    },
    getAutomationAgent: async ({ principal, params, raw: { response } }) =>
      withETag(response, await agents.get(principal.tenantId, params.id)),
    updateAutomationAgent: async ({ principal, params, body, headers, raw: { response } }) =>
      withETag(
        response,
        await agents.update(principal.tenantId, params.id, body, actorOf(principal), expectedVersions(headers)),
      ),
    deleteAutomationAgent: ({ principal, params }) => agents.delete(principal.tenantId, params.id, actorOf(principal)),
  }),
  ...implement(toolProfiles, {
    listAutomationToolProfiles: ({ principal, query }) => profiles.list(principal.tenantId, query),
    putAutomationToolProfile: ({ principal, body }) => profiles.put(principal.tenantId, body, actorOf(principal)),
    getAutomationToolProfile: ({ principal, params }) => profiles.get(principal.tenantId, params.id),
    deleteAutomationToolProfile: ({ principal, params }) =>
      profiles.delete(principal.tenantId, params.id, actorOf(principal)),
  }),
];
