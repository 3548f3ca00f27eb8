import { deletedWorkflows } from '../../../../shared/contract/automations/deleted-workflows.ts';
import { hooks } from '../../../../shared/contract/automations/runs.ts';
import { workflowSummaries } from '../../../../shared/contract/automations/workflow-summaries.ts';
import { workflows as resource } from '../../../../shared/contract/automations/workflows.ts';
import { isUuid } from '../../../../shared/uuid.ts';
import { runCallerOf } from '../../../platform/http/auth/principal.ts';
import { expectedVersions, withETag } from '../../../platform/http/routing/if-match.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { OperationRequest } from '../../../platform/http/routing/implement.ts';
import { depthHeader, runHeader } from '../deliveries/index.ts';
import type { Workflows } from './service.ts';

type List = OperationRequest<typeof resource.listAutomationWorkflows>;
type Create = OperationRequest<typeof resource.createAutomationWorkflow>;

/** A webhook token starts runs, so read-only keys and members with the role `agent` do not see the tokens of others. */
const readerOf = (principal: List['principal']) => ({
  showsToken:
    principal.kind === 'session'
      ? principal.user.role === 'admin'
      : principal.permissions.includes('automations:manage'),
  isTestKey: principal.kind === 'token' && principal.environment === 'test',
});

export function workflowRoutes(workflows: Workflows) {
  const list = ({ principal, query }: Pick<List, 'principal' | 'query'>) =>
    workflows.list(principal.tenantId, query, readerOf(principal));
  const create = ({ principal, body }: Pick<Create, 'principal' | 'body'>) =>
    workflows.create(principal.tenantId, body, runCallerOf(principal));
  return implement(resource, {
    listAutomationsAlias: list,
    listAutomationWorkflows: list,
    createAutomationAlias: create,
    createAutomationWorkflow: create,
    getAutomationWorkflow: async ({ principal, params, raw: { response } }) =>
      withETag(response, await workflows.get(principal.tenantId, params.id, readerOf(principal))),
    listAutomationWorkflowVersions: ({ principal, params, query }) =>
      workflows.listVersions(principal.tenantId, params.id, query),
    getAutomationWorkflowVersion: ({ principal, params }) =>
      workflows.getVersion(principal.tenantId, params.id, params.version),
    restoreAutomationWorkflowVersion: async ({ principal, params, headers, raw: { response } }) =>
      withETag(
        response,
        await workflows.restoreVersion(principal.tenantId, params.id, params.version, runCallerOf(principal), {
          expected: expectedVersions(headers),
          ...readerOf(principal),
        }),
      ),
    updateAutomationWorkflow: async ({ principal, params, body, headers, raw: { response } }) =>
      withETag(
        response,
        await workflows.update(principal.tenantId, params.id, body, runCallerOf(principal), {
          expected: expectedVersions(headers),
          ...readerOf(principal),
        }),
      ),
    deleteAutomationWorkflow: ({ principal, params }) =>
      workflows.delete(principal.tenantId, params.id, runCallerOf(principal)),
    runAutomationWorkflow: ({ principal, params, query, body }) =>
      workflows.run(principal.tenantId, params.id, body, {
        ...runCallerOf(principal),
        dryRun: query.dryRun === 'true',
      }),
    previewAutomationSchedule: async ({ body }) => workflows.previewSchedule(body),
  });
}

export const workflowSummaryRoutes = (workflows: Workflows) =>
  implement(workflowSummaries, {
    listAutomationWorkflowSummaries: ({ principal, query }) => workflows.listSummaries(principal.tenantId, query),
  });

export const deletedWorkflowRoutes = (workflows: Workflows) =>
  implement(deletedWorkflows, {
    listDeletedAutomationWorkflows: ({ principal, query }) => workflows.listDeleted(principal.tenantId, query),
    restoreAutomationWorkflow: async ({ principal, params, raw: { response } }) =>
      withETag(
        response,
        await workflows.restore(principal.tenantId, params.id, runCallerOf(principal), readerOf(principal)),
      ),
  });

/** The length of the chain of runs in the header of an inbound call; 0 for an invalid header. */
function depthOf(value: string | string[] | undefined): number {
  return typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : 0;
}

/** The id of the calling run in the header of an inbound call. */
function runIdOf(value: string | string[] | undefined): string | null {
  return typeof value === 'string' && isUuid(value) ? value : null;
}

export const hookRoutes = (workflows: Workflows) =>
  implement(
    hooks,
    {
      inboundAutomationHook: ({ principal, body, headers }) =>
        workflows.startInbound(principal, body, {
          depth: depthOf(headers[depthHeader]),
          runId: runIdOf(headers[runHeader]),
        }),
    },
    {
      workspaceOf: {
        inboundAutomationHook: ({ principal, body }) => workflows.findWorkspaceOfHook(principal, body.workflowId),
      },
      verifyCredential: {
        inboundAutomationHook: async ({ principal, rawBody }) => {
          return rawBody === null ? workflows.assertOpens(principal) : undefined;
        },
      },
    },
  );
