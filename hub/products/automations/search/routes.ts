import { search as resource } from '../../../../shared/contract/automations/search.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Search } from './search.ts';

export const searchRoutes = (search: Search) =>
  implement(resource, {
    searchWorkspace: async ({ principal, query }) => ({ data: await search.find(principal.tenantId, query) }),
  });
