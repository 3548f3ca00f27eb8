import { sessions as resource } from '../../../../shared/contract/automations/sessions.ts';
import { runCallerOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Sessions } from './sessions.ts';

export const sessionRoutes = (sessions: Sessions) =>
  implement(resource, {
    listAutomationSessions: ({ principal, query }) => sessions.list(principal.tenantId, query),
    createAutomationSession: ({ principal, body }) =>
      sessions.create(principal.tenantId, body, runCallerOf(principal).environment),
    getAutomationSession: ({ principal, params, query }) => sessions.get(principal.tenantId, params.id, query),
    appendAutomationSessionMessage: ({ principal, params, body }) =>
      sessions.append(principal.tenantId, params.id, body, runCallerOf(principal).environment),
  });
