import { z } from 'zod';
import { id, named, text } from '../common.ts';
import { defineResource } from '../define.ts';

export const searchedTypes = ['workflow', 'sequence', 'agent', 'node', 'channel', 'run', 'approval'] as const;

const searchResult = named(
  'SearchResult',
  z.object({
    type: z.enum(searchedTypes).describe('What was found'),
    id: id.describe('Id of what was found'),
    title: z.string().describe('Name; of a run the name of its workflow, of an approval its question'),
    detail: z
      .string()
      .nullable()
      .meta({ example: 'failed' })
      .describe('Status of a run or approval, provider of a channel; null for other types'),
  }),
);
export type SearchResult = z.output<typeof searchResult>;

export const search = defineResource({
  searchWorkspace: {
    tag: 'Dashboard',
    callers: ['token', 'session'],
    permission: 'automations:read',
    role: 'agent',
    method: 'GET',
    path: '/tenants/{tenantId}/search',
    summary: 'Search a workspace by name or id',
    description:
      'Finds workflows, sequences, agents, nodes and channels whose names contain the text, in any letter case. Names that start with it come first. Text of 8 or more characters of a UUID finds everything whose id starts with it, also runs and approvals.',
    params: z.strictObject({ tenantId: id }),
    query: z.strictObject({
      q: text(1, 200).describe('Part of a name, or the start of an id'),
      limit: z.coerce
        .number('must be a whole number from 1 to 20')
        .int('must be a whole number from 1 to 20')
        .min(1, 'must be from 1 to 20')
        .max(20, 'must be from 1 to 20')
        .default(5)
        .describe('Maximum number of results of each type'),
    }),
    response: named(
      'SearchResults',
      z.object({ data: z.array(searchResult).describe('Results by type, in the order of the types') }),
    ),
  },
});
