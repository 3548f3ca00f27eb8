import { aiRuns as resource } from '../../../../shared/contract/ai/runs.ts';
import { AppError } from '../../../../shared/errors.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { AiRuns } from './service.ts';

export const aiRunRoutes = (runs: AiRuns) =>
  implement(resource, {
    createAiRun: ({ principal: { tenantId, tokenId, environment }, body, signal, conclude }) =>
      runs.create(body, { tenantId, tokenId, environment, signal, conclude }),
    listAiRuns: ({ principal, query }) => runs.list(principal.tenantId, query),
    getAiRun: ({ principal, params }) => runs.get(principal.tenantId, params.id),
    cancelAiRun: async () => {
      throw new AppError(
        'not_available',
        'Runs cannot be cancelled yet. A run ends with its request: close the connection to end it.',
      );
    },
  });
