import type { z } from 'zod';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { Trigger } from '../../../../shared/contract/automations/triggers.ts';
import { workflows as resource } from '../../../../shared/contract/automations/workflows.ts';
import type {
  DryRun,
  Workflow,
  WorkflowLimits,
  WorkflowVersion,
} from '../../../../shared/contract/automations/workflows.ts';
import { isUsableInstant } from '../../../../shared/contract/common.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { WorkflowInputs } from '../../../../shared/inputs-schema.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { personOf, reopenLines } from '../../../engine/index.ts';
import type { RunCaller } from '../../../engine/index.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { readEntitlements } from '../../../platform/db/tenancy.ts';
import { newId } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Secrets } from '../../../platform/secrets.ts';
import type { ChatEvent } from '../../../product.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import type { AcceptedRun, Runs } from '../runs/index.ts';
import { firstFire, previewFires, scheduleOf, scheduleProblem } from '../schedules/index.ts';
import { startByEvent } from './events.ts';
import { startInbound } from './inbound.ts';
import type { HookCaller, HookOrigin, InboundBody, Started } from './inbound.ts';
import { assertReferences } from './references.ts';
import { payloadOf, startRun } from './start.ts';
import type { StartRequest, StartedRun } from './start.ts';
import { webhookTokenHash } from './startable.ts';
import type { StepValidator } from './startable.ts';
import {
  findByOrigin,
  findStartable,
  findStartableByOrigin,
  findVersion,
  findWorkflow,
  insertDerivedWorkflow,
  insertWorkflow,
  listChannelWorkflows,
  listDerivedIds,
  listVersions,
  listWorkflows,
  markDeleted,
  maxHookWorkflows,
  readWebhookToken,
  updateWorkflow,
} from './store.ts';
import type { VersionRow, WorkflowContent, WorkflowRow } from './store.ts';

export interface WorkflowsDependencies {
  db: Database;
  cursors: Cursors;
  secrets: Secrets;
  runs: Runs;
  logger: Logger;
  limits: WorkspaceLimits;
  validateSteps: StepValidator;
  /** What a run of these steps would do. */
  dryRun: (
    tx: Transaction,
    workflow: { tenantId: string; id: string; steps: readonly Step[] },
    input: { context: string | null; payload: JsonObject | null },
  ) => Promise<DryRun>;
}

type CreateBody = z.output<typeof resource.createAutomationWorkflow.body>;
type UpdateBody = z.output<typeof resource.updateAutomationWorkflow.body>;
type ListQuery = z.output<typeof resource.listAutomationWorkflows.query>;
type VersionsQuery = z.output<typeof resource.listAutomationWorkflowVersions.query>;
type RunBody = z.output<typeof resource.runAutomationWorkflow.body>;
type PreviewBody = z.output<typeof resource.previewAutomationSchedule.body>;

/** What another module makes of its own resource, such as a sequence, and keeps up to date. */
export interface DerivedWorkflow {
  origin: NonNullable<WorkflowRow['origin']>;
  name: string;
  steps: Step[];
}

/** Versions of which a change expects the newest to be one; null for any. */
export type ExpectedVersion = readonly number[] | null;

const tokenPurpose = 'webhook-token';

/** Workflows and their versions, and the ways to start one. */
export class Workflows {
  readonly #deps: WorkflowsDependencies;

  constructor(dependencies: WorkflowsDependencies) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const active = query.active === undefined ? undefined : query.active === 'true';
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.workspace(tenantId, (tx) => listWorkflows(tx, tenantId, { active }, limit, before));
    return readPage(this.#deps.cursors, `workflows:${tenantId}`, query, read, (row) => this.#present(row));
  }

  /** @throws AppError `not_found`. */
  async get(tenantId: string, id: string): Promise<Workflow> {
    const row = await this.#deps.db.workspace(tenantId, (tx) => findWorkflow(tx, tenantId, id));
    if (row === null) throw notFound('workflow', id);
    return this.#present(row);
  }

  /** @throws AppError `not_found`, `invalid_cursor`. */
  async listVersions(tenantId: string, id: string, query: VersionsQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.workspace(tenantId, async (tx) => {
        if ((await findWorkflow(tx, tenantId, id)) === null) throw notFound('workflow', id);
        const rows = await listVersions(
          tx,
          tenantId,
          id,
          limit,
          before === undefined ? undefined : versionOfCursor(before),
        );
        return rows.map((row) => ({ ...row, id: cursorOfVersion(row.version) }));
      });
    return readPage(this.#deps.cursors, `workflow-versions:${tenantId}:${id}`, query, read, presentVersionSummary);
  }

  /** @throws AppError `not_found`. */
  async getVersion(tenantId: string, id: string, version: number): Promise<WorkflowVersion> {
    const row = await this.#deps.db.workspace(tenantId, async (tx) => {
      if ((await findWorkflow(tx, tenantId, id)) === null) throw notFound('workflow', id);
      return findVersion(tx, tenantId, id, version);
    });
    if (row === null) throw noVersion(id, version);
    return { ...presentVersionSummary(row), stepsJson: row.steps, inputs: row.inputs };
  }

  /**
   * Makes a new version with the name, steps and inputs of an earlier one.
   * @throws AppError `not_found`, `version_conflict`, `workflow_invalid`, `product_not_entitled`.
   */
  async restoreVersion(
    tenantId: string,
    id: string,
    version: number,
    caller: RunCaller,
    expected: ExpectedVersion,
  ): Promise<Workflow> {
    const found = await this.getVersion(tenantId, id, version);
    const { name, stepsJson, inputs } = found;
    return this.update(tenantId, id, { name, stepsJson, inputs }, caller, expected);
  }

  /** @throws AppError `workflow_invalid`, `product_not_entitled`, `workspace_limit_reached`. */
  async create(
    tenantId: string,
    body: CreateBody,
    caller: RunCaller,
    origin: WorkflowRow['origin'] = null,
  ): Promise<Workflow> {
    const row = await this.#deps.db.workspace(tenantId, async (tx) => {
      await this.#validate(tx, tenantId, body.stepsJson);
      const content = this.#content(
        body.name,
        body.active,
        body.triggerJson,
        body.stepsJson,
        body.limits ?? null,
        body.inputs ?? null,
        null,
        caller.environment,
      );
      const id = newId();
      await joinToken(tx, tenantId, id, content);
      const created = await insertWorkflow(tx, tenantId, id, content, origin);
      await this.#deps.limits.assertWithin(tx, tenantId, 'workflow');
      if (body.triggerJson.type === 'schedule') await this.#deps.limits.assertWithin(tx, tenantId, 'schedule');
      await recordAudit(tx, {
        tenantId,
        actor: caller.actor,
        action: 'workflow.created',
        targetType: 'workflow',
        targetId: created.id,
        details: { name: created.name },
      });
      return created;
    });
    return this.#present(row);
  }

  /** @throws AppError `not_found`, `version_conflict`, `workflow_invalid`, `product_not_entitled`, `workspace_limit_reached`. */
  async update(
    tenantId: string,
    id: string,
    body: UpdateBody,
    caller: RunCaller,
    expected: ExpectedVersion = null,
  ): Promise<Workflow> {
    const { row, jobs } = await this.#deps.db.workspace(tenantId, async (tx) => {
      const before = await findWorkflow(tx, tenantId, id, 'update');
      if (before === null) throw notFound('workflow', id);
      if (before.origin?.kind === 'skill')
        throw new AppError(
          'conflict',
          'The calls of a skill run under this workflow; it is as the skill is, and not changed.',
        );
      if (expected !== null && !expected.includes(before.version)) throw versionConflict(id, before.version);
      if (body.stepsJson !== undefined) await this.#validate(tx, tenantId, body.stepsJson, id);
      const trigger = body.triggerJson ?? this.#openTrigger(before.trigger);
      const limits = body.limits === undefined ? before.limits : body.limits;
      // A schedule that goes on as it was keeps its next fire; every other one begins now.
      const keepsSchedule = body.triggerJson === undefined && before.active && before.nextRunAt !== null;
      const content = this.#content(
        body.name ?? before.name,
        body.active ?? before.active,
        trigger,
        body.stepsJson ?? before.steps,
        limits,
        body.inputs === undefined ? before.inputs : body.inputs,
        keepsSchedule ? before.nextRunAt : null,
        caller.environment,
      );
      if (before.webhookTokenHash !== null && content.webhookTokenHash?.equals(before.webhookTokenHash) === true)
        content.webhookTokenSince = before.webhookTokenSince;
      else await joinToken(tx, tenantId, id, content);
      const updated = await updateWorkflow(tx, before, content);
      if (trigger.type === 'schedule' && before.trigger.type !== 'schedule')
        await this.#deps.limits.assertWithin(tx, tenantId, 'schedule');
      await recordAudit(tx, {
        tenantId,
        actor: caller.actor,
        action: 'workflow.updated',
        targetType: 'workflow',
        targetId: id,
        details: { version: updated.version, changed: Object.keys(body) },
      });
      // Runs that the old limits hold back may begin by the new ones.
      return {
        row: updated,
        jobs: body.limits === undefined && body.triggerJson === undefined ? [] : await reopenLines(tx, tenantId, id),
      };
    });
    this.#deps.runs.dispatch(jobs);
    return this.#present(row);
  }

  /** @throws AppError `not_found`. */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, (tx) => this.deleteWithin(tx, tenantId, id, actor));
    return { id, deleted: true };
  }

  /** Deletes a workflow in the caller's transaction. @throws AppError `not_found`. */
  async deleteWithin(tx: Transaction, tenantId: string, id: string, actor: string): Promise<void> {
    if (!(await markDeleted(tx, tenantId, id))) throw notFound('workflow', id);
    await recordAudit(tx, {
      tenantId,
      actor,
      action: 'workflow.deleted',
      targetType: 'workflow',
      targetId: id,
      details: {},
    });
  }

  /** Starts a run by hand, or says what it would do. @throws AppError `not_found`, `workflow_inactive`, `workflow_invalid`, `validation_failed`, `workflow_limit_reached`, `queued_runs_limit_reached`. */
  async run(
    tenantId: string,
    id: string,
    body: RunBody,
    caller: RunCaller & { dryRun: boolean },
  ): Promise<AcceptedRun | DryRun> {
    if (caller.dryRun) {
      return this.#deps.db.workspace(tenantId, async (tx) => {
        const workflow = await findWorkflow(tx, tenantId, id);
        if (workflow === null) throw notFound('workflow', id);
        const payload = payloadOf(workflow, body.payload ?? null, 'body.payload');
        return this.#deps.dryRun(tx, workflow, { context: body.context ?? null, payload });
      });
    }
    const started = await this.#deps.db.workspace(tenantId, (tx) =>
      this.startWithin(tx, tenantId, id, {
        trigger: { type: 'manual', by: caller.actor },
        context: body.context,
        payload: body.payload,
        payloadPath: 'body.payload',
        environment: caller.environment,
        requestedBy: personOf(caller.actor),
      }),
    );
    started.committed();
    this.#deps.runs.dispatch([started.job]);
    return { runId: started.runId, status: 'queued' };
  }

  /** Starts a run in the caller's transaction. @throws AppError as `run` does. */
  async startWithin(tx: Transaction, tenantId: string, id: string, request: StartRequest): Promise<StartedRun> {
    const found = await findStartable(tx, tenantId, id);
    if (found === null) throw notFound('workflow', id);
    return startRun(tx, this.#deps, found.workflow, found.entitlements, request);
  }

  /** Starts what an inbound hook opens. @throws AppError `webhook_token_mismatch`, `not_found`, `workflow_inactive`, `workflow_invalid`. */
  startInbound(caller: HookCaller, body: InboundBody, origin: HookOrigin): Promise<Started> {
    return startInbound(this.#deps, caller, body, origin);
  }

  /** Starts what follows an event, in the transaction of its cause; call what it answers after the commit. */
  async follow(tx: Transaction, event: ChatEvent): Promise<() => void> {
    const { jobs, committed } = await startByEvent(tx, this.#deps, event);
    return () => {
      committed();
      this.#deps.runs.dispatch(jobs);
    };
  }

  /** Active workflows that a message of this channel starts. */
  async listForChannel(
    tx: Transaction,
    tenantId: string,
    channel: { id: string; provider: string },
  ): Promise<{ id: string }[]> {
    const candidates = await listChannelWorkflows(tx, tenantId);
    return candidates.filter(({ trigger }) => {
      if (trigger.type !== 'channel') return false;
      const { channelId, provider } = trigger.channel;
      return (
        (channelId === undefined || channelId === channel.id) &&
        (provider === undefined || provider === channel.provider)
      );
    });
  }

  /**
   * Starts a run of the workflow of another resource, in the caller's transaction; makes that workflow, or brings it up to date, only where
   * it is not as it should be, so that runs that start at the same time wait for none another.
   * @throws AppError as `run` and `ensureDerived` do.
   */
  async startDerived(
    tx: Transaction,
    tenantId: string,
    derived: DerivedWorkflow,
    request: StartRequest,
  ): Promise<StartedRun & { workflowId: string }> {
    const found = await findStartableByOrigin(tx, tenantId, derived.origin);
    if (found !== null && isAsDerived(found.workflow, derived)) {
      const started = await startRun(tx, this.#deps, found.workflow, found.entitlements, request);
      return { ...started, workflowId: found.workflow.id };
    }
    const workflowId = await this.ensureDerived(tx, tenantId, derived);
    return { ...(await this.startWithin(tx, tenantId, workflowId, request)), workflowId };
  }

  /**
   * Makes the workflow of another resource, or brings it up to date, in the caller's transaction; answers its id.
   * @throws AppError `workflow_invalid`, `product_not_entitled`, `workspace_limit_reached`.
   */
  async ensureDerived(tx: Transaction, tenantId: string, derived: DerivedWorkflow): Promise<string> {
    await this.#validate(tx, tenantId, derived.steps);
    const content = this.#content(
      derived.name,
      true,
      { schemaVersion: 1, type: 'manual' },
      derived.steps,
      null,
      null,
      null,
      'live',
    );
    const { kind, id: originId } = derived.origin;
    let before = await findByOrigin(tx, tenantId, kind, originId);
    if (before === null) {
      const made = await insertDerivedWorkflow(tx, tenantId, newId(), content, derived.origin);
      if (made !== null) {
        await this.#deps.limits.assertWithin(tx, tenantId, 'workflow');
        return made.id;
      }
      // Somebody else made it meanwhile.
      before = (await findByOrigin(tx, tenantId, kind, originId)) as WorkflowRow;
    }
    // What people gave it of inputs is not of what it was made from.
    if (!isAsDerived(before, derived)) await updateWorkflow(tx, before, { ...content, inputs: before.inputs });
    return before.id;
  }

  /** The workflows of other resources of one kind, as far as they were made, by the ids of those. */
  findDerived(
    tx: Transaction,
    tenantId: string,
    kind: DerivedWorkflow['origin']['kind'],
    ids: readonly string[],
  ): Promise<Map<string, string>> {
    return listDerivedIds(tx, tenantId, kind, ids);
  }

  /** Refuses steps that could not run in this workspace. @throws AppError `workflow_invalid`, `product_not_entitled`. */
  async validateWithin(tx: Transaction, tenantId: string, steps: readonly Step[]): Promise<void> {
    await this.#validate(tx, tenantId, steps);
  }

  /** @throws AppError `workflow_invalid`. */
  previewSchedule(body: PreviewBody): { fires: string[] } {
    const after = body.after === undefined ? new Date() : new Date(body.after);
    const problem = scheduleProblem(body.schedule, after);
    if (problem !== null) throw invalid(`schedule.${problem.path}`, problem.message);
    return {
      fires: previewFires(body.schedule, after, body.count)
        .filter((at) => isUsableInstant(at.getTime()))
        .map((at) => at.toISOString()),
    };
  }

  async #validate(tx: Transaction, tenantId: string, steps: readonly Step[], ownId?: string): Promise<void> {
    const entitlements: Record<Entitlement, boolean> = await readEntitlements(tx, tenantId);
    this.#deps.validateSteps(steps, entitlements);
    await assertReferences(tx, tenantId, steps, ownId);
  }

  #content(
    name: string,
    active: boolean,
    trigger: Trigger,
    steps: Step[],
    limits: WorkflowLimits | null,
    inputs: WorkflowInputs | null,
    keptNextRunAt: Date | null,
    environment: 'live' | 'test',
  ): WorkflowContent {
    const schedule = scheduleOf(trigger);
    const now = new Date();
    if (schedule !== null && keptNextRunAt === null && active) {
      const problem = scheduleProblem(schedule, now);
      if (problem !== null) throw invalid(`triggerJson.schedule.${problem.path}`, problem.message);
    }
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
    const sealed: Trigger = { ...trigger, webhook: { token: this.#deps.secrets.seal(tokenPurpose, token) } };
    return { ...common, trigger: sealed, webhookTokenHash: webhookTokenHash(token), webhookTokenSince: now };
  }

  #openTrigger(trigger: Trigger): Trigger {
    return trigger.type === 'webhook'
      ? { ...trigger, webhook: { token: this.#deps.secrets.open(tokenPurpose, trigger.webhook.token) } }
      : trigger;
  }

  #present(row: WorkflowRow): Workflow {
    return {
      id: row.id,
      name: row.name,
      active: row.active,
      triggerJson: this.#openTrigger(row.trigger),
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
}

/**
 * Lets a workflow share the token that others of its workspace have, for as long as they had it: the workspace had it first, whichever of them
 * stays. @throws AppError `workflow_invalid` for a token that opens as many workflows already as one call starts.
 */
async function joinToken(tx: Transaction, tenantId: string, id: string, content: WorkflowContent): Promise<void> {
  if (content.webhookTokenHash === null) return;
  const { count, since } = await readWebhookToken(tx, tenantId, content.webhookTokenHash, id);
  if (count >= maxHookWorkflows)
    throw invalid(
      'triggerJson.webhook.token',
      `opens ${maxHookWorkflows} workflows already, as many as one call starts; choose another`,
    );
  if (since !== null) content.webhookTokenSince = since;
}

const isAsDerived = ({ name, active, steps }: WorkflowRow, derived: DerivedWorkflow) =>
  name === derived.name && active && canonicalJson(steps) === canonicalJson(derived.steps);

const presentVersionSummary = ({ version, name, createdAt }: Omit<VersionRow, 'steps' | 'inputs'>) => ({
  version,
  name,
  createdAt: createdAt.toISOString(),
});

/** A version in the form that cursors have: they carry ids. */
const cursorOfVersion = (version: number) => `00000000-0000-0000-0000-${version.toString(16).padStart(12, '0')}`;
const versionOfCursor = (cursor: string) => Number.parseInt(cursor.slice(-12), 16);

function noVersion(id: string, version: number): AppError {
  return new AppError(
    'not_found',
    `The workflow ${id} has no version ${version}, or it was pruned; list its versions.`,
    {
      details: [{ path: 'params.version', message: 'is not there' }],
    },
  );
}

function versionConflict(id: string, newest: number): AppError {
  return new AppError(
    'version_conflict',
    `The workflow ${id} was changed meanwhile and is at version ${newest}; read it, and change that one.`,
    {
      headers: { ETag: `"${newest}"` },
      details: [{ path: 'headers.if-match', message: `the newest version is ${newest}` }],
    },
  );
}

function invalid(path: string, message: string): AppError {
  return new AppError('workflow_invalid', `${path} ${message}.`, { details: [{ path: `body.${path}`, message }] });
}
