import { modelConfigurations as resource } from '../../../../shared/contract/ai/models.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Ai } from './models.ts';

export const modelRoutes = (ai: Ai) =>
  implement(resource, {
    getAutomationModels: ({ principal }) => ai.getModels(principal.tenantId),
    putAutomationModels: ({ principal, body }) => ai.putModels(principal.tenantId, body, actorOf(principal)),
  });
