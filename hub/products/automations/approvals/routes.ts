import { approvals as resource } from '../../../../shared/contract/automations/approvals.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import type { Principal } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Decider } from './deciders.ts';
import type { Approvals } from './service.ts';

/**
 * The decider of a request. `automations:manage` allows a key to decide; only `approvals:decide` counts as explicit.
 */
const deciderOf = (principal: Extract<Principal, { kind: 'token' | 'session' }>): Decider =>
  principal.kind === 'session'
    ? { kind: 'user', actor: actorOf(principal), userId: principal.user.id, email: principal.user.email }
    : {
        kind: 'token',
        actor: actorOf(principal),
        tokenId: principal.tokenId,
        environment: principal.environment,
        mayDecideExplicitly: principal.permissions.includes('approvals:decide'),
      };

export const approvalRoutes = (approvals: Approvals) =>
  implement(resource, {
    listAutomationApprovals: ({ principal, query }) => approvals.list(principal.tenantId, query),
    getAutomationApproval: ({ principal, params }) => approvals.get(principal.tenantId, params.id),
    decideAutomationApproval: ({ principal, params, body }) =>
      approvals.decide(principal.tenantId, params.id, body, deciderOf(principal)),
  });
