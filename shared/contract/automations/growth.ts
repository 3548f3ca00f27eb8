import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { deleted, idParams, id, named } from '../common.ts';
import { defineResource } from '../define.ts';
import type { Operation, Role } from '../define.ts';
import { node } from '../nodes/device.ts';
import { agent, agents, toolProfile } from './agents.ts';
import { approval, approvals } from './approvals.ts';
import { channel, channels } from './channels.ts';
import { slo } from './insight.ts';
import { policies } from './policies.ts';
import { runSummary, runs } from './runs.ts';
import { sequence, sequences } from './sequences.ts';
import { sessionSummary, sessions } from './sessions.ts';
import { workflow, workflows } from './workflows.ts';

const member = { tag: 'Dashboard', callers: ['session'], role: 'agent', entitlement: 'automations' } as const;
const admin = { ...member, role: 'admin' } as const;

/** Resources of /growth/automations/{resource}/{id}. All but the first three require the role admin. */
export const growthResources = [
  'workflows',
  'sequences',
  'agents',
  'tool-profiles',
  'channels',
  'nodes',
  'sessions',
] as const;
const growthResource = named(
  'GrowthResource',
  z.union([workflow, sequence, agent, toolProfile, channel, node, sessionSummary]),
);
const resourceParams = z.strictObject({
  resource: z.enum(growthResources, `must be one of ${growthResources.join(', ')}`),
  id,
});

type Alias<Aliased extends Operation> = Pick<
  Aliased,
  Extract<keyof Aliased, 'method' | 'summary' | 'params' | 'query' | 'body' | 'bodyOptional' | 'response' | 'errors'>
> &
  Omit<typeof member, 'role'> & { role: Role; path: string; description: string; aliasOf: string };

/** The same operation under a path of the dashboard API. The handler of the original operation serves both. */
function alias<Aliased extends Operation>(operation: Aliased, path: string): Alias<Aliased> {
  const { id: aliasOf, permission: _permission, alsoPermission: _alsoPermission, ...shape } = operation;
  const description = `The same as \`${operation.method} ${operation.path}\`.`;
  return { ...shape, ...member, role: operation.role ?? member.role, path, description, aliasOf } as Alias<Aliased>;
}

export const growthAliases = defineResource({
  growthListWorkflows: alias(workflows.listAutomationWorkflows, '/growth/automations/workflows'),
  growthCreateWorkflow: alias(workflows.createAutomationWorkflow, '/growth/automations/workflows'),
  growthRunWorkflow: alias(workflows.runAutomationWorkflow, '/growth/automations/workflows/{id}/run'),
  growthListSequences: alias(sequences.listAutomationSequences, '/growth/automations/sequences'),
  growthCreateSequence: alias(sequences.createAutomationSequence, '/growth/automations/sequences'),
  growthListAgents: alias(agents.listAutomationAgents, '/growth/automations/agents'),
  growthCreateAgent: alias(agents.createAutomationAgent, '/growth/automations/agents'),
  growthDecideApproval: alias(approvals.decideAutomationApproval, '/growth/automations/approvals/{id}/decide'),
  growthPutPolicy: alias(policies.putAutomationPolicy, '/growth/automations/policies'),
  growthListRuns: alias(runs.listAutomationRuns, '/growth/automations/runs'),
  growthListSessions: alias(sessions.listAutomationSessions, '/growth/automations/sessions'),
  growthListApprovals: alias(approvals.listAutomationApprovals, '/growth/automations/approvals'),
  growthListChannels: alias(channels.listAutomationChannels, '/growth/automations/channels'),
});

export const growth = defineResource({
  growthConsole: {
    ...member,
    method: 'GET',
    path: '/growth/automations/console',
    summary: 'Get an overview for a console',
    description:
      'Runs, sessions, agents, approvals and nodes are sorted newest first; `slo` covers the last 24 hours. The parts are read independently, so numbers and lists can differ slightly.',
    response: z.object({
      runs: z
        .object({
          recent: z.array(runSummary).describe('The newest 10 runs'),
          open: z
            .object({
              queued: z.int().describe('Runs that wait to start'),
              running: z.int().describe('Runs in progress'),
              waitingApproval: z.int().describe('Runs that wait for a decision'),
            })
            .describe('Number of runs that have not ended, by status'),
        })
        .describe('Runs of the workspace'),
      sessions: z.array(sessionSummary).describe('The newest 10 sessions'),
      agents: z.array(agent).describe('AI agents, newest first, at most 10'),
      approvals: z
        .object({
          pending: z.int().describe('Number of approvals that wait for a decision'),
          recent: z.array(approval).describe('The newest 10 pending approvals'),
        })
        .describe('Approvals of the workspace'),
      nodes: z.array(node).describe('Companion nodes, newest first, at most 100'),
      slo,
    }),
  },
  growthCreateApprovalLinks: {
    ...admin,
    method: 'POST',
    path: '/growth/automations/approvals/{id}/links',
    summary: 'Create new links for the approvers of an approval',
    description:
      'Each link opens a page on which its approver decides once, without signing in. Earlier links stop working. Users who started the run, or for `system.run` wrote what it does, cannot create links, because the response contains them; the only member of a workspace can. If `SMTP_URL` is set, the hub mails links when the approval is requested.',
    params: idParams,
    response: z.object({
      links: z
        .array(
          z.object({
            approver: z.string().describe('Email address of the approver'),
            url: z.string().describe('Page on which the approver decides, once and without signing in'),
          }),
        )
        .describe('One link for each approver'),
    }),
    errors: ['approval_already_decided', 'approver_required'],
  },
  growthUpdateResource: {
    ...member,
    method: 'PATCH',
    path: '/growth/automations/{resource}/{id}',
    summary: 'Update a workflow, sequence, agent, tool profile, channel, node or session',
    description:
      "The body is that of the resource's own PATCH. `If-Match` applies to workflows, sequences, agents and channels. Members with the role `agent` may update workflows, sequences and agents; the other resources require the role `admin`.",
    ifMatch: 'version_conflict',
    params: resourceParams,
    body: jsonObject,
    response: growthResource,
    errors: ['workflow_invalid', 'product_not_entitled', 'role_required', 'workspace_limit_reached'],
  },
  growthDeleteResource: {
    ...member,
    method: 'DELETE',
    path: '/growth/automations/{resource}/{id}',
    summary: 'Delete a workflow, sequence, agent, tool profile, channel, node or session',
    description:
      'Members with the role `agent` may delete workflows, sequences and agents; the other resources require the role `admin`. A node is revoked, a session is deleted with its transcript, and a tool profile that an agent uses is refused.',
    params: resourceParams,
    response: deleted,
    errors: ['role_required', 'conflict'],
  },
});
