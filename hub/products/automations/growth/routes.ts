import { z } from 'zod';
import { agents as agentsResource, patchToolProfileBody } from '../../../../shared/contract/automations/agents.ts';
import { growth as growthResource } from '../../../../shared/contract/automations/growth.ts';
import type { growthResources } from '../../../../shared/contract/automations/growth.ts';
import { sequences as sequencesResource } from '../../../../shared/contract/automations/sequences.ts';
import { workflows as workflowsResource } from '../../../../shared/contract/automations/workflows.ts';
import { name, text } from '../../../../shared/contract/common.ts';
import type { Role } from '../../../../shared/contract/define.ts';
import { nodes as nodesResource } from '../../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../../shared/errors.ts';
import { jsonObject } from '../../../../shared/json.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { parsePart } from '../../../platform/http/errors.ts';
import { implement } from '../../../platform/http/implement.ts';
import { actorOf, runCallerOf } from '../../../platform/http/principal.ts';
import type { Nodes } from '../../nodes/index.ts';
import type { Agents } from '../agents/index.ts';
import type { ApprovalLinks, Approvals } from '../approvals/index.ts';
import { deciderOf } from '../approvals/index.ts';
import type { Channels } from '../channels/index.ts';
import type { Insight } from '../insight/index.ts';
import type { Policies } from '../policies/index.ts';
import type { Runs } from '../runs/index.ts';
import type { Sequences } from '../sequences/index.ts';
import type { Sessions } from '../sessions/index.ts';
import type { Workflows } from '../workflows/index.ts';

export interface GrowthFaces {
  workflows: Workflows;
  sequences: Sequences;
  runs: Runs;
  agents: Agents;
  approvals: Approvals;
  approvalLinks: ApprovalLinks;
  policies: Policies;
  sessions: Sessions;
  channels: Channels;
  nodes: Nodes;
  insight: Insight;
}

type ResourceName = (typeof growthResources)[number];

const someField = <Schema extends z.ZodObject>(schema: Schema) =>
  schema.refine((body) => Object.values(body).some((value) => value !== undefined), 'give at least one field');
const channelBody = someField(
  z.strictObject({ name: name.optional(), active: z.boolean().optional(), config: jsonObject.optional() }),
);
const sessionBody = z.strictObject({ title: text(1, 200) });

const forMembers: readonly ResourceName[] = ['workflows', 'sequences', 'agents'];

function assertRole(resource: ResourceName, role: Role): void {
  if (role !== 'admin' && !forMembers.includes(resource))
    throw new AppError('role_required', `Changing ${resource} needs the role admin.`);
}

const recentRows = 10;

export const growthRoutes = (faces: GrowthFaces) => {
  const { workflows, sequences, runs, agents, approvals, approvalLinks, policies, sessions, channels, nodes, insight } =
    faces;

  const updaters: Record<
    ResourceName,
    (tenantId: string, id: string, body: JsonObject, actor: string) => Promise<{ id: string }>
  > = {
    workflows: (tenantId, id, body, actor) =>
      workflows.update(tenantId, id, parsePart('body', workflowsResource.updateAutomationWorkflow.body, body), {
        actor,
        environment: 'live',
      }),
    sequences: (tenantId, id, body, actor) =>
      sequences.update(tenantId, id, parsePart('body', sequencesResource.updateAutomationSequence.body, body), actor),
    agents: (tenantId, id, body, actor) =>
      agents.update(tenantId, id, parsePart('body', agentsResource.updateAutomationAgent.body, body), actor),
    'tool-profiles': (tenantId, id, body, actor) =>
      agents.patchProfile(tenantId, id, parsePart('body', patchToolProfileBody, body), actor),
    channels: (tenantId, id, body, actor) => channels.patch(tenantId, id, parsePart('body', channelBody, body), actor),
    nodes: (tenantId, id, body, actor) =>
      nodes.update(tenantId, id, parsePart('body', nodesResource.updateAutomationNode.body, body), actor),
    sessions: (tenantId, id, body, actor) =>
      sessions.rename(tenantId, id, parsePart('body', sessionBody, body).title, actor),
  };
  const removers: Record<
    ResourceName,
    (tenantId: string, id: string, actor: string) => Promise<{ id: string; deleted: true }>
  > = {
    workflows: (tenantId, id, actor) => workflows.delete(tenantId, id, actor),
    sequences: (tenantId, id, actor) => sequences.delete(tenantId, id, actor),
    agents: (tenantId, id, actor) => agents.delete(tenantId, id, actor),
    'tool-profiles': (tenantId, id, actor) => agents.deleteProfile(tenantId, id, actor),
    channels: (tenantId, id, actor) => channels.delete(tenantId, id, actor),
    nodes: (tenantId, id, actor) => nodes.revoke(tenantId, id, actor),
    sessions: (tenantId, id, actor) => sessions.delete(tenantId, id, actor),
  };

  return implement(growthResource, {
    growthListWorkflows: ({ principal, query }) => workflows.list(principal.tenantId, query),
    growthCreateWorkflow: ({ principal, body }) => workflows.create(principal.tenantId, body, runCallerOf(principal)),
    growthListSequences: ({ principal, query }) => sequences.list(principal.tenantId, query),
    growthCreateSequence: ({ principal, body }) => sequences.create(principal.tenantId, body, actorOf(principal)),
    async growthConsole({ principal: { tenantId } }) {
      const page = { limit: recentRows };
      const [recentRuns, open, recentSessions, someAgents, pending, recentApprovals, someNodes, slo] =
        await Promise.all([
          runs.list(tenantId, page),
          runs.countOpen(tenantId),
          sessions.list(tenantId, page),
          agents.list(tenantId, page),
          approvals.countPending(tenantId),
          approvals.list(tenantId, { ...page, status: 'pending' }),
          nodes.list(tenantId, { limit: 100 }),
          insight.slo(tenantId, '24h'),
        ]);
      return {
        runs: { recent: recentRuns.data, open },
        sessions: recentSessions.data,
        agents: someAgents.data,
        approvals: { pending, recent: recentApprovals.data },
        nodes: someNodes.data,
        slo,
      };
    },
    growthListAgents: ({ principal, query }) => agents.list(principal.tenantId, query),
    growthCreateAgent: ({ principal, body }) => agents.create(principal.tenantId, body, actorOf(principal)),
    growthDecideApproval: ({ principal, params, body }) =>
      approvals.decide(principal.tenantId, params.id, body, deciderOf(principal)),
    growthCreateApprovalLinks: ({ principal, params, baseUrl }) =>
      approvalLinks.create(principal.tenantId, params.id, actorOf(principal), baseUrl),
    growthPutPolicy: ({ principal, body }) => policies.put(principal.tenantId, body, actorOf(principal)),
    growthRunWorkflow: ({ principal, params, query, body }) =>
      workflows.run(principal.tenantId, params.id, body, {
        ...runCallerOf(principal),
        dryRun: query.dryRun === 'true',
      }),
    growthListRuns: ({ principal, query }) => runs.list(principal.tenantId, query),
    growthListSessions: ({ principal, query }) => sessions.list(principal.tenantId, query),
    growthListApprovals: ({ principal, query }) => approvals.list(principal.tenantId, query),
    growthListChannels: ({ principal, query }) => channels.list(principal.tenantId, query),
    async growthUpdateResource({ principal, params, body }) {
      assertRole(params.resource, principal.user.role);
      return { ...(await updaters[params.resource](principal.tenantId, params.id, body, actorOf(principal))) };
    },
    async growthDeleteResource({ principal, params }) {
      assertRole(params.resource, principal.user.role);
      return removers[params.resource](principal.tenantId, params.id, actorOf(principal));
    },
  });
};
