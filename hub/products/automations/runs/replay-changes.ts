import { AppError } from '../../../../shared/errors.ts';
import { checkPayload, fillPayload } from '../../../../shared/inputs-check.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { readRunPeople } from '../../../engine/index.ts';
import type { EndedRun, RerunChanges } from '../../../engine/index.ts';
import { runs, workflows, workflowVersions } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray, isNull } from '../../../platform/db/orm.ts';

export interface ReplayOptions {
  /** Input instead of that of the run. */
  payload?: JsonObject | undefined;
  /** Version of the workflow instead of that of the run. */
  workflowVersion?: number | undefined;
}

const invalid = (path: string, message: string) =>
  new AppError('validation_failed', `${path} ${message}.`, { details: [{ path, message }] });

/**
 * What a replay has instead of the version and the input of its run. Only the current version can replace that of the
 * run: a caller who can run a workflow but not change it cannot choose an earlier version.
 * @throws AppError `workflow_inactive`; `validation_failed` for another version, for a version with other steps before
 * `fromStep`, and for an input that does not match the inputs of the version.
 */
export async function replayChanges(
  tx: Transaction,
  tenantId: string,
  run: EndedRun,
  fromStep: number,
  { payload, workflowVersion }: ReplayOptions,
): Promise<RerunChanges> {
  if (payload === undefined && workflowVersion === undefined) return {};
  const wanted = workflowVersion ?? run.workflow_version;
  const isOther = wanted !== run.workflow_version;
  await assertStartable(tx, tenantId, run, wanted);
  const versions = await tx
    .select({ version: workflowVersions.version, steps: workflowVersions.steps, inputs: workflowVersions.inputs })
    .from(workflowVersions)
    .where(
      and(
        eq(workflowVersions.tenantId, tenantId),
        eq(workflowVersions.workflowId, run.workflow_id),
        inArray(workflowVersions.version, [run.workflow_version, wanted]),
      ),
    );
  const before = versions.find(({ version }) => version === run.workflow_version);
  const after = versions.find(({ version }) => version === wanted);
  if (before === undefined || after === undefined) throw invalid('body.workflowVersion', 'does not exist');
  if (fromStep >= after.steps.length)
    throw invalid(
      'body.fromStep',
      `must be from 0 to ${after.steps.length - 1}: version ${wanted} has no further steps`,
    );
  const textOf = (step: unknown) => canonicalJson(step as JsonValue);
  const differs = before.steps.slice(0, fromStep).findIndex((step, at) => textOf(step) !== textOf(after.steps[at]));
  if (differs !== -1)
    throw invalid(
      'body.fromStep',
      `must be from 0 to ${differs}: the step at ${differs} of version ${wanted} differs from that of the run`,
    );
  const people = isOther ? await readRunPeople(tx, tenantId, run.id) : null;
  return {
    ...(people === null ? {} : { workflowVersion: wanted, authoredBy: people.authors, requestedBy: people.starters }),
    ...(payload === undefined && !isOther ? {} : await changedPayload(tx, run.id, after.inputs, payload)),
  };
}

/**
 * A replay with another version or input is like a start. The lock keeps the version from being replaced and removed
 * before the run exists.
 */
async function assertStartable(tx: Transaction, tenantId: string, run: EndedRun, wanted: number): Promise<void> {
  const [workflow] = await tx
    .select({ version: workflows.version, active: workflows.active })
    .from(workflows)
    .where(and(eq(workflows.tenantId, tenantId), eq(workflows.id, run.workflow_id), isNull(workflows.deletedAt)))
    .for('share');
  if (workflow?.active !== true)
    throw new AppError(
      'workflow_inactive',
      'The workflow is not active, so a replay cannot change its version or input. Activate the workflow, or replay without workflowVersion and payload.',
    );
  if (wanted !== run.workflow_version && wanted !== workflow.version)
    throw invalid(
      'body.workflowVersion',
      `must be ${run.workflow_version}, the version of the run, or ${workflow.version}, the current version`,
    );
}

async function changedPayload(
  tx: Transaction,
  runId: string,
  inputs: Parameters<typeof checkPayload>[0] | null,
  payload: JsonObject | undefined,
): Promise<Pick<RerunChanges, 'payload'>> {
  if (payload === undefined) {
    if (inputs === null) return {};
    const [row] = await tx.select({ payload: runs.payload }).from(runs).where(eq(runs.id, runId));
    // The defaults of the version. The caller did not choose the rest, so it is not checked.
    return withPayload(fillPayload(inputs, row?.payload ?? null));
  }
  if (inputs === null) return { payload };
  const { payload: filled, problems } = checkPayload(inputs, payload, 'body.payload');
  const [first] = problems;
  if (first !== undefined)
    throw new AppError(
      'validation_failed',
      `The payload does not fit the inputs of this version: ${first.path} ${first.message}.`,
      { details: problems },
    );
  return withPayload(filled);
}

const withPayload = (payload: JsonObject | null) => (payload === null ? {} : { payload });
