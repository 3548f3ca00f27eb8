import type { z } from 'zod';
import { workflows as resource } from '../../../../shared/contract/automations/workflows.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { reevaluateConcurrencyQueues } from '../../../engine/index.ts';
import type { RunCaller } from '../../../engine/index.ts';
import { readNow } from '../../../platform/db/clock.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { assertDefinitionSize } from '../../../platform/definition-size.ts';
import { authorsAfter } from '../../../platform/field-authors.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';
import { assertVersion } from '../../../platform/http/routing/if-match.ts';
import type { ExpectedVersion } from '../../../platform/http/routing/if-match.ts';
import { newId } from '../../../platform/ids.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import { testKeyNotAllowed } from '../test-keys/index.ts';
import {
  assertFilter,
  assertHasNextFire,
  assertValid,
  contentOf,
  joinToken,
  openTrigger,
  withToken,
} from './content.ts';
import type { StepValidator } from './startable.ts';
import { authorsOfSteps, withoutSteps } from './step-authors.ts';
import { findWorkflow, insertWorkflow, updateWorkflow } from './store.ts';
import type { WorkflowRow } from './store.ts';
import { findVersion } from './version-rows.ts';

export type CreateBody = z.output<typeof resource.createAutomationWorkflow.body>;
export type UpdateBody = z.output<typeof resource.updateAutomationWorkflow.body>;

/** The source of a new workflow. */
export interface WorkflowSource {
  origin: WorkflowRow['origin'];
  /** The publisher of the pack in this workspace; null for any other source. */
  publishedBy: string | null;
}

/** The source of a workflow that a user or API key wrote. */
export const writtenByCaller: WorkflowSource = { origin: null, publishedBy: null };

interface ChangeDependencies {
  secrets: Secrets;
  limits: WorkspaceLimits;
  validateSteps: StepValidator;
}

/** @throws AppError `workflow_invalid`, `product_not_entitled`, `workspace_limit_reached`. */
export async function createWorkflow(
  tx: Transaction,
  deps: ChangeDependencies,
  tenantId: string,
  body: CreateBody,
  caller: RunCaller,
  { origin, publishedBy }: WorkflowSource,
): Promise<WorkflowRow> {
  assertSizes(body);
  assertFilter(body.triggerJson);
  const now = await readNow(tx);
  if (body.active) assertHasNextFire(body.triggerJson, now);
  await assertValid(tx, deps.validateSteps, tenantId, body.stepsJson);
  const content = contentOf(
    deps.secrets,
    body.name,
    body.active,
    withToken(body.triggerJson, null),
    body.stepsJson,
    body.limits ?? null,
    body.inputs ?? null,
    null,
    caller.environment,
    now,
  );
  const id = newId();
  await joinToken(tx, tenantId, id, content);
  const { actor } = caller;
  const created = await insertWorkflow(
    tx,
    tenantId,
    id,
    content,
    {
      changedBy: actor,
      definedBy: actor,
      activatedBy: content.active ? actor : null,
      authors: {
        ...authorsAfter(
          null,
          { steps: body.stepsJson, inputs: body.inputs ?? undefined, trigger: body.triggerJson },
          actor,
        ),
        ...(publishedBy === null ? {} : { pack: publishedBy }),
      },
    },
    origin,
  );
  await deps.limits.assertWithin(tx, tenantId, 'workflow');
  if (body.triggerJson.type === 'schedule') await deps.limits.assertWithin(tx, tenantId, 'schedule');
  await recordAudit(tx, {
    tenantId,
    actor: caller.actor,
    action: 'workflow.created',
    targetType: 'workflow',
    targetId: created.id,
    details: { name: created.name, version: created.version },
  });
  return created;
}

/**
 * Updates a workflow.
 * @param restored the earlier version that provides the content, whose authors are kept; null for other changes.
 * @throws AppError `not_found`, `version_conflict`, `workflow_invalid`, `product_not_entitled`,
 * `workspace_limit_reached`, `test_key_not_allowed`.
 */
export async function changeWorkflow(
  tx: Transaction,
  deps: ChangeDependencies,
  tenantId: string,
  id: string,
  body: UpdateBody,
  caller: RunCaller,
  { expected, restored }: { expected: ExpectedVersion; restored: number | null },
): Promise<{ row: WorkflowRow; setsToken: boolean }> {
  const before = await findWorkflow(tx, tenantId, id, 'update');
  if (before === null) throw notFound('workflow', id);
  if (caller.environment === 'test' && before.environment === 'live') throw testKeyNotAllowed('live workflows');
  if (before.origin?.kind === 'skill')
    throw new AppError('conflict', 'Skill calls run under this workflow, which cannot be changed.');
  assertVersion(expected, before.version, `workflow ${id}`);
  assertSizes(body);
  if (body.stepsJson !== undefined) await assertValid(tx, deps.validateSteps, tenantId, body.stepsJson, id);
  if (body.triggerJson !== undefined) assertFilter(body.triggerJson);
  const opened = openTrigger(deps.secrets, before.trigger);
  const trigger = body.triggerJson === undefined ? opened : withToken(body.triggerJson, opened);
  const limits = body.limits === undefined ? before.limits : body.limits;
  // An unchanged active schedule keeps its next fire; any other schedule starts now.
  const keepsSchedule = body.triggerJson === undefined && before.active && before.nextRunAt !== null;
  const active = body.active ?? before.active;
  const now = await readNow(tx);
  // A time in the past stays valid until the trigger is sent or the workflow is activated.
  if (active && (body.triggerJson !== undefined || !before.active)) assertHasNextFire(trigger, now);
  const content = contentOf(
    deps.secrets,
    body.name ?? before.name,
    active,
    trigger,
    body.stepsJson ?? before.steps,
    limits,
    body.inputs === undefined ? before.inputs : body.inputs,
    keepsSchedule ? before.nextRunAt : null,
    caller.environment,
    now,
  );
  if (before.webhookTokenHash !== null && content.webhookTokenHash?.equals(before.webhookTokenHash) === true)
    content.webhookTokenSince = before.webhookTokenSince;
  else await joinToken(tx, tenantId, id, content);
  const earlier = await findVersion(tx, tenantId, id, before.version);
  const isDefined = [body.triggerJson, body.stepsJson, body.limits, body.inputs].some((part) => part !== undefined);
  const isActivated = active && !before.active;
  const updated = await updateWorkflow(tx, before, content, {
    changedBy: caller.actor,
    definedBy: isDefined ? caller.actor : (earlier?.definedBy ?? null),
    activatedBy: isActivated ? caller.actor : (earlier?.activatedBy ?? null),
    authors: {
      ...authorsAfter(
        { values: { inputs: before.inputs, trigger: opened }, authors: withoutSteps(earlier?.authors ?? {}) },
        { inputs: content.inputs, trigger },
        caller.actor,
      ),
      ...authorsOfSteps({ steps: before.steps, authors: earlier?.authors ?? {} }, content.steps, caller.actor),
      ...(restored === null ? {} : await authorsOfContent(tx, tenantId, id, restored)),
    },
  });
  if (trigger.type === 'schedule' && before.trigger.type !== 'schedule')
    await deps.limits.assertWithin(tx, tenantId, 'schedule');
  await recordAudit(tx, {
    tenantId,
    actor: caller.actor,
    action: 'workflow.updated',
    targetType: 'workflow',
    targetId: id,
    details: { version: updated.version, changed: Object.keys(body) },
  });
  // The new limits may allow runs that the old limits delayed.
  if (body.limits !== undefined || body.triggerJson !== undefined) await reevaluateConcurrencyQueues(tx, tenantId, id);
  return {
    row: updated,
    setsToken:
      body.triggerJson?.type === 'webhook' &&
      (body.triggerJson.webhook.token !== undefined || before.trigger.type !== 'webhook'),
  };
}

/**
 * @throws AppError `validation_failed` for a sent part that exceeds its size limit. Stored parts of earlier versions of
 * the hub are not checked.
 */
const assertSizes = ({ triggerJson, stepsJson, inputs }: UpdateBody) =>
  assertDefinitionSize({ triggerJson, stepsJson, inputs });

/**
 * The authors of the steps and inputs of a version. Versions that are older than field authors name the last author of
 * the definition.
 */
async function authorsOfContent(tx: Transaction, tenantId: string, id: string, version: number): Promise<FieldAuthors> {
  const found = await findVersion(tx, tenantId, id, version);
  const defined = found?.definedBy ?? found?.changedBy ?? null;
  return {
    ...(defined === null ? {} : { steps: defined, inputs: defined }),
    ...Object.fromEntries(Object.entries(found?.authors ?? {}).filter(([field]) => field !== 'trigger')),
  };
}
