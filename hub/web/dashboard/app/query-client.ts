import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { isTransient, retryDelay } from './api.ts';
import { noteFailure } from './session-state.ts';

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noteFailure }),
  mutationCache: new MutationCache({ onError: noteFailure }),
  defaultOptions: {
    // The hub can be reached without an Internet connection, and an action never runs later by itself.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      // Workspace events report changes earlier.
      staleTime: 30_000,
      retry: (failures, error) => failures < 3 && isTransient(error),
      retryDelay,
    },
  },
});
