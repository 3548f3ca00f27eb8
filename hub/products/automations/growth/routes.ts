import { z } from 'zod';
import { patchToolProfileBody } from '../../../../shared/contract/automations/agents.ts';
import { growth, growthAliases } from '../../../../shared/contract/automations/growth.ts';
import type { growthResources } from '../../../../shared/contract/automations/growth.ts';
import { name, text } from '../../../../shared/contract/common.ts';
import type { Role } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import { jsonObject } from '../../../../shared/json.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { parsePart } from '../../../platform/http/routing/errors.ts';
import { expectedVersions, withETag } from '../../../platform/http/routing/if-match.ts';
import { implement, implementAliases, routeOf } from '../../../platform/http/routing/implement.ts';
import type { OperationRequest, Route } from '../../../platform/http/routing/implement.ts';
import type { Nodes } from '../../nodes/index.ts';
import type { Agents, ToolProfiles } from '../agents/index.ts';
import type { ApprovalLinks, Approvals } from '../approvals/index.ts';
import type { Channels } from '../channels/index.ts';
import type { Insight } from '../insight/index.ts';
import type { Runs } from '../runs/index.ts';
import type { Sessions } from '../sessions/index.ts';

export interface GrowthServices {
  runs: Runs;
  agents: Agents;
  toolProfiles: ToolProfiles;
  approvals: Approvals;
  approvalLinks: ApprovalLinks;
  sessions: Sessions;
  channels: Channels;
  nodes: Nodes;
  insight: Insight;
}

type ResourceName = (typeof growthResources)[number];
type Change = (
  request: OperationRequest<typeof growth.growthUpdateResource>,
) => Promise<z.input<typeof growth.growthUpdateResource.response>>;
type Removal = (
  request: OperationRequest<typeof growth.growthDeleteResource>,
) => Promise<{ id: string; deleted: true }>;

const someField = <Schema extends z.ZodObject>(schema: Schema) =>
  schema.refine((body) => Object.values(body).some((value) => value !== undefined), 'give at least one field');
const channelBody = someField(
  z.strictObject({
    name: name.optional(),
    active: z.boolean().optional(),
    conversations: z.boolean().optional(),
    config: jsonObject.optional(),
  }),
);
const sessionBody = z.strictObject({ title: text(1, 200) });

const forMembers: readonly ResourceName[] = ['workflows', 'sequences', 'agents'];

function assertRole(resource: ResourceName, role: Role): void {
  if (role !== 'admin' && !forMembers.includes(resource))
    throw new AppError('role_required', `Changing ${resource} requires the admin role.`);
}

const recentRows = 10;

/** @param routes the routes of the operations that the growth paths are aliases of. */
export const growthRoutes = (services: GrowthServices, routes: readonly Route[]) => {
  const { runs, agents, toolProfiles, approvals, approvalLinks, sessions, channels, nodes, insight } = services;

  /** Delegates a request to the operation of the resource. */
  const forward = (id: string): ((request: unknown) => Promise<never>) => {
    const { operation, handle } = routeOf(routes, id);
    return (given) => {
      const request = given as Parameters<Route['handle']>[0] & { params: { id: string }; body: unknown };
      const params = { id: request.params.id };
      const body = operation.body === undefined ? undefined : parsePart('body', operation.body, request.body);
      return handle({ ...request, params, body } as Parameters<Route['handle']>[0]) as Promise<never>;
    };
  };
  const changes: Record<ResourceName, Change> = {
    workflows: forward('updateAutomationWorkflow'),
    sequences: forward('updateAutomationSequence'),
    agents: forward('updateAutomationAgent'),
    'tool-profiles': ({ principal, params, body }) =>
      toolProfiles.patch(
        principal.tenantId,
        params.id,
        parsePart('body', patchToolProfileBody, body),
        actorOf(principal),
      ),
    channels: async ({ principal, params, body, headers, raw: { response } }) =>
      withETag(
        response,
        await channels.patch(
          principal.tenantId,
          params.id,
          parsePart('body', channelBody, body),
          actorOf(principal),
          expectedVersions(headers),
        ),
      ),
    nodes: forward('updateAutomationNode'),
    sessions: ({ principal, params, body }) =>
      sessions.rename(principal.tenantId, params.id, parsePart('body', sessionBody, body).title, actorOf(principal)),
  };
  const removals: Record<ResourceName, Removal> = {
    workflows: forward('deleteAutomationWorkflow'),
    sequences: forward('deleteAutomationSequence'),
    agents: forward('deleteAutomationAgent'),
    'tool-profiles': ({ principal, params }) => toolProfiles.delete(principal.tenantId, params.id, actorOf(principal)),
    channels: ({ principal, params }) => channels.delete(principal.tenantId, params.id, actorOf(principal)),
    nodes: forward('deleteAutomationNode'),
    sessions: ({ principal, params }) => sessions.delete(principal.tenantId, params.id, actorOf(principal)),
  };

  return [
    ...implementAliases(growthAliases, routes),
    ...implement(growth, {
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
      growthCreateApprovalLinks: ({ principal, params, baseUrl }) =>
        approvalLinks.create(principal.tenantId, params.id, actorOf(principal), baseUrl),
      async growthUpdateResource(request) {
        const { resource } = request.params;
        assertRole(resource, request.principal.user.role);
        return { ...(await changes[resource](request)) };
      },
      async growthDeleteResource(request) {
        const { resource } = request.params;
        assertRole(resource, request.principal.user.role);
        return removals[resource](request);
      },
    }),
  ];
};
