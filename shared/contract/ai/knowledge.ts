import { z } from 'zod';
import { chatText } from '../chat/shapes.ts';
import { deleted, id, listQuery, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

/** What a workspace's AI answers from. Texts are counted in code points. */

export const maxKnowledgeEntries = 5_000;
export const maxKnowledgeBytes = 5 * 1024 * 1024;
/** Questions without an answer that are kept. */
export const maxUnansweredQuestions = 1_000;
/** A question that nobody asks again is kept so long. */
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
    entries: z.array(knowledgeEntry).describe('In the order of their ids'),
    terms: z.string().describe('Text that is part of every prompt, at most 20,000 characters; may be empty'),
    embeddings: z
      .object({
        state: z
          .enum(['off', 'pending', 'ready', 'failing'])
          .describe(
            '`off` where the hub has no model for embeddings; `failing` while that one does not answer: it is asked again',
          ),
        done: z.int().describe('Entries that have one'),
        total: z.int().describe('Number of entries'),
      })
      .describe('Vectors by which entries are found besides their words'),
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
            id: entryId.describe('Unique among the entries; answers name it as their source'),
            question: question.describe('Question that the entry answers, 1 to 1,000 characters'),
            answer: chatText(1, 20_000).describe('Answer, 1 to 20,000 characters'),
            url: url.nullable().optional().describe('Where visitors can read more'),
            locale: locale.nullable().optional(),
          }),
        )
        .max(maxKnowledgeEntries, `must hold at most ${maxKnowledgeEntries.toLocaleString('en')} entries`)
        .describe('Replaces all entries; at most 5,000'),
      terms: chatText(0, 20_000).describe(
        'What holds for every answer, such as the terms of business; part of each prompt',
      ),
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
            message: `is the id of entries[${earlier}], too; each entry needs one of its own`,
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
    score: z.number().describe('From 0 to 1: how much of what was asked for is found in it'),
  }),
);

const unanswered = named(
  'UnansweredQuestion',
  z.object({
    id: id.describe('Id of the question'),
    question: z.string().describe('As it was asked last'),
    count: z.int().describe('How often it was asked, without regard to case, marks and punctuation'),
    firstAskedAt: timestamp,
    lastAskedAt: timestamp,
  }),
);

export const knowledgeBase = defineResource({
  getKnowledge: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/ai/knowledge',
    summary: 'Read the knowledge of the AI',
    description:
      '`ETag` is its version; a change that sends it as `If-Match` is refused when somebody changed it meanwhile.',
    params: inWorkspace,
    response: knowledge,
  },
  putKnowledge: {
    ...admin,
    liveOnly: true,
    method: 'PUT',
    path: '/tenants/{tenantId}/ai/knowledge',
    summary: 'Replace the knowledge of the AI',
    description:
      'All of it at once or, where anything is wrong, nothing; what is the same as before is not written again. `ETag` is the new version. Where `If-Match` does not fit, the answer is 412 with the present `ETag`.',
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
    summary: 'Try which passages a question finds',
    description:
      'As the AI finds them: in any language, with typos, and across languages as far as the words of customer service go, or further where the hub has a model for embeddings. Best first.',
    params: inWorkspace,
    body: z.strictObject({
      question: question.describe('Text to search for, 1 to 1,000 characters'),
      locale: locale.optional(),
      limit: z
        .int('must be a whole number')
        .min(1, 'must be from 1 to 20')
        .max(20, 'must be from 1 to 20')
        .default(5)
        .describe('Passages at most, 1 to 20'),
    }),
    response: named(
      'KnowledgePassages',
      z.object({ passages: z.array(passage).describe('Entries that match, the best first; at most `limit`') }),
    ),
  },
  listUnansweredQuestions: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/ai/knowledge/unanswered',
    summary: 'List questions that the AI could not answer',
    description: `Newest first by when each was first asked. The ${maxUnansweredQuestions.toLocaleString('en')} that were asked last are kept, each until ${unansweredQuestionDays} days after that, or until the conversation in which it was asked last is erased.`,
    params: inWorkspace,
    query: listQuery,
    response: page(unanswered),
  },
  dismissUnansweredQuestion: {
    ...agent,
    liveOnly: true,
    method: 'DELETE',
    path: '/tenants/{tenantId}/ai/knowledge/unanswered/{id}',
    summary: 'Dismiss a question without an answer',
    description: 'It comes back when it is asked again.',
    params: inWorkspace.extend({ id }),
    response: deleted,
  },
});
