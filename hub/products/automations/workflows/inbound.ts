import type { z } from 'zod';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { hooks } from '../../../../shared/contract/automations/runs.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { maxRunDepth, readRunPeople, starterOf } from '../../../engine/index.ts';
import type { PromisedJob } from '../../../engine/index.ts';
import { runs } from '../../../engine/schema.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq, lte, sql } from '../../../platform/db/orm.ts';
import type { Runs } from '../runs/index.ts';
import { hookKeys } from './schema.ts';
import { startRun } from './start.ts';
import type { StartRequest } from './start.ts';
import { assertStartable, webhookTokenHash } from './startable.ts';
import type { StepValidator } from './startable.ts';
import { findByWebhookToken, findStartable } from './store.ts';
import type { DefinedStart } from './store.ts';
import { listWebhookWorkflows, maxHookWorkflows } from './triggered.ts';
import type { WorkflowStartCache } from './workflow-start-cache.ts';

export type InboundBody = z.output<typeof hooks.inboundAutomationHook.body>;

/** Who called the inbound hook: a key of a workspace, or somebody who knows a workflow's webhook token. */
export type HookCaller =
  | { kind: 'token'; tenantId: string; tokenId: string; environment: 'live' | 'test' }
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

export const tokenMismatch = () =>
  new AppError(
    'webhook_token_mismatch',
    'X-Service-Automation-Token opens no such workflow; send the webhook.token of its trigger.',
  );

const nothingToStart = () =>
  new AppError('not_found', 'There is no active webhook workflow that this event could start.');

const accepts = ({ events }: DefinedStart, event: string | undefined) =>
  events === null || (event !== undefined && events.includes(event));

/** What a hook opens: workflows of one workspace. */
interface Opened {
  tenantId: string;
  workflowIds: string[];
  /** The workflow when it is one alone; several are read one at a time while they are started. */
  single: DefinedStart | null;
  /** Whether every call with this credential opens that workflow alone. */
  isConstant: boolean;
}

async function resolveByToken(db: Database, token: string, body: InboundBody): Promise<Opened> {
  const all = await findByWebhookToken(db, webhookTokenHash(token), body.workflowId);
  const opened = body.workflowId === undefined ? all.filter((match) => match.active) : all;
  if (opened.length === 0) throw tokenMismatch();
  const matches = body.workflowId === undefined ? opened.filter((match) => accepts(match, body.event)) : opened;
  const [first] = matches;
  if (first === undefined) throw nothingToStart();
  return {
    tenantId: first.tenant_id,
    workflowIds: matches.map(({ id }) => id),
    single: all.length === 1 ? first : null,
    // The next call may name another event.
    isConstant: body.workflowId !== undefined || first.events === null,
  };
}

async function resolveByKey(
  db: Database,
  { tenantId, environment }: Extract<HookCaller, { kind: 'token' }>,
  body: InboundBody,
): Promise<Opened> {
  return db.read(tenantId, async (tx) => {
    if (body.workflowId === undefined) {
      const workflows = await listWebhookWorkflows(tx, tenantId, body.event as string);
      // Of a live call, only live workflows can be too many: a test key can save the others.
      if (
        (environment === 'live' ? workflows.filter((found) => found.environment === 'live') : workflows).length >
        maxHookWorkflows
      )
        throw new AppError(
          'conflict',
          `This workspace has more than ${maxHookWorkflows} active webhook workflows, and one call starts no more; send workflowId, or the token of those that are meant.`,
        );
      return {
        tenantId,
        workflowIds: workflows.slice(0, maxHookWorkflows).map(({ id }) => id),
        single: null,
        isConstant: false,
      };
    }
    const start = await findStartable(tx, tenantId, body.workflowId);
    if (start === null) throw notFound('workflow', body.workflowId);
    return { tenantId, workflowIds: [start.id], single: start, isConstant: true };
  });
}

/**
 * An `idempotencyKey` as it is stored: within the workflow that the call names and the environment of the caller, or else within the credential and the event. A key of one
 * scope never answers the runs of another.
 */
function storedKeyOf(caller: HookCaller, { workflowId, event }: InboundBody, key: string): string {
  // A test call must not stand for a live one: its run sends nothing.
  const environment = caller.kind === 'token' && caller.environment === 'test' ? 'test ' : '';
  if (workflowId !== undefined) return `workflow:${workflowId.toLowerCase()} ${environment}${key}`;
  const credential = caller.kind === 'token' ? caller.tokenId : webhookTokenHash(caller.token).toString('base64');
  return `event:${credential} ${JSON.stringify(event)} ${key}`;
}

/** An idempotency key of a call, and the workflows that the call starts. */
interface GivenKey {
  /** As the caller gave it. */
  given: string;
  stored: string;
  workflowIds: readonly string[];
}

/**
 * The runs that an idempotency key started before; null for none. A key that an earlier version of the hub stored has no scope: it counts for
 * the workflows that it started, until it expires.
 */
async function findKey(tx: Transaction, tenantId: string, key: GivenKey): Promise<string[] | null> {
  const { rows } = await tx.query<{ run_ids: string[] }>(
    'find_hook_key',
    `SELECT k.run_ids FROM hook_keys k WHERE k.tenant_id = $1 AND k.expires_at > now()
       AND (k.key = $2 OR (k.key = $3 AND k.run_ids <@ ARRAY(SELECT r.id FROM runs r WHERE r.tenant_id = $1 AND r.id = ANY(k.run_ids) AND r.workflow_id = ANY($4::uuid[]))))
     ORDER BY k.key = $2 DESC LIMIT 1`,
    [tenantId, key.stored, key.given, key.workflowIds],
  );
  return rows[0]?.run_ids ?? null;
}

/** Claims an idempotency key in the transaction that starts its runs; answers the first runs when the key was used before. */
async function claimKey(tx: Transaction, tenantId: string, key: GivenKey, runIds: string[]): Promise<string[] | null> {
  await tx
    .delete(hookKeys)
    .where(and(eq(hookKeys.tenantId, tenantId), eq(hookKeys.key, key.stored), lte(hookKeys.expiresAt, sql`now()`)));
  const inserted = await tx
    .insert(hookKeys)
    .values({ tenantId, key: key.stored, runIds, expiresAt: sql`now() + interval '24 hours'` })
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

/** Refusals of one workflow, made before anything of its run is written. */
const workflowRefusals: readonly string[] = [
  'workflow_inactive',
  'workflow_invalid',
  'validation_failed',
  'workflow_limit_reached',
];

/** Starts the workflows that an inbound hook opens, all of them or none; of several, a test workflow that refuses a live call is left out. */
export async function startInbound(
  deps: { db: Database; runs: Runs; validateSteps: StepValidator; known: WorkflowStartCache },
  caller: HookCaller,
  body: InboundBody,
  { depth, runId: callingRunId }: HookOrigin,
): Promise<Started> {
  const { db } = deps;
  const trigger: { type: string } & JsonObject = {
    type: 'webhook',
    ...(body.event === undefined ? {} : { event: body.event }),
  };
  // The authors of a workflow count as starters of the runs that a hook starts; a key adds itself.
  const starters = caller.kind === 'token' ? starterOf(`token:${caller.tokenId}`) : [];
  const request: StartRequest = {
    trigger,
    context: body.context,
    payload: body.payload,
    payloadPath: 'body.payload',
    environment: caller.kind === 'token' ? caller.environment : 'live',
    depth,
    requestedBy: starters,
  };
  const key = keyOf(caller, body);
  if (key !== null && callingRunId === null && depth < maxRunDepth) {
    const known = await deps.known.start(key, request);
    if (known !== null) return { ...known, status: 'queued' };
  }
  const { tenantId, workflowIds, single, isConstant } =
    caller.kind === 'token' ? await resolveByKey(db, caller, body) : await resolveByToken(db, caller.token, body);
  if (depth >= maxRunDepth)
    throw new AppError(
      'conflict',
      `This call comes out of ${depth} runs that each started the next; a loop is ended here.`,
    );
  if (workflowIds.length === 0) throw nothingToStart();
  if (single !== null) assertStartable(single, single.entitlements, deps.validateSteps);
  if (key !== null && single !== null && isConstant) deps.known.learn(key, single);
  const given: GivenKey | null =
    body.idempotencyKey === undefined
      ? null
      : {
          given: body.idempotencyKey,
          stored: storedKeyOf(caller, body, body.idempotencyKey),
          workflowIds,
        };
  try {
    const accepted = await db.workspace(tenantId, async (tx) => {
      const jobs: PromisedJob[] = [];
      const runIds: string[] = [];
      const after: (() => void)[] = [];
      // What was accepted once stays accepted, whatever the workflow asks of a payload by now.
      const known = given === null ? null : await findKey(tx, tenantId, given);
      if (known !== null) throw new DuplicateKey(known);
      // Naming a run only ever takes the right to approve away, and only from users and keys of its own workspace.
      const calling = callingRunId === null ? null : await readRunPeople(tx, tenantId, callingRunId);
      const requestedBy = [...new Set([...starters, ...(calling?.starters ?? [])])];
      let leftOut: AppError | undefined;
      for (const workflowId of workflowIds) {
        const workflow = single ?? (await findStartable(tx, tenantId, workflowId));
        if (workflow === null) throw notFound('workflow', workflowId);
        try {
          const run = await startRun(tx, deps, { ...workflow, tenantId }, workflow.entitlements, {
            ...request,
            requestedBy,
            authoredBy: calling?.authors ?? [],
          });
          jobs.push(run.job);
          runIds.push(run.runId);
          after.push(run.committed);
        } catch (error) {
          // A test key can save a test workflow, and must not stop live runs by it.
          const isLeftOut = workflow.environment === 'test' && request.environment === 'live';
          if (!isLeftOut || !(error instanceof AppError) || !workflowRefusals.includes(error.code)) throw error;
          leftOut ??= error;
        }
      }
      if (runIds.length === 0 && leftOut !== undefined) throw leftOut;
      if (given !== null) {
        const earlier = await claimKey(tx, tenantId, given, runIds);
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
