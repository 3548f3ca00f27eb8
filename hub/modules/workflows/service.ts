import type { z } from 'zod';
import { workflows as resource } from '../../../shared/contract/workflows.ts';
import type { Step, Trigger, Workflow } from '../../../shared/contract/workflows.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { recordAudit } from '../audit/index.ts';
import type { AcceptedRun, Runs } from '../runs/index.ts';
import { startInbound } from './inbound.ts';
import type { HookCaller, InboundBody, Started } from './inbound.ts';
import { assertStartable, notFound, webhookTokenHash } from './startable.ts';
import type { StepValidator } from './startable.ts';
import { findWorkflow, insertWorkflow, listWorkflows, markDeleted, readEntitlements, updateWorkflow } from './store.ts';
import type { WorkflowContent, WorkflowRow } from './store.ts';

export interface WorkflowsDependencies {
  db: Database;
  cursors: Cursors;
  secrets: Secrets;
  runs: Runs;
  validateSteps: StepValidator;
}

type CreateBody = z.output<typeof resource.createAutomationWorkflow.body>;
type UpdateBody = z.output<typeof resource.updateAutomationWorkflow.body>;
type ListQuery = z.output<typeof resource.listAutomationWorkflows.query>;
type RunBody = z.output<typeof resource.runAutomationWorkflow.body>;

const tokenPurpose = 'webhook-token';

/** Workflows and their versions, and the ways to start one. */
export class Workflows {
  readonly #deps: WorkflowsDependencies;

  constructor(dependencies: WorkflowsDependencies) {
    this.#deps = dependencies;
  }

  async list(tenantId: string, query: ListQuery) {
    const scope = `workflows:${tenantId}`;
    const before = query.cursor === undefined ? undefined : this.#deps.cursors.decode(scope, query.cursor);
    const active = query.active === undefined ? undefined : query.active === 'true';
    const rows = await this.#deps.db.workspace(tenantId, (tx) => listWorkflows(tx, tenantId, { active }, query.limit + 1, before));
    const pageRows = rows.slice(0, query.limit);
    const last = pageRows.at(-1);
    return {
      data: pageRows.map((row) => this.#present(row)),
      meta: { limit: query.limit, nextCursor: rows.length > query.limit && last !== undefined ? this.#deps.cursors.encode(scope, last.id) : null },
    };
  }

  /** @throws AppError `workflow_invalid`, `product_not_entitled`. */
  async create(tenantId: string, body: CreateBody, actor: string): Promise<Workflow> {
    const row = await this.#deps.db.workspace(tenantId, async (tx) => {
      this.#deps.validateSteps(body.stepsJson, await readEntitlements(tx, tenantId));
      const created = await insertWorkflow(tx, tenantId, newId(), this.#content(body.name, body.active, body.triggerJson, body.stepsJson));
      await recordAudit(tx, { tenantId, actor, action: 'workflow.created', targetType: 'workflow', targetId: created.id, details: { name: created.name } });
      return created;
    });
    return this.#present(row);
  }

  /** @throws AppError `not_found`, `workflow_invalid`, `product_not_entitled`. */
  async update(tenantId: string, id: string, body: UpdateBody, actor: string): Promise<Workflow> {
    const row = await this.#deps.db.workspace(tenantId, async (tx) => {
      const before = await findWorkflow(tx, tenantId, id, 'update');
      if (before === null) throw notFound(id);
      if (body.stepsJson !== undefined) this.#deps.validateSteps(body.stepsJson, await readEntitlements(tx, tenantId));
      const content = this.#content(body.name ?? before.name, body.active ?? before.active, body.triggerJson ?? this.#openTrigger(before.trigger), body.stepsJson ?? before.steps);
      const updated = await updateWorkflow(tx, before, content);
      await recordAudit(tx, { tenantId, actor, action: 'workflow.updated', targetType: 'workflow', targetId: id, details: { version: updated.version, changed: Object.keys(body) } });
      return updated;
    });
    return this.#present(row);
  }

  /** @throws AppError `not_found`. */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      if (!(await markDeleted(tx, tenantId, id))) throw notFound(id);
      await recordAudit(tx, { tenantId, actor, action: 'workflow.deleted', targetType: 'workflow', targetId: id, details: {} });
    });
    return { id, deleted: true };
  }

  /** Starts a run by hand. @throws AppError `not_found`, `workflow_inactive`, `workflow_invalid`. */
  async run(tenantId: string, id: string, body: RunBody, caller: { environment: 'live' | 'test'; actor: string }): Promise<AcceptedRun> {
    const found = await this.#deps.db.workspace(tenantId, (tx) => this.#startable(tx, tenantId, id));
    return this.#deps.runs.accept({
      tenantId,
      workflowId: id,
      workflowVersion: found.version,
      trigger: { type: 'manual', by: caller.actor },
      context: body.context ?? null,
      payload: body.payload ?? null,
      environment: caller.environment,
    });
  }

  /** Starts what an inbound hook opens. @throws AppError `webhook_token_mismatch`, `not_found`, `workflow_inactive`, `workflow_invalid`. */
  startInbound(caller: HookCaller, body: InboundBody): Promise<Started> {
    return startInbound(this.#deps, caller, body);
  }

  async #startable(tx: Transaction, tenantId: string, id: string): Promise<WorkflowRow> {
    const row = await findWorkflow(tx, tenantId, id);
    if (row === null) throw notFound(id);
    assertStartable(row, await readEntitlements(tx, tenantId), this.#deps.validateSteps);
    return row;
  }

  #content(name: string, active: boolean, trigger: Trigger, steps: Step[]): WorkflowContent {
    if (trigger.type !== 'webhook') return { name, active, trigger, steps, webhookTokenHash: null };
    const { token } = trigger.webhook;
    const sealed: Trigger = { ...trigger, webhook: { token: this.#deps.secrets.seal(tokenPurpose, token) } };
    return { name, active, trigger: sealed, steps, webhookTokenHash: webhookTokenHash(token) };
  }

  #openTrigger(trigger: Trigger): Trigger {
    return trigger.type === 'webhook' ? { ...trigger, webhook: { token: this.#deps.secrets.open(tokenPurpose, trigger.webhook.token) } } : trigger;
  }

  #present(row: WorkflowRow): Workflow {
    return {
      id: row.id,
      name: row.name,
      active: row.active,
      triggerJson: this.#openTrigger(row.trigger),
      stepsJson: row.steps,
      version: row.version,
      createdAt: row.createdAt.toISOString(),
      updatedAt: row.updatedAt.toISOString(),
      nextRunAt: null,
    };
  }
}

export function createWorkflows(dependencies: WorkflowsDependencies): Workflows {
  return new Workflows(dependencies);
}
