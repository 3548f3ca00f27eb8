import { sequences as resource } from '../../../../shared/contract/automations/sequences.ts';
import { actorOf, runCallerOf } from '../../../platform/http/auth/principal.ts';
import { expectedVersions, withETag } from '../../../platform/http/routing/if-match.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Sequences } from './sequences.ts';

export const sequenceRoutes = (sequences: Sequences) =>
  implement(resource, {
    listAutomationSequences: ({ principal, query }) => sequences.list(principal.tenantId, query),
    createAutomationSequence: ({ principal, body }) => sequences.create(principal.tenantId, body, actorOf(principal)),
    getAutomationSequence: async ({ principal, params, raw: { response } }) =>
      withETag(response, await sequences.get(principal.tenantId, params.id)),
    updateAutomationSequence: async ({ principal, params, body, headers, raw: { response } }) =>
      withETag(
        response,
        await sequences.update(principal.tenantId, params.id, body, actorOf(principal), expectedVersions(headers)),
      ),
    deleteAutomationSequence: ({ principal, params }) =>
      sequences.delete(principal.tenantId, params.id, actorOf(principal)),
    runAutomationSequence: ({ principal, params, body }) =>
      sequences.run(principal.tenantId, params.id, body, runCallerOf(principal)),
  });
