import { policies as resource } from '../../../../shared/contract/automations/policies.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { expectedVersions, withETag } from '../../../platform/http/routing/if-match.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Policies } from './policies.ts';

export const policyRoutes = (policies: Policies) =>
  implement(resource, {
    getAutomationPolicy: async ({ principal, raw: { response } }) =>
      withETag(response, await policies.get(principal.tenantId)),
    putAutomationPolicy: async ({ principal, body, headers, raw: { response } }) =>
      withETag(
        response,
        await policies.put(principal.tenantId, body, {
          actor: actorOf(principal),
          isUser: principal.kind === 'session',
          expected: expectedVersions(headers),
        }),
      ),
  });
