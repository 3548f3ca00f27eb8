import type { z } from 'zod';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { hooks } from '../../../../shared/contract/automations/runs.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { listRequesters, maxRunDepth } from '../../../engine/index.ts';
import type { PromisedJob } from '../../../engine/index.ts';
import { runs } from '../../../engine/schema.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq, gt, lte, sql } from '../../../platform/db/orm.ts';
import { readEntitlements } from '../../../platform/db/tenancy.ts';
import type { Runs } from '../runs/index.ts';
import type { KnownStarts } from './known-starts.ts';
import { hookKeys } from './schema.ts';
import { startRun } from './start.ts';
import type { StartableWorkflow, StartRequest } from './start.ts';
import { assertStartable, webhookTokenHash } from './startable.ts';
import type { StepValidator } from './startable.ts';
import { findByWebhookToken, findStartable, listWebhookWorkflows, maxHookWorkflows } from './store.ts';
import type { DefinedStart } from './store.ts';

export type InboundBody = z.output<typeof hooks.inboundAutomationHook.body>;

/** Who called the inbound hook: a key of a workspace, or somebody who knows a workflow's webhook token. */
export type HookCaller =
  | { kind: 'token'; tenantId: string; environment: 'live' | 'test' }
  | { kind: 'webhook-token'; token: string };

/** What a call says of where it comes from: the run that makes it, and how many led to that one. */
export interface HookOrigin {
  depth: number;
  runId: string | null;
}

/** What the inbound hook answers. */
export interface Started {
  runId: string;
  status: RunStatus;
  runIds?: string[];
  duplicate?: true;
}

const mismatch = () =>
  new AppError(
    'webhook_token_mismatch',
    'X-Service-Automation-Token opens no such workflow; send the webhook.token of its trigger.',
  );

/** What a hook opens: workflows of one workspace, and its start if it is one alone. */
interface Opened {
  tenantId: string;
  entitlements: Record<Entitlement, boolean>;
  workflows: StartableWorkflow[];
  only: DefinedStart | null;
}

async function resolveByToken(db: Database, token: string, body: InboundBody): Promise<Opened> {
  const all = await findByWebhookToken(db, webhookTokenHash(token), body.workflowId);
  const matches = body.workflowId === undefined ? all.filter((match) => match.active) : all;
  const [first] = matches;
  if (first === undefined) throw mismatch();
  return {
    tenantId: first.tenant_id,
    entitlements: first.entitlements,
    workflows: matches.map((match) => ({ ...match, tenantId: match.tenant_id })),
    only: all.length === 1 ? first : null,
  };
}

async function resolveByKey(db: Database, tenantId: string, body: InboundBody): Promise<Opened> {
  return db.read(tenantId, async (tx) => {
    if (body.workflowId === undefined) {
      const entitlements = await readEntitlements(tx, tenantId);
      const workflows = await listWebhookWorkflows(tx, tenantId);
      if (workflows.length > maxHookWorkflows)
        throw new AppError(
          'conflict',
          `This workspace has more than ${maxHookWorkflows} active webhook workflows, and one call starts no more; send workflowId, or the token of those that are meant.`,
        );
      return { tenantId, entitlements, workflows, only: null };
    }
    const start = await findStartable(tx, tenantId, body.workflowId);
    if (start === null) throw notFound('workflow', body.workflowId);
    return { tenantId, entitlements: start.entitlements, workflows: [{ ...start, tenantId }], only: start };
  });
}

/** The runs that an idempotency key started before; null for none. */
async function findKey(tx: Transaction, tenantId: string, key: string): Promise<string[] | null> {
  const [first] = await tx
    .select({ runIds: hookKeys.runIds })
    .from(hookKeys)
    .where(and(eq(hookKeys.tenantId, tenantId), eq(hookKeys.key, key), gt(hookKeys.expiresAt, sql`now()`)));
  return first?.runIds ?? null;
}

/** Claims an idempotency key in the transaction that starts its runs; answers the first runs when the key was used before. */
async function claimKey(tx: Transaction, tenantId: string, key: string, runIds: string[]): Promise<string[] | null> {
  await tx
    .delete(hookKeys)
    .where(and(eq(hookKeys.tenantId, tenantId), eq(hookKeys.key, key), lte(hookKeys.expiresAt, sql`now()`)));
  const inserted = await tx
    .insert(hookKeys)
    .values({ tenantId, key, runIds, expiresAt: sql`now() + interval '24 hours'` })
    .onConflictDoNothing()
    .returning({ key: hookKeys.key });
  return inserted.length > 0 ? null : findKey(tx, tenantId, key);
}

class DuplicateKey extends Error {
  readonly runIds: string[];
  constructor(runIds: string[]) {
    super('this idempotencyKey started runs before');
    this.runIds = runIds;
  }
}

/** By what a call that names no run of before finds its workflow again; null for one that may start several, or was made before. */
function keyOf(caller: HookCaller, { workflowId, idempotencyKey }: InboundBody): string | null {
  if (idempotencyKey !== undefined) return null;
  if (caller.kind === 'webhook-token')
    return `hook ${webhookTokenHash(caller.token).toString('base64')} ${workflowId ?? ''}`;
  return workflowId === undefined ? null : `${caller.tenantId} ${workflowId}`;
}

/** Starts the workflows that an inbound hook opens, all of them or none. */
export async function startInbound(
  deps: { db: Database; runs: Runs; validateSteps: StepValidator; known: KnownStarts },
  caller: HookCaller,
  body: InboundBody,
  { depth, runId: callingRunId }: HookOrigin,
): Promise<Started> {
  const { db } = deps;
  const trigger: { type: string } & JsonObject = {
    type: 'webhook',
    ...(body.event === undefined ? {} : { event: body.event }),
  };
  const request: StartRequest = {
    trigger,
    context: body.context,
    payload: body.payload,
    payloadPath: 'body.payload',
    environment: caller.kind === 'token' ? caller.environment : 'live',
    depth,
  };
  const key = keyOf(caller, body);
  if (key !== null && callingRunId === null && depth < maxRunDepth) {
    const known = await deps.known.start(key, request);
    if (known !== null) return { ...known, status: 'queued' };
  }
  const { tenantId, entitlements, workflows, only } =
    caller.kind === 'token'
      ? await resolveByKey(db, caller.tenantId, body)
      : await resolveByToken(db, caller.token, body);
  if (depth >= maxRunDepth)
    throw new AppError(
      'conflict',
      `This call comes out of ${depth} runs that each started the next; a loop is ended here.`,
    );
  if (workflows.length === 0)
    throw new AppError('not_found', 'There is no active webhook workflow that this event could start.');
  for (const workflow of workflows) assertStartable(workflow, entitlements, deps.validateSteps);
  if (key !== null && only !== null) deps.known.learn(key, only);
  try {
    const accepted = await db.workspace(tenantId, async (tx) => {
      const jobs: PromisedJob[] = [];
      const runIds: string[] = [];
      const after: (() => void)[] = [];
      // What was accepted once stays accepted, whatever the workflow asks of a payload by now.
      const known = body.idempotencyKey === undefined ? null : await findKey(tx, tenantId, body.idempotencyKey);
      if (known !== null) throw new DuplicateKey(known);
      // Naming a run only ever takes the right to approve away, and only from people of its own workspace.
      const requestedBy = callingRunId === null ? [] : await listRequesters(tx, tenantId, callingRunId);
      for (const workflow of workflows) {
        const run = await startRun(tx, deps, workflow, entitlements, { ...request, requestedBy });
        jobs.push(run.job);
        runIds.push(run.runId);
        after.push(run.committed);
      }
      if (body.idempotencyKey !== undefined) {
        const earlier = await claimKey(tx, tenantId, body.idempotencyKey, runIds);
        if (earlier !== null) throw new DuplicateKey(earlier);
      }
      return { jobs, runIds, after };
    });
    accepted.after.forEach((tell) => tell());
    deps.runs.dispatch(accepted.jobs);
    return {
      runId: accepted.runIds[0] as string,
      status: 'queued',
      ...(accepted.runIds.length > 1 ? { runIds: accepted.runIds } : {}),
    };
  } catch (error) {
    if (!(error instanceof DuplicateKey)) throw error;
    const runId = error.runIds[0] as string;
    const [row] = await db.read(tenantId, (tx) =>
      tx
        .select({ status: runs.status })
        .from(runs)
        .where(and(eq(runs.tenantId, tenantId), eq(runs.id, runId))),
    );
    return {
      runId,
      status: row?.status ?? 'queued',
      duplicate: true,
      ...(error.runIds.length > 1 ? { runIds: error.runIds } : {}),
    };
  }
}
