import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { deleted, id, idParams, listQuery, page } from '../common.ts';
import { defineResource } from '../define.ts';
import { node } from '../nodes/nodes.ts';
import { agent, createAgentBody } from './agents.ts';
import { approval, approvalListQuery, decideBody } from './approvals.ts';
import { channelProviders } from './channel-providers.ts';
import { channel } from './channels.ts';
import { slo } from './insight.ts';
import { policy, putPolicyBody } from './policies.ts';
import { runSummary, runs } from './runs.ts';
import { createSequenceBody, sequence } from './sequences.ts';
import { sessionListQuery, sessionSummary } from './sessions.ts';
import { workflow, workflows } from './workflows.ts';

const member = { tag: 'Dashboard', callers: ['session'], role: 'agent', entitlement: 'automations' } as const;
const admin = { ...member, role: 'admin' } as const;

/** What can be changed under /growth/automations/{resource}/{id}; all but the first three need the role admin. */
export const growthResources = [
  'workflows',
  'sequences',
  'agents',
  'tool-profiles',
  'channels',
  'nodes',
  'sessions',
] as const;
const resourceParams = z.strictObject({
  resource: z.enum(growthResources, `must be one of ${growthResources.join(', ')}`),
  id,
});

export const growth = defineResource({
  growthListWorkflows: {
    ...member,
    method: 'GET',
    path: '/growth/automations/workflows',
    summary: 'List workflows',
    query: workflows.listAutomationWorkflows.query,
    response: page(workflow),
  },
  growthCreateWorkflow: {
    ...member,
    method: 'POST',
    path: '/growth/automations/workflows',
    summary: 'Create a workflow',
    body: workflows.createAutomationWorkflow.body,
    response: workflow,
    errors: ['workflow_invalid', 'product_not_entitled', 'workspace_limit_reached'],
  },
  growthListSequences: {
    ...member,
    method: 'GET',
    path: '/growth/automations/sequences',
    summary: 'List sequences',
    query: listQuery,
    response: page(sequence),
  },
  growthCreateSequence: {
    ...member,
    method: 'POST',
    path: '/growth/automations/sequences',
    summary: 'Create a sequence',
    body: createSequenceBody,
    response: sequence,
    errors: ['workflow_invalid', 'product_not_entitled', 'workspace_limit_reached'],
  },
  growthConsole: {
    ...member,
    method: 'GET',
    path: '/growth/automations/console',
    summary: 'Everything that a console shows, in one call',
    response: z.object({
      runs: z.object({
        recent: z.array(runSummary),
        open: z.object({ queued: z.int(), running: z.int(), waitingApproval: z.int() }),
      }),
      sessions: z.array(sessionSummary),
      agents: z.array(agent),
      approvals: z.object({ pending: z.int(), recent: z.array(approval) }),
      nodes: z.array(node),
      slo,
    }),
  },
  growthListAgents: {
    ...member,
    method: 'GET',
    path: '/growth/automations/agents',
    summary: 'List agents',
    query: listQuery,
    response: page(agent),
  },
  growthCreateAgent: {
    ...member,
    method: 'POST',
    path: '/growth/automations/agents',
    summary: 'Create an agent',
    body: createAgentBody,
    response: agent,
    errors: ['workspace_limit_reached'],
  },
  growthDecideApproval: {
    ...member,
    method: 'POST',
    path: '/growth/automations/approvals/{id}/decide',
    summary: 'Decide an approval',
    description:
      "Where approvers are named, only they may, and never whoever started the run, a run that led to it (by a subagent, the error workflow or the inbound hook of its workspace), or one that it repeats. What a key, a schedule, a channel or a stranger's call starts, no person started.",
    params: idParams,
    body: decideBody,
    response: approval,
    errors: ['approval_already_decided', 'approver_required'],
  },
  growthCreateApprovalLinks: {
    ...admin,
    method: 'POST',
    path: '/growth/automations/approvals/{id}/links',
    summary: 'Make new links for the named approvers of an approval',
    description:
      'Each opens a page on which its approver decides once, without signing in. Earlier links stop working. With SMTP_URL set they are mailed by themselves when the approval is asked for.',
    params: idParams,
    response: z.object({ links: z.array(z.object({ approver: z.string(), url: z.string() })) }),
    errors: ['approval_already_decided', 'approver_required'],
  },
  growthPutPolicy: {
    ...admin,
    method: 'PUT',
    path: '/growth/automations/policies',
    summary: 'Set the policy of the workspace',
    body: putPolicyBody,
    response: policy,
  },
  growthRunWorkflow: {
    ...member,
    method: 'POST',
    path: '/growth/automations/workflows/{id}/run',
    summary: 'Run a workflow',
    params: idParams,
    query: workflows.runAutomationWorkflow.query,
    body: workflows.runAutomationWorkflow.body,
    bodyOptional: true,
    response: workflows.runAutomationWorkflow.response,
    errors: ['workflow_inactive', 'workflow_invalid', 'workflow_limit_reached', 'queued_runs_limit_reached'],
  },
  growthListRuns: {
    ...member,
    method: 'GET',
    path: '/growth/automations/runs',
    summary: 'List runs',
    query: runs.listAutomationRuns.query,
    response: page(runSummary),
  },
  growthListSessions: {
    ...member,
    method: 'GET',
    path: '/growth/automations/sessions',
    summary: 'List sessions',
    query: sessionListQuery,
    response: page(sessionSummary),
  },
  growthListApprovals: {
    ...member,
    method: 'GET',
    path: '/growth/automations/approvals',
    summary: 'List approvals',
    query: approvalListQuery,
    response: page(approval),
  },
  growthListChannels: {
    ...member,
    method: 'GET',
    path: '/growth/automations/channels',
    summary: 'List channels',
    query: listQuery.extend({ provider: z.enum(channelProviders).optional() }),
    response: page(channel),
  },
  growthUpdateResource: {
    ...member,
    method: 'PATCH',
    path: '/growth/automations/{resource}/{id}',
    summary: 'Change a workflow, sequence, agent, tool profile, channel, node or session',
    description:
      "The body is that of the resource's own PATCH. Agents (people) may change workflows, sequences and agents; the rest needs the role `admin`.",
    params: resourceParams,
    body: jsonObject,
    response: z.looseObject({ id }),
    errors: ['workflow_invalid', 'product_not_entitled', 'role_required', 'workspace_limit_reached'],
  },
  growthDeleteResource: {
    ...member,
    method: 'DELETE',
    path: '/growth/automations/{resource}/{id}',
    summary: 'Delete a workflow, sequence, agent, tool profile, channel, node or session',
    params: resourceParams,
    response: deleted,
    errors: ['role_required', 'conflict'],
  },
});
