import { approvals as resource } from '../../../../shared/contract/automations/approvals.ts';
import { implement } from '../../../platform/http/implement.ts';
import { actorOf } from '../../../platform/http/principal.ts';
import type { Principal } from '../../../platform/http/principal.ts';
import type { Approvals, Decider } from './service.ts';

/** Who decides: a person by their address, or whoever holds a key. */
const deciderOf = (principal: Extract<Principal, { kind: 'token' | 'session' }>): Decider =>
  principal.kind === 'session'
    ? { kind: 'user', actor: actorOf(principal), email: principal.user.email }
    : { kind: 'token', actor: actorOf(principal) };

export const approvalRoutes = (approvals: Approvals) =>
  implement(resource, {
    listAutomationApprovals: ({ principal, query }) => approvals.list(principal.tenantId, query),
    decideAutomationApproval: ({ principal, params, body }) =>
      approvals.decide(principal.tenantId, params.id, body, deciderOf(principal)),
  });
