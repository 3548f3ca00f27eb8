import { aiUsageResource as resource } from '../../../../shared/contract/ai/usage.ts';
import type { Database } from '../../../platform/db/database.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Budgets } from './budgets.ts';
import { readUsage } from './report.ts';

export const usageRoutes = (db: Database, budgets: Budgets) =>
  implement(resource, {
    getAiUsage: ({ principal, query }) => readUsage(db, principal.tenantId, query),
    getAiBudget: ({ principal }) => budgets.show(principal.tenantId),
    putAiBudget: ({ principal, body }) => budgets.put(principal.tenantId, body, actorOf(principal)),
  });
