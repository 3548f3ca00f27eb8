import { z } from 'zod';
import { id, idParams, listQuery, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { runStatuses } from './run-status.ts';
import { runSummary } from './runs.ts';

const manage = {
  tag: 'Flows',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

/** Groups a run and its retries. Each retry increments the revision. */
const flow = named(
  'Flow',
  z.object({
    id: id.describe('Id of the flow'),
    workflowId: id.describe('Workflow of its runs'),
    revision: z.int().describe('Number of runs so far, from 1; each retry increments it'),
    status: z.enum(runStatuses).describe('Status of the latest run'),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);

export const flows = defineResource({
  listAutomationFlows: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/flows',
    summary: 'List flows',
    description: 'Newest first, by the time of their first run. A flow whose runs were all deleted is omitted.',
    query: listQuery.extend({ workflowId: id.optional() }),
    response: page(flow),
  },
  getAutomationFlow: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/flows/{id}',
    summary: 'Get a flow with its runs',
    description:
      'Contains at most the first 1,000 runs, without their steps; `GET /v1/automations/runs/{id}` returns the steps.',
    params: idParams,
    response: named(
      'FlowWithRuns',
      flow.extend({ runs: z.array(runSummary).describe('Runs of the flow, oldest first') }),
    ),
  },
});
