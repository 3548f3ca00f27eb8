import { z } from 'zod';
import { id, idParams, listQuery, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { workflow } from './workflows.ts';

const manage = {
  tag: 'Workflows',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

const deletedWorkflow = named(
  'DeletedWorkflow',
  z.object({
    id: id.describe('Id of the workflow'),
    name: z.string().describe('Display name, at most 200 characters'),
    version: z.int().min(1).describe('Last version'),
    environment: z.enum(['live', 'test']).describe('`test` if all its runs were test runs'),
    createdAt: timestamp,
    deletedAt: timestamp,
  }),
);
export type DeletedWorkflow = z.output<typeof deletedWorkflow>;

export const deletedWorkflows = defineResource({
  listDeletedAutomationWorkflows: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/deleted-workflows',
    summary: 'List deleted workflows',
    description: 'The last deleted one first. Workflows of sequences and agents are not listed.',
    query: listQuery,
    response: page(deletedWorkflow),
  },
  restoreAutomationWorkflow: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/workflows/{id}/restore',
    summary: 'Restore a deleted workflow',
    description:
      'The workflow has its id, its versions and its runs again. It is inactive: activate it to start runs. Deleted workflows are kept. A workflow that belongs to a sequence or an agent cannot be restored.',
    params: idParams,
    response: workflow,
    errors: ['workflow_invalid', 'workspace_limit_reached', 'test_key_not_allowed'],
  },
});
