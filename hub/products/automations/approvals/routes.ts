import { approvals as resource } from '../../../../shared/contract/automations/approvals.ts';
import { acceptedPermissions } from '../../../../shared/contract/define.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import type { Principal } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { ContextReader } from './contexts.ts';
import type { Decider } from './deciders.ts';
import type { Approvals } from './service.ts';

/**
 * The decider of a request. `automations:manage` allows a key to decide; only `approvals:decide` counts as explicit.
 */
const deciderOf = (principal: Caller): Decider =>
  principal.kind === 'session'
    ? { kind: 'user', actor: actorOf(principal), userId: principal.user.id, email: principal.user.email }
    : {
        kind: 'token',
        actor: actorOf(principal),
        tokenId: principal.tokenId,
        environment: principal.environment,
        mayDecideExplicitly: principal.permissions.includes('approvals:decide'),
      };

type Caller = Extract<Principal, { kind: 'token' | 'session' }>;

const readerOf = (principal: Caller): ContextReader => ({
  decider: deciderOf(principal),
  hasPermission:
    principal.kind === 'session' ||
    acceptedPermissions(resource.decideAutomationApproval).some((each) => principal.permissions.includes(each)),
});

export const approvalRoutes = (approvals: Approvals) =>
  implement(resource, {
    listAutomationApprovals: ({ principal, query }) => approvals.list(principal.tenantId, query),
    listAutomationApprovalSummaries: ({ principal, query }) =>
      approvals.listSummaries(principal.tenantId, query, readerOf(principal)),
    getAutomationApproval: ({ principal, params }) => approvals.get(principal.tenantId, params.id, readerOf(principal)),
    decideAutomationApproval: ({ principal, params, body }) =>
      approvals.decide(principal.tenantId, params.id, body, deciderOf(principal)),
  });
