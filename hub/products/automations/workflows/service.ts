import type { z } from 'zod';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { workflows as resource } from '../../../../shared/contract/automations/workflows.ts';
import type { DryRun, Workflow, WorkflowVersion } from '../../../../shared/contract/automations/workflows.ts';
import { isUsableInstant } from '../../../../shared/contract/common.ts';
import { notFound } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { starterOf } from '../../../engine/index.ts';
import type { RunCaller, RunIntake } from '../../../engine/index.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { ExpectedVersion } from '../../../platform/http/routing/if-match.ts';
import { readLargePage } from '../../../platform/large-pages.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { MemoryBudget } from '../../../platform/process/memory-budget.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { ChatEvent } from '../../chat/events/index.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import type { AcceptedRun, Runs } from '../runs/index.ts';
import { previewFires, scheduleProblem } from '../schedules/index.ts';
import { testKeyNotAllowed } from '../test-keys/index.ts';
import { writtenByCaller, changeWorkflow, createWorkflow } from './changes.ts';
import type { CreateBody, WorkflowSource, UpdateBody } from './changes.ts';
import { assertValid, invalid, presentWorkflow } from './content.ts';
import type { WorkflowReader } from './content.ts';
import { readDeletedWorkflows, restoreWorkflow } from './deleted.ts';
import { startDerived } from './derived.ts';
import type { DerivedWorkflow } from './derived.ts';
import { startByEvent } from './events.ts';
import { startInbound, tokenMismatch } from './inbound.ts';
import type { HookCaller, HookOrigin, InboundBody, Started } from './inbound.ts';
import { payloadOf, startWorkflow } from './start.ts';
import type { StartedRun, StartRequest } from './start.ts';
import { webhookTokenHash } from './startable.ts';
import type { StepValidator } from './startable.ts';
import {
  findWebhookTokenWorkspace,
  findWorkflow,
  listDerivedIds,
  markDeleted,
  measureWorkflows,
  readWorkflows,
} from './store.ts';
import { readWorkflowSummaries } from './summaries.ts';
import type { SummariesQuery } from './summaries.ts';
import { listChannelWorkflows } from './triggered.ts';
import { readVersion, readVersions } from './versions.ts';
import type { VersionsQuery } from './versions.ts';
import { WorkflowStartCache } from './workflow-start-cache.ts';

export interface WorkflowsDependencies {
  db: Database;
  cursors: Cursors;
  /** Memory budget for responses with large definitions. */
  answerMemory: MemoryBudget;
  secrets: Secrets;
  runs: Runs;
  logger: Logger;
  limits: WorkspaceLimits;
  /** Accepts runs in batches; null in a process that runs no worker. */
  intake: RunIntake | null;
  validateSteps: StepValidator;
  /** Renders the steps of a run without executing them. */
  dryRun: (
    tx: Transaction,
    workflow: { tenantId: string; id: string; steps: readonly Step[] },
    input: { context: string | null; payload: JsonObject | null },
  ) => Promise<DryRun>;
}

type ListQuery = z.output<typeof resource.listAutomationWorkflows.query>;
type RunBody = z.output<typeof resource.runAutomationWorkflow.body>;
type PreviewBody = z.output<typeof resource.previewAutomationSchedule.body>;

/** Manages workflows and their versions, and starts their runs. */
export class Workflows {
  readonly #deps: WorkflowsDependencies;
  readonly #startCache: WorkflowStartCache;

  constructor(dependencies: WorkflowsDependencies) {
    this.#deps = dependencies;
    this.#startCache = new WorkflowStartCache(dependencies);
  }

  list(tenantId: string, query: ListQuery, reader: WorkflowReader) {
    const active = query.active === undefined ? undefined : query.active === 'true';
    const { db, secrets } = this.#deps;
    return readLargePage(this.#deps, tenantId, `workflows:${tenantId}`, query, {
      measure: (limit, before) => db.read(tenantId, (tx) => measureWorkflows(tx, tenantId, { active }, limit, before)),
      read: (ids) => db.read(tenantId, (tx) => readWorkflows(tx, tenantId, ids)),
      present: (row) => presentWorkflow(secrets, row, reader),
    });
  }

  /** A page of workflows without definitions, each with its newest run. @throws AppError `invalid_cursor`. */
  listSummaries(tenantId: string, query: SummariesQuery) {
    return readWorkflowSummaries(this.#deps, tenantId, query);
  }

  /** @throws AppError `not_found`. */
  async get(tenantId: string, id: string, reader: WorkflowReader): Promise<Workflow> {
    const row = await this.#deps.db.read(tenantId, (tx) => findWorkflow(tx, tenantId, id));
    if (row === null) throw notFound('workflow', id);
    return presentWorkflow(this.#deps.secrets, row, reader);
  }

  /** @throws AppError `not_found`, `invalid_cursor`. */
  listVersions(tenantId: string, id: string, query: VersionsQuery) {
    return readVersions(this.#deps, tenantId, id, query);
  }

  /** @throws AppError `not_found`. */
  getVersion(tenantId: string, id: string, version: number): Promise<WorkflowVersion> {
    return readVersion(this.#deps, tenantId, id, version);
  }

  /**
   * Creates a new version with the name, steps and inputs of an earlier version. @throws AppError `not_found`,
   * `version_conflict`, `workflow_invalid`, `product_not_entitled`.
   */
  async restoreVersion(
    tenantId: string,
    id: string,
    version: number,
    caller: RunCaller,
    options: { expected: ExpectedVersion } & WorkflowReader,
  ): Promise<Workflow> {
    const found = await this.getVersion(tenantId, id, version);
    const { name, stepsJson, inputs } = found;
    return this.update(tenantId, id, { name, stepsJson, inputs }, caller, { ...options, restored: version });
  }

  /** @throws AppError `workflow_invalid`, `product_not_entitled`, `workspace_limit_reached`. */
  async create(
    tenantId: string,
    body: CreateBody,
    caller: RunCaller,
    made: WorkflowSource = writtenByCaller,
  ): Promise<Workflow> {
    const row = await this.#deps.db.workspace(tenantId, (tx) =>
      createWorkflow(tx, this.#deps, tenantId, body, caller, made),
    );
    // This caller sent or created the token, so the response may show it.
    return presentWorkflow(this.#deps.secrets, row, { showsToken: true });
  }

  /** @throws AppError `not_found`, `version_conflict`, `workflow_invalid`, `product_not_entitled`, `workspace_limit_reached`. */
  async update(
    tenantId: string,
    id: string,
    body: UpdateBody,
    caller: RunCaller,
    {
      expected,
      showsToken,
      isTestKey = false,
      restored,
    }: { expected: ExpectedVersion; restored?: number } & WorkflowReader,
  ): Promise<Workflow> {
    const { row, setsToken } = await this.#deps.db.workspace(tenantId, (tx) =>
      changeWorkflow(tx, this.#deps, tenantId, id, body, caller, { expected, restored: restored ?? null }),
    );
    return presentWorkflow(this.#deps.secrets, row, { showsToken: showsToken || setsToken, isTestKey });
  }

  /** @throws AppError `not_found`, `test_key_not_allowed`. */
  async delete(tenantId: string, id: string, caller: RunCaller): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      if (caller.environment === 'test' && (await findWorkflow(tx, tenantId, id, 'update'))?.environment === 'live')
        throw testKeyNotAllowed('live workflows');
      await this.deleteWithin(tx, tenantId, id, caller.actor);
    });
    return { id, deleted: true };
  }

  /** Deletes a workflow in the transaction of the caller. @throws AppError `not_found`. */
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

  /** A page of deleted workflows, the last deleted one first. @throws AppError `invalid_cursor`. */
  listDeleted(tenantId: string, query: Parameters<typeof readDeletedWorkflows>[2]) {
    return readDeletedWorkflows(this.#deps, tenantId, query);
  }

  /** @throws AppError `not_found`, `workflow_invalid`, `workspace_limit_reached`, `test_key_not_allowed`. */
  async restore(tenantId: string, id: string, caller: RunCaller, reader: WorkflowReader): Promise<Workflow> {
    const row = await this.#deps.db.workspace(tenantId, (tx) =>
      restoreWorkflow(tx, this.#deps.limits, tenantId, id, caller),
    );
    return presentWorkflow(this.#deps.secrets, row, reader);
  }

  /**
   * Starts a run manually, or previews it. @throws AppError `not_found`, `workflow_inactive`, `workflow_invalid`,
   * `validation_failed`, `workflow_limit_reached`, `queued_runs_limit_reached`.
   */
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
    const request: StartRequest = {
      trigger: { type: 'manual', by: caller.actor },
      context: body.context,
      payload: body.payload,
      payloadPath: 'body.payload',
      environment: caller.environment,
      requestedBy: starterOf(caller.actor),
    };
    const key = `${tenantId} ${id}`;
    const run = await this.#startCache.start(key, request);
    if (run !== null) return { ...run, status: 'queued' };
    const started = await this.#deps.db.workspace(tenantId, (tx) =>
      startWorkflow(tx, this.#deps, tenantId, id, request),
    );
    this.#startCache.store(key, started.start);
    return { runId: started.runId, status: 'queued' };
  }

  /** Starts a run in the transaction of the caller. @throws AppError as `run` does. */
  startWithin(tx: Transaction, tenantId: string, id: string, request: StartRequest): Promise<StartedRun> {
    return startWorkflow(tx, this.#deps, tenantId, id, request);
  }

  /**
   * Starts the workflows that an inbound hook opens. @throws AppError `webhook_token_mismatch`, `not_found`,
   * `workflow_inactive`, `workflow_invalid`.
   */
  startInbound(caller: HookCaller, body: InboundBody, origin: HookOrigin): Promise<Started> {
    return startInbound({ ...this.#deps, startCache: this.#startCache }, caller, body, origin);
  }

  /** The workspace of the workflows that a caller of the inbound hook can start; null for an unknown webhook token. */
  async findWorkspaceOfHook(caller: HookCaller, workflowId: string | undefined): Promise<string | null> {
    return caller.kind === 'token'
      ? caller.tenantId
      : findWebhookTokenWorkspace(this.#deps.db, webhookTokenHash(caller.token), workflowId);
  }

  /** @throws AppError `webhook_token_mismatch` for a webhook token that belongs to no workflow. */
  async assertOpens(caller: HookCaller): Promise<string> {
    return (await this.findWorkspaceOfHook(caller, undefined)) ?? Promise.reject(tokenMismatch());
  }

  /**
   * Starts the workflows that subscribe to an event, in the transaction that causes the event.
   */
  follow(tx: Transaction, event: ChatEvent): Promise<void> {
    return startByEvent(tx, this.#deps, event);
  }

  /** Active workflows that a message of this channel starts. A live message starts no test workflows. */
  async listForChannel(
    tx: Transaction,
    tenantId: string,
    channel: { id: string; provider: string },
    environment: 'live' | 'test',
  ): Promise<{ id: string }[]> {
    const candidates = await listChannelWorkflows(tx, tenantId, environment);
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
   * Starts a run of a derived workflow in the transaction of the caller. @throws AppError as `run` does, and
   * `workspace_limit_reached`.
   */
  startDerived(
    tx: Transaction,
    tenantId: string,
    derived: DerivedWorkflow,
    request: StartRequest,
  ): Promise<StartedRun & { workflowId: string }> {
    return startDerived(tx, this.#deps, tenantId, derived, request);
  }

  /** The existing derived workflows of one kind, by the ids of their resources. */
  findDerived(
    tx: Transaction,
    tenantId: string,
    kind: DerivedWorkflow['origin']['kind'],
    ids: readonly string[],
  ): Promise<Map<string, string>> {
    return listDerivedIds(tx, tenantId, kind, ids);
  }

  /** Asserts that steps can run in this workspace. @throws AppError `workflow_invalid`, `product_not_entitled`. */
  async validateWithin(tx: Transaction, tenantId: string, steps: readonly Step[]): Promise<void> {
    await assertValid(tx, this.#deps.validateSteps, tenantId, steps);
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
}
