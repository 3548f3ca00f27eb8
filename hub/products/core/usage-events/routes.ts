import { usageEvents as resource } from '../../../../shared/contract/core/usage-events.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { UsageEvents } from './service.ts';

export const usageEventRoutes = (usageEvents: UsageEvents) =>
  implement(resource, {
    listUsageEvents: ({ principal, query }) => usageEvents.list(principal.tenantId, query),
    getUsageTotals: ({ principal, query }) => usageEvents.totals(principal.tenantId, query),
  });
