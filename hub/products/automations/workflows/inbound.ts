import type { z } from 'zod';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { hooks } from '../../../../shared/contract/automations/runs.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { maxRunDepth, readRunPeople, starterOf } from '../../../engine/index.ts';
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

/** The caller of the inbound hook: an API key of a workspace, or a caller with the webhook token of a workflow. */
export type HookCaller =
  | { kind: 'token'; tenantId: string; tokenId: string; environment: 'live' | 'test' }
  | { kind: 'webhook-token'; token: string };

/** The origin of a call: the calling run, and the length of the chain of runs that led to it. */
export interface HookOrigin {
  depth: number;
  runId: string | null;
}

/** The response of the inbound hook. */
export interface Started {
  runId: string;
  status: RunStatus;
  runIds?: string[];
  duplicate?: true;
}

export const tokenMismatch = () =>
  new AppError(
    'webhook_token_mismatch',
    'X-Service-Automation-Token does not match the workflow. Send the webhook.token of its trigger.',
  );

const noWorkflowError = () => new AppError('not_found', 'No active webhook workflow accepts this event.');

const accepts = ({ events }: DefinedStart, event: string | undefined) =>
  events === null || (event !== undefined && events.includes(event));

/** The workflows of one workspace that a call starts. */
interface ResolvedHook {
  tenantId: string;
  workflowIds: string[];
  /** The workflow when it is the only one. Several workflows are read one at a time while they are started. */
  single: DefinedStart | null;
  /** Whether every call with this credential starts only this workflow. */
  isCacheable: boolean;
}

async function resolveByToken(db: Database, token: string, body: InboundBody): Promise<ResolvedHook> {
  const all = await findByWebhookToken(db, webhookTokenHash(token), body.workflowId);
  const opened = body.workflowId === undefined ? all.filter((match) => match.active) : all;
  if (opened.length === 0) throw tokenMismatch();
  const matches = body.workflowId === undefined ? opened.filter((match) => accepts(match, body.event)) : opened;
  const [first] = matches;
  if (first === undefined) throw noWorkflowError();
  return {
    tenantId: first.tenant_id,
    workflowIds: matches.map(({ id }) => id),
    single: all.length === 1 ? first : null,
    // The next call may name another event.
    isCacheable: body.workflowId !== undefined || first.events === null,
  };
}

async function resolveByKey(
  db: Database,
  { tenantId, environment }: Extract<HookCaller, { kind: 'token' }>,
  body: InboundBody,
): Promise<ResolvedHook> {
  return db.read(tenantId, async (tx) => {
    if (body.workflowId === undefined) {
      const workflows = await listWebhookWorkflows(tx, tenantId, body.event as string);
      // For a live call, only live workflows count towards the limit, because a test key can save any number of test
      // workflows.
      if (
        (environment === 'live' ? workflows.filter((found) => found.environment === 'live') : workflows).length >
        maxHookWorkflows
      )
        throw new AppError(
          'conflict',
          `This workspace has more than ${maxHookWorkflows} active webhook workflows, which is the maximum per call. Send workflowId, or the token of specific workflows.`,
        );
      return {
        tenantId,
        workflowIds: workflows.slice(0, maxHookWorkflows).map(({ id }) => id),
        single: null,
        isCacheable: false,
      };
    }
    const start = await findStartable(tx, tenantId, body.workflowId);
    if (start === null) throw notFound('workflow', body.workflowId);
    return { tenantId, workflowIds: [start.id], single: start, isCacheable: true };
  });
}

/**
 * The stored form of an `idempotencyKey`. Its scope is the named workflow and the environment of the caller, or else
 * the credential and the event. A key of one scope never returns the runs of another scope.
 */
function storedKeyOf(caller: HookCaller, { workflowId, event }: InboundBody, key: string): string {
  // A test call must not count as the duplicate of a live call, because its run sends nothing.
  const environment = caller.kind === 'token' && caller.environment === 'test' ? 'test ' : '';
  if (workflowId !== undefined) return `workflow:${workflowId.toLowerCase()} ${environment}${key}`;
  const credential = caller.kind === 'token' ? caller.tokenId : webhookTokenHash(caller.token).toString('base64');
  return `event:${credential} ${JSON.stringify(event)} ${key}`;
}

/** The idempotency key of a call, and the workflows that the call starts. */
interface IdempotencyKey {
  /** The key as the caller sent it. */
  given: string;
  stored: string;
  workflowIds: readonly string[];
}

/**
 * The runs that an idempotency key started earlier; null for a new key. Keys that earlier versions of the hub stored
 * have no scope. Until they expire, they are valid for the workflows that they started.
 */
async function findKey(tx: Transaction, tenantId: string, key: IdempotencyKey): Promise<string[] | null> {
  const { rows } = await tx.query<{ run_ids: string[] }>(
    'find_hook_key',
    `SELECT k.run_ids FROM hook_keys k WHERE k.tenant_id = $1 AND k.expires_at > now()
       AND (k.key = $2 OR (k.key = $3 AND k.run_ids <@ ARRAY(SELECT r.id FROM runs r WHERE r.tenant_id = $1 AND r.id = ANY(k.run_ids) AND r.workflow_id = ANY($4::uuid[]))))
     ORDER BY k.key = $2 DESC LIMIT 1`,
    [tenantId, key.stored, key.given, key.workflowIds],
  );
  return rows[0]?.run_ids ?? null;
}

/**
 * Claims an idempotency key in the transaction that starts its runs. @returns the first runs when the key is not new;
 * otherwise null.
 */
async function claimKey(
  tx: Transaction,
  tenantId: string,
  key: IdempotencyKey,
  runIds: string[],
): Promise<string[] | null> {
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
    super('this idempotencyKey already started runs');
    this.runIds = runIds;
  }
}

/**
 * The cache key of a call without an idempotency key; null for a call that may start several workflows or has an
 * idempotency key.
 */
function cacheKeyOf(caller: HookCaller, { workflowId, idempotencyKey }: InboundBody): string | null {
  if (idempotencyKey !== undefined) return null;
  if (caller.kind === 'webhook-token')
    return `hook ${webhookTokenHash(caller.token).toString('base64')} ${workflowId ?? ''}`;
  return workflowId === undefined ? null : `${caller.tenantId} ${workflowId}`;
}

/** Refusals that concern one workflow and precede all writes of its run. */
const workflowRefusals: readonly string[] = [
  'workflow_inactive',
  'workflow_invalid',
  'validation_failed',
  'workflow_limit_reached',
];

/**
 * Starts all workflows that an inbound hook opens, or none. When there are several, a test workflow that refuses a live
 * call is skipped.
 */
export async function startInbound(
  deps: { db: Database; runs: Runs; validateSteps: StepValidator; startCache: WorkflowStartCache },
  caller: HookCaller,
  body: InboundBody,
  { depth, runId: callingRunId }: HookOrigin,
): Promise<Started> {
  const { db } = deps;
  const trigger: { type: string } & JsonObject = {
    type: 'webhook',
    ...(body.event === undefined ? {} : { event: body.event }),
  };
  // The authors of a workflow count as starters of the runs that a hook starts. An API key is added as a starter.
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
  const key = cacheKeyOf(caller, body);
  if (key !== null && callingRunId === null && depth < maxRunDepth) {
    const run = await deps.startCache.start(key, request);
    if (run !== null) return { ...run, status: 'queued' };
  }
  const { tenantId, workflowIds, single, isCacheable } =
    caller.kind === 'token' ? await resolveByKey(db, caller, body) : await resolveByToken(db, caller.token, body);
  if (depth >= maxRunDepth)
    throw new AppError(
      'conflict',
      `This call is the result of ${depth} runs that each started the next. The hub stops such loops.`,
    );
  if (workflowIds.length === 0) throw noWorkflowError();
  if (single !== null) assertStartable(single, single.entitlements, deps.validateSteps);
  if (key !== null && single !== null && isCacheable) deps.startCache.store(key, single);
  const given: IdempotencyKey | null =
    body.idempotencyKey === undefined
      ? null
      : {
          given: body.idempotencyKey,
          stored: storedKeyOf(caller, body, body.idempotencyKey),
          workflowIds,
        };
  try {
    const runIds = await db.workspace(tenantId, async (tx) => {
      const started: string[] = [];
      // A duplicate of an accepted call returns its runs, even when the workflow would now refuse the payload.
      const found = given === null ? null : await findKey(tx, tenantId, given);
      if (found !== null) throw new DuplicateKey(found);
      // The run id is not authenticated. It can only remove the right to approve, and only from users and keys of its
      // own workspace.
      const calling = callingRunId === null ? null : await readRunPeople(tx, tenantId, callingRunId);
      const requestedBy = [...new Set([...starters, ...(calling?.starters ?? [])])];
      let skipped: AppError | undefined;
      for (const workflowId of workflowIds) {
        const workflow = single ?? (await findStartable(tx, tenantId, workflowId));
        if (workflow === null) throw notFound('workflow', workflowId);
        try {
          const run = await startRun(tx, deps, { ...workflow, tenantId }, workflow.entitlements, {
            ...request,
            requestedBy,
            authoredBy: calling?.authors ?? [],
          });
          started.push(run.runId);
        } catch (error) {
          // A test key can save a test workflow, which must not block live runs.
          const isSkippable = workflow.environment === 'test' && request.environment === 'live';
          if (!isSkippable || !(error instanceof AppError) || !workflowRefusals.includes(error.code)) throw error;
          skipped ??= error;
        }
      }
      if (started.length === 0 && skipped !== undefined) throw skipped;
      if (given !== null) {
        const earlier = await claimKey(tx, tenantId, given, started);
        if (earlier !== null) throw new DuplicateKey(earlier);
      }
      return started;
    });
    return { runId: runIds[0] as string, status: 'queued', ...(runIds.length > 1 ? { runIds } : {}) };
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
