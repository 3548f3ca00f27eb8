import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../../../../../shared/client/client.ts';
import type { Knowledge } from '../../../../../shared/client/operations.ts';
import { client, keyOf } from '../../app/api.ts';
import { useTenantId } from '../../app/session.tsx';

/** How often a change is repeated because someone else changed the knowledge at the same time. */
const maxConflicts = 5;

/** Returns the new content for the stored one. */
export type KnowledgeUpdate = (stored: Knowledge) => Pick<Knowledge, 'entries' | 'terms'>;

/** Applies a change to the stored knowledge. The change of a colleague at the same time is kept. */
export function useChangeKnowledge() {
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const input = { params: { tenantId } };
  return useMutation<Knowledge, Error, KnowledgeUpdate>({
    mutationFn: async (update) => {
      for (let conflicts = 0; ; conflicts += 1) {
        const response = await client.open('getKnowledge', input);
        const { entries, terms } = update((await response.json()) as Knowledge);
        try {
          return await client.call(
            'putKnowledge',
            { ...input, body: { entries, terms } },
            { headers: { 'if-match': response.headers.get('etag') ?? '' } },
          );
        } catch (error) {
          if (!(error instanceof ApiError) || error.status !== 412 || conflicts === maxConflicts) throw error;
        }
      }
    },
    onSuccess: (stored) => cache.setQueryData(keyOf('getKnowledge', input), stored),
  });
}
