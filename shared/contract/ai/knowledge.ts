import { z } from 'zod';
import { chatText } from '../chat/shapes.ts';
import { deleted, id, listQuery, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

/** Knowledge base of a workspace's AI. Text lengths are counted in code points. */

export const maxKnowledgeEntries = 5_000;
export const maxKnowledgeBytes = 5 * 1024 * 1024;
/** Maximum number of stored unanswered questions. */
export const maxUnansweredQuestions = 1_000;
/** Retention of an unanswered question after it was last asked, in days. */
export const unansweredQuestionDays = 90;

const agent = {
  tag: 'AI knowledge',
  callers: ['token', 'session'],
  permission: 'knowledge:manage',
  role: 'agent',
  entitlement: 'ai_agent',
} as const;
const admin = { ...agent, role: 'admin' } as const;
const inWorkspace = z.strictObject({ tenantId: id });

const entryId = chatText(1, 100);
const locale = z
  .string()
  .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/, 'must be a language code, such as de or pt-BR')
  .describe('Language code, such as de or pt-BR');
const url = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address, such as https://example.com/help' })
  .max(2000, 'must have at most 2,000 characters');
const question = chatText(1, 1_000);

const knowledgeEntry = named(
  'KnowledgeEntry',
  z.object({
    id: z.string().describe('Unique among the entries, at most 100 characters'),
    question: z.string().describe('Question that the entry answers, at most 1,000 characters'),
    answer: z.string().describe('Answer, at most 20,000 characters'),
    url: z.string().nullable().describe('Page on which visitors can read more; null without one'),
    locale: z.string().nullable().describe('Language code, such as `de` or `pt-BR`; null for any language'),
  }),
  {
    id: 'opening-hours',
    question: 'When are you open?',
    answer: 'Monday to Friday from 9 to 17 o’clock.',
    url: 'https://example.com/help/opening-hours',
    locale: 'en',
  },
);

const knowledge = named(
  'Knowledge',
  z.object({
    entries: z.array(knowledgeEntry).describe('Entries, sorted by id'),
    terms: z.string().describe('Text that is part of every prompt, at most 20,000 characters; may be empty'),
    embeddings: z
      .object({
        state: z
          .enum(['off', 'pending', 'ready', 'failing'])
          .describe(
            '`off`: the hub has no embedding model; `failing`: the embedding model does not respond and is retried',
          ),
        done: z.int().describe('Number of entries with an embedding'),
        total: z.int().describe('Number of entries'),
      })
      .describe('Embeddings, which complement the search by words'),
    updatedAt: timestamp.nullable(),
  }),
);

const putKnowledge = named(
  'PutKnowledge',
  z
    .strictObject({
      entries: z
        .array(
          z.strictObject({
            id: entryId.describe('Id of the entry, unique; answers list it as a source'),
            question: question.describe('Question that the entry answers, 1 to 1,000 characters'),
            answer: chatText(1, 20_000).describe('Answer, 1 to 20,000 characters'),
            url: url.nullable().optional().describe('Page on which visitors can read more'),
            locale: locale.nullable().optional(),
          }),
        )
        .max(maxKnowledgeEntries, `must have at most ${maxKnowledgeEntries.toLocaleString('en')} entries`)
        .describe('Replaces all entries; at most 5,000'),
      terms: chatText(0, 20_000).describe('Text that is part of every prompt, such as terms of business'),
    })
    .superRefine(({ entries }, context) => {
      const first = new Map<string, number>();
      entries.forEach((entry, index) => {
        const earlier = first.get(entry.id);
        if (earlier === undefined) first.set(entry.id, index);
        else
          context.addIssue({
            code: 'custom',
            path: ['entries', index, 'id'],
            message: `is also the id of entries[${earlier}]; each entry needs a unique id`,
          });
      });
    }),
  {
    entries: [
      {
        id: 'opening-hours',
        question: 'When are you open?',
        answer: 'Monday to Friday from 9 to 17 o’clock.',
        url: 'https://example.com/help/opening-hours',
        locale: 'en',
      },
    ],
    terms: 'Prices include VAT.',
  },
);

const passage = named(
  'KnowledgePassage',
  z.object({
    id: z.string().describe('Id of the entry'),
    question: z.string().describe('Question that the entry answers'),
    answer: z.string().describe('Answer of the entry'),
    url: z.string().nullable().describe('Page on which visitors can read more; null without one'),
    locale: z.string().nullable().describe('Language code of the entry; null for any language'),
    score: z.number().describe('Relevance to the question, 0 to 1'),
  }),
);

const unanswered = named(
  'UnansweredQuestion',
  z.object({
    id: id.describe('Id of the question'),
    question: z.string().describe('Question, as last asked'),
    count: z.int().describe('How often it was asked, ignoring case, accents and punctuation'),
    firstAskedAt: timestamp,
    lastAskedAt: timestamp,
  }),
);

export const knowledgeBase = defineResource({
  getKnowledge: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/ai/knowledge',
    summary: 'Get the AI knowledge',
    description:
      '`ETag` is the version. Send it as `If-Match` with an update: the update is refused if the knowledge has changed since.',
    params: inWorkspace,
    response: knowledge,
  },
  putKnowledge: {
    ...admin,
    liveOnly: true,
    method: 'PUT',
    path: '/tenants/{tenantId}/ai/knowledge',
    summary: 'Replace the AI knowledge',
    description:
      'Replaces everything in one transaction, or nothing if any entry is invalid. Unchanged entries are not written again. `ETag` is the new version. If `If-Match` does not match, the response is 412 with the current `ETag`.',
    params: inWorkspace,
    ifMatch: 'precondition_failed',
    body: putKnowledge,
    bodyLimitBytes: maxKnowledgeBytes,
    response: knowledge,
  },
  searchKnowledge: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/ai/knowledge/search',
    summary: 'Search the AI knowledge',
    description:
      'Uses the same search as the AI. It works in any language and tolerates typos. It finds common customer service words across languages; with an embedding model, it finds more across languages. Best matches first.',
    params: inWorkspace,
    body: z.strictObject({
      question: question.describe('Text to search for, 1 to 1,000 characters'),
      locale: locale.optional(),
      limit: z
        .int('must be a whole number')
        .min(1, 'must be from 1 to 20')
        .max(20, 'must be from 1 to 20')
        .default(5)
        .describe('Maximum number of passages, 1 to 20'),
    }),
    response: named(
      'KnowledgePassages',
      z.object({ passages: z.array(passage).describe('Matching entries, best first; at most `limit`') }),
    ),
  },
  listUnansweredQuestions: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/ai/knowledge/unanswered',
    summary: 'List unanswered questions',
    description: `Questions that the AI could not answer, sorted by when each was first asked, newest first. The ${maxUnansweredQuestions.toLocaleString('en')} most recently asked are kept. A question is deleted ${unansweredQuestionDays} days after it was last asked, or when the conversation in which it was last asked is erased.`,
    params: inWorkspace,
    query: listQuery,
    response: page(unanswered),
  },
  dismissUnansweredQuestion: {
    ...agent,
    liveOnly: true,
    method: 'DELETE',
    path: '/tenants/{tenantId}/ai/knowledge/unanswered/{id}',
    summary: 'Dismiss an unanswered question',
    description: 'The question is listed again if it is asked again.',
    params: inWorkspace.extend({ id }),
    response: deleted,
  },
});
