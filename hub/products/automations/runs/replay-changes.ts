import { AppError } from '../../../../shared/errors.ts';
import { checkPayload, fillPayload } from '../../../../shared/inputs-check.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { readRunPeople } from '../../../engine/index.ts';
import type { EndedRun, RerunChanges } from '../../../engine/index.ts';
import { runs, workflowVersions } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray } from '../../../platform/db/orm.ts';

export interface ReplayOptions {
  /** Input instead of that of the run. */
  payload?: JsonObject | undefined;
  /** Version of the workflow instead of that of the run. */
  workflowVersion?: number | undefined;
}

const invalid = (path: string, message: string) =>
  new AppError('validation_failed', `${path} ${message}.`, { details: [{ path, message }] });

/**
 * What a replay has instead of the version and the input of its run.
 * @throws AppError `validation_failed` for a version that does not exist or that has other steps before `fromStep`, and
 * for an input that does not match the inputs of the version.
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
  const isOther = wanted !== run.workflow_version;
  return {
    ...(isOther ? { workflowVersion: wanted, authoredBy: (await readRunPeople(tx, tenantId, run.id)).authors } : {}),
    ...(payload === undefined && !isOther ? {} : await changedPayload(tx, run.id, after.inputs, payload)),
  };
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
