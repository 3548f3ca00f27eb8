import { z } from 'zod';
import { deleted, id, idParams, invisibleName, isVisibleName, named, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

/** Filters that one user can save, for all lists together. */
export const maxSavedFilters = 50;

const memberOnly = { tag: 'Workspaces and people', callers: ['session'], role: 'agent' } as const;

const fields = {
  path: z
    .string()
    .regex(/^\/app\/[a-z][a-z/-]{0,99}$/, 'must be the path of a page of the dashboard, such as /app/runs')
    .describe('Page of the dashboard whose list the filter is for, such as `/app/runs`'),
  name: text(0, 60)
    .trim()
    .min(1, 'must not be empty')
    .refine(isVisibleName, invisibleName)
    .describe('Name of the filter, 1 to 60 characters; unique for the page'),
  query: z
    .string()
    .regex(
      /^(?!\?)[\w.~!$&'()*+,;=:@/?%-]{1,2000}$/,
      'must be the query of a URL, without ? and #, at most 2,000 characters',
    )
    .describe('Query of the page that the filter opens, without `?`, such as `status=failed&period=24h`'),
};

const savedFilter = named(
  'SavedFilter',
  z.object({
    id: id.describe('Id of the filter'),
    path: z.string().describe('Page of the dashboard whose list the filter is for'),
    name: z.string().describe('Name of the filter'),
    query: z.string().describe('Query of the page that the filter opens, without `?`'),
    createdAt: timestamp.describe('When the filter was first saved'),
  }),
  {
    id: '01980000-0000-7000-8000-000000000004',
    path: '/app/runs',
    name: 'Failed today',
    query: 'status=failed&period=24h',
    createdAt: '2026-11-28T09:00:00.000Z',
  },
);

export const savedFilters = defineResource({
  readSavedFilters: {
    ...memberOnly,
    method: 'GET',
    path: '/auth/me/filters',
    summary: 'List your saved filters',
    description: 'The filters of all pages, oldest first. Only you see them.',
    response: named(
      'SavedFilters',
      z.object({ filters: z.array(savedFilter).describe(`Your filters, at most ${maxSavedFilters}`) }),
    ),
  },
  saveFilter: {
    ...memberOnly,
    method: 'PUT',
    path: '/auth/me/filters',
    summary: 'Save a filter',
    description: `Replaces your filter of the same page and name; other filters stay. You can have at most ${maxSavedFilters} filters.`,
    body: named('SaveFilter', z.strictObject(fields), {
      path: '/app/runs',
      name: 'Failed today',
      query: 'status=failed&period=24h',
    }),
    response: savedFilter,
    errors: ['conflict'],
  },
  deleteSavedFilter: {
    ...memberOnly,
    method: 'DELETE',
    path: '/auth/me/filters/{id}',
    summary: 'Delete a saved filter',
    description: 'The list itself does not change.',
    params: idParams,
    response: deleted,
  },
});
