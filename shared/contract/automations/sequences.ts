import { z } from 'zod';
import { deleted, id, idParams, listQuery, name, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { runStatuses } from './run-status.ts';
import { step, steps } from './steps.ts';
import { runBody } from './workflows.ts';

const manage = {
  tag: 'Sequences',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

export const sequence = named(
  'Sequence',
  z.object({
    id: id.describe('Id of the sequence'),
    name: z.string().describe('Display name, at most 200 characters'),
    steps: z
      .array(step)
      .describe('Steps in the order in which they run; each can wait `delaySeconds` before it starts'),
    workflowId: id.nullable().describe('Workflow that executes the sequence; null before its first run'),
    version: z.int().min(1).describe('Version, from 1; each change increases it'),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);
export type Sequence = z.output<typeof sequence>;

export const createSequenceBody = named(
  'CreateSequence',
  z.strictObject({
    name: name.describe('Display name, 1 to 200 characters'),
    steps: steps.describe('Steps in the order in which they run, 1 to 200'),
  }),
  {
    name: 'Welcome',
    steps: [
      { type: 'log', message: 'day one' },
      { type: 'log', message: 'day two', delaySeconds: 86_400 },
    ],
  },
);
export const updateSequenceBody = named(
  'UpdateSequence',
  z
    .strictObject({
      name: name.optional().describe('Display name, 1 to 200 characters'),
      steps: steps.optional().describe('Replaces all steps; 1 to 200'),
    })
    .refine(
      (body) => Object.values(body).some((value) => value !== undefined),
      'must have at least one of name, steps',
    ),
  { name: 'Welcome' },
);

export const sequences = defineResource({
  listAutomationSequences: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/sequences',
    summary: 'List sequences',
    description: 'Newest first, with their steps. A page ends early when it would exceed 4 MiB.',
    query: listQuery,
    response: page(sequence),
  },
  createAutomationSequence: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/sequences',
    summary: 'Create a sequence',
    description:
      'Every step is validated, as in a workflow, but nothing runs. The first run creates the workflow that executes the sequence.',
    body: createSequenceBody,
    response: sequence,
    errors: ['workflow_invalid', 'product_not_entitled', 'workspace_limit_reached'],
  },
  getAutomationSequence: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/sequences/{id}',
    summary: 'Get a sequence',
    description: '`ETag` is the version. Send it as `If-Match` with an update.',
    params: idParams,
    response: sequence,
  },
  updateAutomationSequence: {
    ...manage,
    liveOnly: true,
    method: 'PATCH',
    path: '/v1/automations/sequences/{id}',
    summary: 'Update a sequence',
    description:
      '`ETag` is the new version. The linked workflow changes at the next run; runs in progress keep their steps.',
    ifMatch: 'version_conflict',
    params: idParams,
    body: updateSequenceBody,
    response: sequence,
    errors: ['workflow_invalid'],
  },
  deleteAutomationSequence: {
    ...manage,
    liveOnly: true,
    method: 'DELETE',
    path: '/v1/automations/sequences/{id}',
    summary: 'Delete a sequence and its workflow',
    description: 'Runs in progress continue to their end, and ended runs stay readable.',
    params: idParams,
    response: deleted,
  },
  runAutomationSequence: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/sequences/{id}/run',
    summary: 'Run a sequence',
    description: 'Creates or updates the linked workflow and queues a run of it.',
    params: idParams,
    body: runBody,
    bodyOptional: true,
    response: z.object({
      runId: id.describe('Id of the run that was started'),
      status: z.enum(runStatuses).describe('Status of the run at the time of the response'),
      workflowId: id.describe('Workflow that executes the sequence'),
    }),
    errors: ['workflow_invalid', 'workspace_limit_reached', 'queued_runs_limit_reached'],
  },
});
