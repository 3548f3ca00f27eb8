import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import { readNow } from '../../../platform/db/clock.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';
import { newId } from '../../../platform/ids.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import type { Runs } from '../runs/index.ts';
import { assertValid, contentOf } from './content.ts';
import { startRun, startWorkflow } from './start.ts';
import type { StartedRun, StartRequest } from './start.ts';
import type { StepValidator } from './startable.ts';
import { findByOrigin, findStartableByOrigin, insertDerivedWorkflow, updateWorkflow } from './store.ts';
import type { WorkflowRow } from './store.ts';
import { findVersion } from './version-rows.ts';

/** A workflow that another module derives from its own resource, such as a sequence, and keeps up to date. */
export interface DerivedWorkflow {
  origin: NonNullable<WorkflowRow['origin']>;
  name: string;
  steps: Step[];
  /** The last author of the resource; null for content of the hub itself. */
  changedBy: string | null;
  /** The last authors of its steps, when they can differ. */
  authors?: FieldAuthors;
}

interface DerivedDependencies {
  secrets: Secrets;
  limits: WorkspaceLimits;
  validateSteps: StepValidator;
}

/**
 * Starts a run of a derived workflow in the transaction of the caller. The workflow is only created or updated when it
 * differs from the resource, so that concurrent starts do not wait for each other.
 * @throws AppError as `startWorkflow` and `ensureDerived` do.
 */
export async function startDerived(
  tx: Transaction,
  deps: DerivedDependencies & { runs: Runs },
  tenantId: string,
  derived: DerivedWorkflow,
  request: StartRequest,
): Promise<StartedRun & { workflowId: string }> {
  const found = await findStartableByOrigin(tx, tenantId, derived.origin);
  if (found !== null && isAsDerived(found, derived)) {
    const started = await startRun(tx, deps, { ...found, tenantId }, found.entitlements, request);
    return { ...started, workflowId: found.id };
  }
  const workflowId = await ensureDerived(tx, deps, tenantId, derived);
  return { ...(await startWorkflow(tx, deps, tenantId, workflowId, request)), workflowId };
}

/**
 * Creates or updates a derived workflow in the transaction of the caller. @returns its id.
 * @throws AppError `workflow_invalid`, `product_not_entitled`, `workspace_limit_reached`.
 */
async function ensureDerived(
  tx: Transaction,
  deps: DerivedDependencies,
  tenantId: string,
  derived: DerivedWorkflow,
): Promise<string> {
  await assertValid(tx, deps.validateSteps, tenantId, derived.steps);
  const content = contentOf(
    deps.secrets,
    derived.name,
    true,
    { schemaVersion: 1, type: 'manual' },
    derived.steps,
    null,
    null,
    null,
    'live',
    await readNow(tx),
  );
  const { changedBy } = derived;
  const authors = { changedBy, definedBy: changedBy, activatedBy: changedBy, authors: derived.authors ?? {} };
  const { kind, id: originId } = derived.origin;
  let before = await findByOrigin(tx, tenantId, kind, originId);
  if (before === null) {
    const made = await insertDerivedWorkflow(tx, tenantId, newId(), content, authors, derived.origin);
    if (made !== null) {
      await deps.limits.assertWithin(tx, tenantId, 'workflow');
      return made.id;
    }
    // Another transaction created the workflow concurrently.
    before = (await findByOrigin(tx, tenantId, kind, originId)) as WorkflowRow;
  }
  // Inputs that users added to the workflow are not part of the resource.
  if (!isAsDerived(before, derived)) {
    const inputs = (await findVersion(tx, tenantId, before.id, before.version))?.authors['inputs'];
    await updateWorkflow(
      tx,
      before,
      { ...content, inputs: before.inputs, limits: before.limits },
      { ...authors, authors: { ...(inputs === undefined ? {} : { inputs }), ...authors.authors } },
    );
  }
  return before.id;
}

const isAsDerived = (
  { name, active, steps }: Pick<WorkflowRow, 'name' | 'active' | 'steps'>,
  derived: DerivedWorkflow,
) => name === derived.name && active && canonicalJson(steps) === canonicalJson(derived.steps);
