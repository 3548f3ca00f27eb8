import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { WorkflowLimits } from '../../../../shared/contract/automations/workflows.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { checkPayload, fillPayload } from '../../../../shared/inputs-check.ts';
import type { WorkflowInputs } from '../../../../shared/inputs-schema.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { acceptRun } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Runs } from '../runs/index.ts';
import { assertStartable } from './startable.ts';
import type { StepValidator } from './startable.ts';
import { findStartable } from './store.ts';
import type { DefinedStart } from './store.ts';

/** The properties of a workflow that a start needs. */
export interface StartableWorkflow {
  id: string;
  tenantId: string;
  version: number;
  active: boolean;
  steps: readonly Step[];
  limits: WorkflowLimits | null;
  inputs: WorkflowInputs | null;
  environment: 'live' | 'test';
}

export interface StartRequest {
  trigger: { type: string } & JsonObject;
  context?: string | null | undefined;
  payload?: JsonObject | null | undefined;
  /**
   * Path of the payload in the request, for problems; omitted when no caller chose the payload, which is then not
   * checked.
   */
  payloadPath?: string;
  environment: 'live' | 'test';
  depth?: number;
  parentRunId?: string;
  /** The subject of the run. Erasing the subject also erases the run. */
  subjectId?: string;
  /** Users and keys that started the run: `user:<id>`, `token:<id>`. */
  requestedBy?: readonly string[];
  /** Users and keys that wrote the actions of the runs that led to it. */
  authoredBy?: readonly string[];
}

export interface StartedRun {
  runId: string;
}

/**
 * Starts a run of the workflow with the given id, in the transaction of the caller. @throws AppError `not_found`, and
 * as `startRun` does.
 */
export async function startWorkflow(
  tx: Transaction,
  deps: { runs: Runs; validateSteps: StepValidator },
  tenantId: string,
  id: string,
  request: StartRequest,
): Promise<StartedRun & { start: DefinedStart }> {
  const start = await findStartable(tx, tenantId, id);
  if (start === null) throw notFound('workflow', id);
  return { ...(await startRun(tx, deps, { ...start, tenantId }, start.entitlements, request)), start };
}

/**
 * Accepts a run of a workflow in the transaction of the caller, whose commit queues it. Every start except that of a
 * schedule uses this function.
 * @throws AppError `workflow_inactive`, `workflow_invalid`, `validation_failed`, `product_not_entitled`,
 * `workflow_limit_reached`, `queued_runs_limit_reached`.
 */
export async function startRun(
  tx: Transaction,
  deps: { runs: Runs; validateSteps: StepValidator },
  workflow: StartableWorkflow,
  entitlements: Record<Entitlement, boolean>,
  request: StartRequest,
): Promise<StartedRun> {
  assertStartable(workflow, entitlements, deps.validateSteps);
  const payload = payloadOf(workflow, request.payload ?? null, request.payloadPath);
  const environment = workflow.environment === 'test' ? 'test' : request.environment;
  await deps.runs.reserveOneQueueSlot(tx, { tenantId: workflow.tenantId, environment });
  await deps.runs.admit(tx, workflow, environment);
  const { runId } = await acceptRun(tx, {
    tenantId: workflow.tenantId,
    workflowId: workflow.id,
    workflowVersion: workflow.version,
    trigger: request.trigger,
    context: request.context ?? null,
    payload,
    environment,
    depth: request.depth ?? 0,
    requestedBy: request.requestedBy ?? [],
    authoredBy: request.authoredBy ?? [],
    ...(request.parentRunId === undefined ? {} : { parentRunId: request.parentRunId }),
    ...(request.subjectId === undefined ? {} : { subjectId: request.subjectId }),
  });
  return { runId };
}

/**
 * The payload of a run with the defaults of the inputs of its workflow.
 * @param path path of the payload in the request; undefined for a payload that no caller chose. A schedule, channel or
 * event can't correct its payload, so that is not checked.
 * @throws AppError `validation_failed` with each invalid part.
 */
export function payloadOf(
  { id, inputs }: Pick<StartableWorkflow, 'id' | 'inputs'>,
  payload: JsonObject | null,
  path: string | undefined,
): JsonObject | null {
  if (inputs === null) return payload;
  if (path === undefined) return fillPayload(inputs, payload);
  const checked = checkPayload(inputs, payload, path);
  const [first] = checked.problems;
  if (first === undefined) return checked.payload;
  throw new AppError(
    'validation_failed',
    `The payload does not fit the inputs of the workflow ${id}: ${first.path} ${first.message}.`,
    { details: checked.problems },
  );
}
