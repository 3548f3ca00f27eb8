import { policies as resource } from '../../../../shared/contract/automations/policies.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Policies } from './policies.ts';

export const policyRoutes = (policies: Policies) =>
  implement(resource, {
    getAutomationPolicy: ({ principal }) => policies.get(principal.tenantId),
    putAutomationPolicy: ({ principal, body }) =>
      policies.put(principal.tenantId, body, { actor: actorOf(principal), isUser: principal.kind === 'session' }),
  });
