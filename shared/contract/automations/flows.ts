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

/** The ledger entry that a run and its retries share; the revision grows with each retry. */
const flow = named(
  'Flow',
  z.object({
    id: id.describe('Id of the flow'),
    workflowId: id.describe('Workflow of its runs'),
    revision: z.int().describe('Number of attempts so far, from 1; each retry adds one'),
    status: z.enum(runStatuses).describe('That of the latest run'),
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
    query: listQuery.extend({ workflowId: id.optional() }),
    response: page(flow),
  },
  getAutomationFlow: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/flows/{id}',
    summary: 'Read a flow with its runs',
    params: idParams,
    response: named('FlowWithRuns', flow.extend({ runs: z.array(runSummary).describe('First attempt first') })),
  },
});
