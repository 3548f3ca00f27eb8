import { approvals as approvalsResource, hooks, runs as runsResource } from '../../../shared/contract/runs.ts';
import { workflows as workflowsResource } from '../../../shared/contract/workflows.ts';
import type { Approvals } from '../../modules/approvals/index.ts';
import type { Runs } from '../../modules/runs/index.ts';
import type { Workflows } from '../../modules/workflows/index.ts';
import { actorOf, implement } from '../implement.ts';
import type { OperationRequest } from '../implement.ts';

type List = OperationRequest<typeof workflowsResource.listAutomationWorkflows>;
type Create = OperationRequest<typeof workflowsResource.createAutomationWorkflow>;

export function workflowRoutes(workflows: Workflows) {
  const list = ({ principal, query }: Pick<List, 'principal' | 'query'>) => workflows.list(principal.tenantId, query);
  const create = ({ principal, body }: Pick<Create, 'principal' | 'body'>) => workflows.create(principal.tenantId, body, actorOf(principal));
  return implement(workflowsResource, {
    listAutomationsAlias: list,
    listAutomationWorkflows: list,
    createAutomationAlias: create,
    createAutomationWorkflow: create,
    updateAutomationWorkflow: ({ principal, params, body }) => workflows.update(principal.tenantId, params.id, body, actorOf(principal)),
    deleteAutomationWorkflow: ({ principal, params }) => workflows.delete(principal.tenantId, params.id, actorOf(principal)),
    runAutomationWorkflow: ({ principal, params, body }) => workflows.run(principal.tenantId, params.id, body, { environment: principal.environment, actor: actorOf(principal) }),
  });
}

export const runRoutes = (runs: Runs) =>
  implement(runsResource, {
    listAutomationRuns: ({ principal, query }) => runs.list(principal.tenantId, query),
    getAutomationRun: ({ principal, params, query, signal }) => runs.get(principal.tenantId, params.id, { waitSeconds: query.waitSeconds, signal }),
    cancelAutomationRun: ({ principal, params }) => runs.cancel(principal.tenantId, params.id, actorOf(principal)),
    retryAutomationRun: ({ principal, params, query }) => runs.retry(principal.tenantId, params.id, query.fromStep, actorOf(principal)),
  });

export const hookRoutes = (workflows: Workflows) =>
  implement(hooks, {
    inboundAutomationHook: ({ principal, body }) => workflows.startInbound(principal, body),
  });

export const approvalRoutes = (approvals: Approvals) =>
  implement(approvalsResource, {
    listAutomationApprovals: ({ principal, query }) => approvals.list(principal.tenantId, query),
    decideAutomationApproval: ({ principal, params, body }) => approvals.decide(principal.tenantId, params.id, body, actorOf(principal)),
  });
