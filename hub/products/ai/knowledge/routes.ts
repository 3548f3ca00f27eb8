import { knowledgeBase as resource } from '../../../../shared/contract/ai/knowledge.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { expectedVersions, withETag } from '../../../platform/http/routing/if-match.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Knowledge, PresentedKnowledge } from './knowledge.ts';

const present = ({ version: _version, ...knowledge }: PresentedKnowledge) => knowledge;

export const knowledgeRoutes = (knowledge: Knowledge) =>
  implement(resource, {
    getKnowledge: async ({ principal, raw }) =>
      present(withETag(raw.response, await knowledge.get(principal.tenantId))),
    putKnowledge: async ({ principal, body, headers, raw }) =>
      present(
        withETag(
          raw.response,
          await knowledge.put({
            tenantId: principal.tenantId,
            body,
            expected: expectedVersions(headers),
            actor: actorOf(principal),
          }),
        ),
      ),
    searchKnowledge: async ({ principal, body: { question, ...options }, signal }) => ({
      passages: await knowledge.retrieve(principal.tenantId, question, { ...options, signal }),
    }),
    listUnansweredQuestions: ({ principal, query }) => knowledge.unanswered.list(principal.tenantId, query),
    dismissUnansweredQuestion: ({ principal, params }) => knowledge.unanswered.dismiss(principal.tenantId, params.id),
  });
