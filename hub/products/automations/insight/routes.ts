import { insight as resource } from '../../../../shared/contract/automations/insight.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Insight } from './insight.ts';

export const insightRoutes = (insight: Insight) =>
  implement(resource, {
    getAutomationSlo: ({ principal, query }) => insight.slo(principal.tenantId, query.window),
    getAutomationOnboarding: ({ principal }) => insight.onboarding(principal.tenantId),
  });
