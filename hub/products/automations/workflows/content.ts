import { randomBytes } from 'node:crypto';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { maxFilterValues } from '../../../../shared/contract/automations/triggers.ts';
import type { Trigger } from '../../../../shared/contract/automations/triggers.ts';
import type { Workflow, WorkflowLimits } from '../../../../shared/contract/automations/workflows.ts';
import { suggestedEventFields } from '../../../../shared/contract/chat/chat-events.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { WorkflowInputs } from '../../../../shared/inputs-schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { readEntitlements } from '../../../platform/db/tenancy.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { firstFire, scheduleOf, scheduleProblem } from '../schedules/index.ts';
import { assertReferences } from './references.ts';
import { webhookTokenHash } from './startable.ts';
import type { StepValidator } from './startable.ts';
import { readWebhookToken } from './store.ts';
import type { WorkflowContent, WorkflowRow } from './store.ts';
import { maxHookWorkflows } from './triggered.ts';

const tokenPurpose = 'webhook-token';

/** Whether a caller may read webhook tokens. Admins and keys that may change workflows can. */
export interface WorkflowReader {
  showsToken: boolean;
  /** Whether it is an API key of environment `test`. The token of a live workflow would start live runs. */
  isTestKey?: boolean;
}

/** Asserts that steps can run in this workspace. @throws AppError `workflow_invalid`, `product_not_entitled`. */
export async function assertValid(
  tx: Transaction,
  validateSteps: StepValidator,
  tenantId: string,
  steps: readonly Step[],
  ownId?: string,
): Promise<void> {
  const entitlements: Record<Entitlement, boolean> = await readEntitlements(tx, tenantId);
  validateSteps(steps, entitlements);
  await assertReferences(tx, tenantId, steps, ownId);
}

/**
 * Asserts that the filter of an event trigger can match an event, and that it does not list too many values. @throws
 * AppError `workflow_invalid`.
 */
export function assertFilter(trigger: Trigger): void {
  if (trigger.type !== 'event') return;
  const { type, filter } = trigger.event;
  for (const [path, wanted] of Object.entries(filter ?? {})) {
    const instead = suggestedEventFields(type, path);
    if (instead !== null)
      throw invalid(
        `triggerJson.event.filter.${path}`,
        `is not a field of ${type}; the fields are ${instead.join(', ')}`,
      );
    if (Array.isArray(wanted) && wanted.length > maxFilterValues)
      throw invalid(
        `triggerJson.event.filter.${path}`,
        `lists ${wanted.length} values, and the limit is ${maxFilterValues}`,
      );
  }
}

/** @param now the time of the database. @throws AppError `workflow_invalid` for a schedule without a future fire. */
export function assertHasNextFire(trigger: Trigger, now: Date): void {
  const schedule = scheduleOf(trigger);
  const problem = schedule === null ? null : scheduleProblem(schedule, now);
  if (problem !== null) throw invalid(`triggerJson.schedule.${problem.path}`, problem.message);
}

/** @param now the time of the database, from which a schedule starts. */
export function contentOf(
  secrets: Secrets,
  name: string,
  active: boolean,
  trigger: Trigger,
  steps: Step[],
  limits: WorkflowLimits | null,
  inputs: WorkflowInputs | null,
  keptNextRunAt: Date | null,
  environment: 'live' | 'test',
  now: Date,
): WorkflowContent {
  const schedule = scheduleOf(trigger);
  const nextRunAt = schedule === null || !active ? null : (keptNextRunAt ?? firstFire(schedule, now));
  const common = {
    name,
    active,
    steps,
    limits,
    inputs,
    environment,
    nextRunAt,
    eventType: trigger.type === 'event' ? trigger.event.type : null,
  };
  if (trigger.type !== 'webhook') return { ...common, trigger, webhookTokenHash: null, webhookTokenSince: null };
  const { token } = trigger.webhook;
  if (token === undefined) throw new Error('a stored webhook trigger must have a token');
  const sealed: Trigger = { ...trigger, webhook: { ...trigger.webhook, token: secrets.seal(tokenPurpose, token) } };
  return { ...common, trigger: sealed, webhookTokenHash: webhookTokenHash(token), webhookTokenSince: now };
}

/** A trigger with its webhook token decrypted. The stored row contains the encrypted token. */
export function openTrigger(secrets: Secrets, trigger: Trigger): Trigger {
  return trigger.type === 'webhook' && trigger.webhook.token !== undefined
    ? { ...trigger, webhook: { ...trigger.webhook, token: secrets.open(tokenPurpose, trigger.webhook.token) } }
    : trigger;
}

/** A trigger with a webhook token: the given token, or the stored token of the workflow, or a random one. */
export function withToken(given: Trigger, before: Trigger | null): Trigger {
  if (given.type !== 'webhook' || given.webhook.token !== undefined) return given;
  const kept = before?.type === 'webhook' ? before.webhook.token : undefined;
  return { ...given, webhook: { ...given.webhook, token: kept ?? randomBytes(24).toString('base64url') } };
}

/** A trigger without its token, for callers who may not read webhook tokens, because a token starts runs. */
function withoutToken(trigger: Trigger): Trigger {
  if (trigger.type !== 'webhook') return trigger;
  const { token: _token, ...webhook } = trigger.webhook;
  return { ...trigger, webhook };
}

/** A workflow in the form that its reader may see. */
export function presentWorkflow(
  secrets: Secrets,
  row: WorkflowRow,
  { showsToken, isTestKey = false }: WorkflowReader,
): Workflow {
  const isShown = showsToken && (!isTestKey || row.environment === 'test');
  return {
    id: row.id,
    name: row.name,
    active: row.active,
    triggerJson: isShown ? openTrigger(secrets, row.trigger) : withoutToken(row.trigger),
    stepsJson: row.steps,
    version: row.version,
    limits: row.limits,
    inputs: row.inputs,
    environment: row.environment,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    nextRunAt: row.nextRunAt?.toISOString() ?? null,
  };
}

/**
 * Lets a workflow share the token of other workflows of its workspace, including the time since when the workspace has
 * it. So the workspace that had the token first keeps it, whichever of the workflows remain.
 * @throws AppError `workflow_invalid` for a token of the maximum number of workflows that one call can start.
 */
export async function joinToken(
  tx: Transaction,
  tenantId: string,
  id: string,
  content: Pick<WorkflowContent, 'webhookTokenHash' | 'webhookTokenSince'>,
): Promise<void> {
  if (content.webhookTokenHash === null) return;
  const { count, since } = await readWebhookToken(tx, tenantId, content.webhookTokenHash, id);
  if (count >= maxHookWorkflows)
    throw invalid(
      'triggerJson.webhook.token',
      `opens ${maxHookWorkflows} workflows already, which is the maximum per call; choose another token`,
    );
  if (since !== null) content.webhookTokenSince = since;
}

export function invalid(path: string, message: string): AppError {
  return new AppError('workflow_invalid', `${path} ${message}.`, { details: [{ path: `body.${path}`, message }] });
}
