import { hash } from 'node:crypto';
import { z } from 'zod';
import { approvals as approvalsResource } from '../../../shared/contract/approvals.ts';
import { flows as flowsResource } from '../../../shared/contract/flows.ts';
import { finalRunStatuses } from '../../../shared/contract/run-status.ts';
import { hooks, runs as runsResource } from '../../../shared/contract/runs.ts';
import { sequences as sequencesResource } from '../../../shared/contract/sequences.ts';
import { workflows as workflowsResource } from '../../../shared/contract/workflows.ts';
import type { Approvals, Decider } from '../../modules/approvals/index.ts';
import type { Runs } from '../../modules/runs/index.ts';
import type { Sequences } from '../../modules/sequences/index.ts';
import { depthHeader, runHeader } from '../../modules/webhooks/index.ts';
import type { Workflows } from '../../modules/workflows/index.ts';
import { streamEvents } from '../event-stream.ts';
import { expectedVersions, tagged } from '../if-match.ts';
import { actorOf, implement, runCallerOf } from '../implement.ts';
import type { OperationRequest, Principal } from '../implement.ts';

type List = OperationRequest<typeof workflowsResource.listAutomationWorkflows>;
type Create = OperationRequest<typeof workflowsResource.createAutomationWorkflow>;

export function workflowRoutes(workflows: Workflows) {
  const list = ({ principal, query }: Pick<List, 'principal' | 'query'>) => workflows.list(principal.tenantId, query);
  const create = ({ principal, body }: Pick<Create, 'principal' | 'body'>) =>
    workflows.create(principal.tenantId, body, runCallerOf(principal));
  return implement(workflowsResource, {
    listAutomationsAlias: list,
    listAutomationWorkflows: list,
    createAutomationAlias: create,
    createAutomationWorkflow: create,
    getAutomationWorkflow: async ({ principal, params, raw: { response } }) =>
      tagged(response, await workflows.get(principal.tenantId, params.id)),
    listAutomationWorkflowVersions: ({ principal, params, query }) =>
      workflows.listVersions(principal.tenantId, params.id, query),
    getAutomationWorkflowVersion: ({ principal, params }) =>
      workflows.getVersion(principal.tenantId, params.id, params.version),
    restoreAutomationWorkflowVersion: async ({ principal, params, headers, raw: { response } }) =>
      tagged(
        response,
        await workflows.restoreVersion(
          principal.tenantId,
          params.id,
          params.version,
          runCallerOf(principal),
          expectedVersions(headers),
        ),
      ),
    updateAutomationWorkflow: async ({ principal, params, body, headers, raw: { response } }) =>
      tagged(
        response,
        await workflows.update(principal.tenantId, params.id, body, runCallerOf(principal), expectedVersions(headers)),
      ),
    deleteAutomationWorkflow: ({ principal, params }) =>
      workflows.delete(principal.tenantId, params.id, actorOf(principal)),
    runAutomationWorkflow: ({ principal, params, query, body }) =>
      workflows.run(principal.tenantId, params.id, body, {
        ...runCallerOf(principal),
        dryRun: query.dryRun === 'true',
      }),
    previewAutomationSchedule: async ({ body }) => workflows.previewSchedule(body),
  });
}

export const sequenceRoutes = (sequences: Sequences) =>
  implement(sequencesResource, {
    listAutomationSequences: ({ principal, query }) => sequences.list(principal.tenantId, query),
    createAutomationSequence: ({ principal, body }) => sequences.create(principal.tenantId, body, actorOf(principal)),
    updateAutomationSequence: ({ principal, params, body }) =>
      sequences.update(principal.tenantId, params.id, body, actorOf(principal)),
    deleteAutomationSequence: ({ principal, params }) =>
      sequences.delete(principal.tenantId, params.id, actorOf(principal)),
    runAutomationSequence: ({ principal, params, body }) =>
      sequences.run(principal.tenantId, params.id, body, runCallerOf(principal)),
  });

export const runRoutes = (runs: Runs) =>
  implement(runsResource, {
    listAutomationRuns: ({ principal, query }) => runs.list(principal.tenantId, query),
    getAutomationRun: ({ principal, params, query, signal }) =>
      runs.get(principal.tenantId, params.id, { waitSeconds: query.waitSeconds, signal }),
    cancelAutomationRun: ({ principal, params }) => runs.cancel(principal.tenantId, params.id, actorOf(principal)),
    retryAutomationRun: ({ principal, params, query }) =>
      runs.retry(principal.tenantId, params.id, query.fromStep, runCallerOf(principal)),
    replayAutomationRun: ({ principal, params, body }) =>
      runs.replay(principal.tenantId, params.id, body.fromStep, runCallerOf(principal)),
    async streamAutomationRun({ principal, params, signal, raw: { response } }) {
      // A run that there is not is an answer of its own, before the stream begins.
      await runs.get(principal.tenantId, params.id);
      await streamEvents(
        response,
        signal,
        { maxSeconds: runsResource.streamAutomationRun.holdSeconds },
        async (stream) => {
          using follower = runs.follow(params.id);
          // By hash: as texts, what many streams have shown of large runs would fill the memory.
          const shown = new Map<number, string>();
          let status = '';
          while (!stream.signal.aborted) {
            const run = await runs.get(principal.tenantId, params.id);
            for (const step of run.stepsResultJson) {
              const seen = hash('sha256', JSON.stringify(step), 'base64');
              if (shown.get(step.index) === seen || (step.status === 'pending' && !shown.has(step.index))) continue;
              shown.set(step.index, seen);
              await stream.send('step', step);
            }
            if (run.status !== status) {
              status = run.status;
              await stream.send('run', run);
            }
            if ((finalRunStatuses as readonly string[]).includes(status)) return;
            await follower.next(stream.signal);
          }
        },
      );
    },
  });

export const flowRoutes = (runs: Runs) =>
  implement(flowsResource, {
    listAutomationFlows: ({ principal, query }) => runs.listFlows(principal.tenantId, query),
    getAutomationFlow: ({ principal, params }) => runs.getFlow(principal.tenantId, params.id),
  });

/** How many runs led to a call of the inbound hook, as another workflow of a hub says; a stranger's nonsense counts as none. */
function depthOf(value: string | string[] | undefined): number {
  return typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : 0;
}

/** The run that calls the inbound hook, as a hub says. */
function runIdOf(value: string | string[] | undefined): string | null {
  return z.uuid().safeParse(value).data ?? null;
}

export const hookRoutes = (workflows: Workflows) =>
  implement(hooks, {
    inboundAutomationHook: ({ principal, body, headers }) =>
      workflows.startInbound(principal, body, {
        depth: depthOf(headers[depthHeader]),
        runId: runIdOf(headers[runHeader]),
      }),
  });

/** Who decides: a person by their address, or whoever holds a key. */
export const deciderOf = (principal: Extract<Principal, { kind: 'token' | 'session' }>): Decider =>
  principal.kind === 'session'
    ? { kind: 'user', actor: actorOf(principal), email: principal.user.email }
    : { kind: 'token', actor: actorOf(principal) };

export const approvalRoutes = (approvals: Approvals) =>
  implement(approvalsResource, {
    listAutomationApprovals: ({ principal, query }) => approvals.list(principal.tenantId, query),
    decideAutomationApproval: ({ principal, params, body }) =>
      approvals.decide(principal.tenantId, params.id, body, deciderOf(principal)),
  });
