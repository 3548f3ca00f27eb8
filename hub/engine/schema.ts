import type { QueueReason, RunStatus, StepStatus } from '../../shared/contract/automations/run-status.ts';
import type { Step } from '../../shared/contract/automations/steps.ts';
import type { Trigger } from '../../shared/contract/automations/triggers.ts';
import type { WorkflowLimits } from '../../shared/contract/automations/workflows.ts';
import type { WorkflowInputs } from '../../shared/inputs-schema.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import {
  bigint,
  boolean,
  index,
  integer,
  pgPolicy,
  pgTable,
  primaryKey,
  sql,
  text,
  uniqueIndex,
  uuid,
} from '../platform/db/orm.ts';
import {
  bytea,
  createdAt,
  hotTenantId,
  instant,
  jsonb,
  policies,
  systemRole,
  tenantId,
  updatedAt,
} from '../platform/db/tenancy.ts';
import type { FieldAuthors } from '../platform/field-authors.ts';

/**
 * The tables of the engine, and what always holds of them.
 *
 * Over 300 lines: they are tables of one engine, and refer to each other.
 */

/** What a workflow is now. The engine reads definitions; the product that edits them is another's business. */
export const workflows = pgTable(
  'workflows',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    active: boolean('active').notNull(),
    version: integer('version').notNull(),
    /** The webhook token inside is sealed. */
    trigger: jsonb('trigger').$type<Trigger>().notNull(),
    steps: jsonb('steps').$type<Step[]>().notNull(),
    /** Which payload a run of it takes; null for any. */
    inputs: jsonb('inputs').$type<WorkflowInputs>(),
    /** SHA-256 of the webhook token: how the inbound hook finds the workflow. */
    webhookTokenHash: bytea('webhook_token_hash'),
    /** Since when it has that token: of two workspaces with one token, a call without an id means the one that had it first. */
    webhookTokenSince: instant('webhook_token_since'),
    /** Event type of an event trigger: how an event finds its workflows. */
    eventType: text('event_type'),
    /** When a schedule fires next; null when it does not, or is not active. */
    nextRunAt: instant('next_run_at'),
    limits: jsonb('limits').$type<WorkflowLimits>(),
    /** `test` while a key of that environment saved it last: then all its runs are of it. */
    environment: text('environment').$type<'live' | 'test'>().notNull().default('live'),
    /** What made this workflow and keeps it up to date, if it was not a person. */
    origin: jsonb('origin').$type<
      | { kind: 'sequence' | 'agent' | 'skill'; id: string }
      | { kind: 'pack'; id: string; grants?: { skills: string[]; hosts: string[] } }
    >(),
    deletedAt: instant('deleted_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('workflows_tenant')
      .on(table.tenantId, table.id)
      .where(sql`deleted_at is null`),
    index('workflows_active')
      .on(table.tenantId, table.active, table.id)
      .where(sql`deleted_at is null`)
      .concurrently(),
    index('workflows_webhook')
      .on(table.tenantId, table.id)
      .where(sql`deleted_at is null and active and webhook_token_hash is not null`)
      .concurrently(),
    index('workflows_channel')
      .on(table.tenantId, table.id)
      .where(sql`deleted_at is null and active and trigger->>'type' = 'channel'`)
      .concurrently(),
    index('workflows_schedule')
      .on(table.tenantId, table.id)
      .where(sql`deleted_at is null and trigger->>'type' = 'schedule'`)
      .concurrently(),
    index('workflows_restorable')
      .on(table.tenantId, table.deletedAt, table.id)
      .where(sql`deleted_at is not null and coalesce(origin->>'kind', 'pack') = 'pack'`)
      .concurrently(),
    index('workflows_event')
      .on(table.tenantId, table.eventType)
      .where(sql`deleted_at is null and active and event_type is not null`),
    index('workflows_next_run')
      .on(table.nextRunAt)
      .where(sql`next_run_at is not null`),
    index('workflows_origin')
      .on(table.tenantId, sql`(origin->>'kind')`, sql`(origin->>'id')`)
      .where(sql`deleted_at is null and origin is not null`),
    uniqueIndex('workflows_made_once')
      .on(table.tenantId, sql`(origin->>'kind')`, sql`(origin->>'id')`)
      .where(sql`deleted_at is null and origin->>'kind' in ('sequence', 'agent', 'skill')`)
      .concurrently(),
    index('workflows_webhook_token')
      .on(table.webhookTokenHash)
      .where(sql`deleted_at is null and webhook_token_hash is not null`),
    ...policies(),
  ],
);

/** Whether a workflow is one to show: not the one under which the calls of a skill by itself run. */
export const isShown = sql`(${workflows.origin}->>'kind') is distinct from 'skill'`;

/** What each version said; a run reads its own version for as long as it lives. */
export const workflowVersions = pgTable(
  'workflow_versions',
  {
    workflowId: uuid('workflow_id')
      .notNull()
      .references(() => workflows.id, { onDelete: 'cascade' }),
    version: integer('version').notNull(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    steps: jsonb('steps').$type<Step[]>().notNull(),
    inputs: jsonb('inputs').$type<WorkflowInputs>(),
    /** Who made this version, who last changed its trigger, steps, limits or inputs, and who last activated the workflow: `user:<id>`, `token:<id>` or another actor. */
    changedBy: text('changed_by'),
    definedBy: text('defined_by'),
    activatedBy: text('activated_by'),
    /** Who last changed each part of the content, and who published the pack that it was made from. */
    authors: jsonb('authors').$type<FieldAuthors>().notNull().default({}),
    createdAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.workflowId, table.version] }), ...policies()],
);

/** The ledger entry that a run and its retries share. */
export const flows = pgTable(
  'flows',
  {
    id: uuid('id').primaryKey(),
    tenantId: hotTenantId(),
    workflowId: uuid('workflow_id').notNull(),
    revision: integer('revision').notNull(),
    /** What its runs are about, such as a conversation of Live Chat: they go when that is erased. */
    subjectId: uuid('subject_id'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('flows_tenant').on(table.tenantId, table.id),
    index('flows_subject')
      .on(table.subjectId)
      .where(sql`subject_id is not null`)
      .concurrently(),
    index('flows_workflow').on(table.tenantId, table.workflowId, table.id).concurrently(),
    ...policies(),
  ],
);

/** What was erased, until the runs that are about it are gone too. */
export const erasedSubjects = pgTable(
  'erased_subjects',
  {
    subjectId: uuid('subject_id').primaryKey(),
    tenantId: tenantId(),
    erasedAt: instant('erased_at').notNull().defaultNow(),
  },
  () => policies(),
);

export interface RunFailure {
  code: string;
  message: string;
  stepIndex?: number;
}

/**
 * One attempt to run a version of a workflow. Invariants:
 * - `wake_at` says from when on the run wants a worker; it is null exactly when the run is final, waits for an approval, or is held by
 *   a limit that time alone does not open.
 * - `waits_for` is set exactly while a limit or a policy holds the run back before it begins: then it stands in the line of its
 *   workflow and environment, by id; only the first of a line has a `wake_at`. The transaction that makes room begins the first ones.
 * - a worker holds the run from a claim, which sets `fence` to a value that no other holder ever had (`nextFence`) and `holder_id` to
 *   its process, until the run finishes or waits, or the lease of the process ends. Every write of a worker names its fence, so that
 *   a worker that was overtaken writes nothing.
 * - `finished_at` is set exactly in the final states.
 */
export const runs = pgTable(
  'runs',
  {
    id: uuid('id').primaryKey(),
    tenantId: hotTenantId(),
    workflowId: uuid('workflow_id').notNull(),
    workflowVersion: integer('workflow_version').notNull(),
    flowId: uuid('flow_id').notNull(),
    status: text('status').$type<RunStatus>().notNull(),
    trigger: jsonb('trigger').$type<{ type: string } & JsonObject>().notNull(),
    context: text('context'),
    payload: jsonb('payload').$type<JsonObject>(),
    environment: text('environment').$type<'live' | 'test'>().notNull(),
    attempt: integer('attempt').notNull(),
    error: jsonb('error').$type<RunFailure>(),
    nextStep: integer('next_step').notNull().default(0),
    /** The run whose step waits for this one. */
    parentRunId: uuid('parent_run_id'),
    /** How many runs, each started by the one before, led to this one. */
    depth: integer('depth').notNull().default(0),
    /** Users and keys that started it, or a run that led to it, or ran one of these again: `user:<id>`, `token:<id>`. `readRunPeople` adds the authors of the workflow. */
    requestedBy: text('requested_by')
      .array()
      .notNull()
      .default(sql`'{}'`),
    /** Users and keys that wrote what the run used, besides its own version: runs that led to it, agents, tool profiles, models. */
    authoredBy: text('authored_by')
      .array()
      .notNull()
      .default(sql`'{}'`),
    /** The span that accepted it, as W3C's `traceparent`; null where nothing was traced then. */
    traceParent: text('trace_parent'),
    /** The values exceed 2^53: JavaScript reads them as text. */
    fence: bigint('fence', { mode: 'bigint' })
      .notNull()
      .default(sql`0`),
    /** The process whose worker holds it (`worker_processes`). */
    holderId: uuid('holder_id'),
    wakeAt: instant('wake_at'),
    waitsFor: text('waits_for').$type<QueueReason>(),
    /** Raised at each wake-up: a worker that is about to have its run wait sees that it was woken meanwhile. */
    wakeCount: integer('wake_count').notNull().default(0),
    /** Workers in a row whose lease ended while they held it, without one step done: a run that kills its workers is ended. */
    lostLeases: integer('lost_leases').notNull().default(0),
    /** The fences of holders whose process ended while it worked on this very step; none for any other step. */
    processDeaths: jsonb('process_deaths').$type<{ step: number; fences: string[] }>(),
    queuedAt: instant('queued_at').notNull(),
    startedAt: instant('started_at'),
    finishedAt: instant('finished_at'),
  },
  (table) => [
    index('runs_tenant').on(table.tenantId, table.id),
    index('runs_tenant_status').on(table.tenantId, table.status, table.id),
    index('runs_tenant_workflow').on(table.tenantId, table.workflowId, table.id),
    index('runs_version').on(table.workflowId, table.workflowVersion).concurrently(),
    index('runs_workflow_status').on(table.tenantId, table.workflowId, table.status, table.id).concurrently(),
    index('runs_tenant_finished')
      .on(table.tenantId, table.finishedAt, table.status, table.queuedAt, table.startedAt)
      .where(sql`finished_at is not null`),
    index('runs_open')
      .on(table.workflowId, table.id)
      .where(sql`finished_at is null`),
    index('runs_started')
      .on(table.tenantId, table.startedAt)
      .where(sql`started_at is not null`),
    index('runs_parent')
      .on(table.parentRunId)
      .where(sql`parent_run_id is not null`),
    index('runs_flow').on(table.flowId),
    index('runs_of_errors')
      .on(table.tenantId, table.id)
      .where(sql`trigger->>'type' = 'error'`)
      .concurrently(),
    // What wants a worker, by workspace, so that each one's share can be taken without reading another's backlog.
    index('runs_due')
      .on(table.tenantId, table.wakeAt)
      .where(sql`wake_at is not null and holder_id is null`)
      .concurrently(),
    index('runs_holder')
      .on(table.holderId)
      .where(sql`holder_id is not null`)
      .concurrently(),
    index('runs_under_way')
      .on(table.workflowId)
      .where(sql`started_at is not null and finished_at is null`)
      .concurrently(),
    index('runs_held_lines')
      .on(table.tenantId, table.workflowId, table.environment, table.id)
      .where(sql`waits_for is not null`)
      .concurrently(),
    index('runs_held_hour')
      .on(table.tenantId, table.id)
      .where(sql`waits_for = 'max_runs_per_hour'`)
      .concurrently(),
    ...policies(),
  ],
);

export type RunRow = typeof runs.$inferSelect;

/**
 * Processes that work on runs. A process holds its runs with one lease, which it renews. A row is removed only when its lease has
 * ended and no run names it.
 */
export const workerProcesses = pgTable(
  'worker_processes',
  { id: uuid('id').primaryKey(), leaseExpiresAt: instant('lease_expires_at').notNull() },
  () => [pgPolicy('system', { for: 'all', to: systemRole, using: sql`true`, withCheck: sql`true` })],
);

/**
 * How many runs of an environment began lately, counted in slices of time: of a workflow by the second, of a workspace by the minute. Only kept where
 * a limit asks for it, and counted anew from the runs where there is no row.
 */
export const runStarts = pgTable(
  'run_starts',
  {
    /** The workflow or the workspace. */
    scopeId: uuid('scope_id').notNull(),
    environment: text('environment').$type<'live' | 'test'>().notNull(),
    sliceAt: instant('slice_at').notNull(),
    tenantId: tenantId(),
    count: integer('count').notNull(),
    lastAt: instant('last_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.scopeId, table.environment, table.sliceAt] }),
    index('run_starts_age').on(table.sliceAt),
    ...policies(),
  ],
);

/** What a step that holds no worker waits for. */
export type StepWait =
  | { kind: 'node_command'; commandId: string }
  | { kind: 'approval'; approvalId: string }
  | { kind: 'run'; runId: string }
  | { kind: 'delay' }
  /** `of` is what an agent's open tool call still waits for, or has been answered by. */
  | { kind: 'retry'; of?: Exclude<StepWait, { kind: 'delay' } | { kind: 'retry' }> };

/** An attempt of a step that failed and was, or is to be, tried again. */
export interface RetriedAttempt {
  /** From 1. */
  attempt: number;
  /** As JSON of the database writes a time. */
  startedAt: string;
  finishedAt: string;
  /** The message is cut. */
  error: { code: string; message: string };
}

/** One step of a run, from the moment it began. The table lies by month, by the run's id. */
export const runSteps = pgTable(
  'run_steps',
  {
    runId: uuid('run_id')
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    index: integer('index').notNull(),
    tenantId: hotTenantId(),
    status: text('status').$type<StepStatus>().notNull(),
    attempts: integer('attempts').notNull(),
    wait: jsonb('wait').$type<StepWait>(),
    /** What a step of several parts has done so far, such as the turns of an agent. */
    state: jsonb('state').$type<JsonObject>(),
    output: jsonb('output').$type<JsonValue>(),
    outputText: text('output_text'),
    /** What it was called with, its templates filled in, for people to read; no worker does. */
    input: jsonb('input').$type<JsonValue>(),
    /** Whether that was too large to be kept; null as long as it was not called. */
    inputOmitted: boolean('input_omitted'),
    /** What output and its text take up, as UTF-8; the sum over a run is bounded. */
    outputBytes: integer('output_bytes').notNull().default(0),
    error: jsonb('error').$type<RunFailure>(),
    startedAt: instant('started_at'),
    finishedAt: instant('finished_at'),
    /** The attempts before the present one, and that one while it waits for the next, in order; null without any. */
    retriedAttempts: jsonb('retried_attempts').$type<RetriedAttempt[]>(),
    /** When the present attempt began; null for the first one, which began with the step. */
    attemptStartedAt: instant('attempt_started_at'),
  },
  (table) => [primaryKey({ columns: [table.runId, table.index] }), ...policies()],
);

/**
 * The effects ledger: a call writes its intent before it reaches out, and its receipt together with its result. An intent without a receipt means that the outcome
 * is unknown. A worker that finds an intent or a receipt of a `once` call that it did not write itself must not make the call.
 */
export const effects = pgTable(
  'effects',
  {
    runId: uuid('run_id')
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    stepIndex: integer('step_index').notNull(),
    attempt: integer('attempt').notNull(),
    /** Which call of an agent's tools it belongs to; 0 for the step itself. */
    call: integer('call').notNull().default(0),
    tenantId: hotTenantId(),
    skillId: text('skill_id').notNull(),
    kind: text('kind').$type<'keyed' | 'once'>().notNull(),
    /** Which declaration wrote the intent; null where a version before 0080 did. */
    declarationId: uuid('declaration_id'),
    intentAt: instant('intent_at').notNull().defaultNow(),
    receiptAt: instant('receipt_at'),
  },
  (table) => [primaryKey({ columns: [table.runId, table.stepIndex, table.attempt, table.call] }), ...policies()],
);

/** How the runs ended that finished in one slice of time; the sweep fills it once the slice is over. */
export const runRollups = pgTable(
  'run_rollups',
  {
    tenantId: tenantId(),
    sliceAt: instant('slice_at').notNull(),
    succeeded: integer('succeeded').notNull(),
    failed: integer('failed').notNull(),
    cancelled: integer('cancelled').notNull(),
    /** Counts by bucket of the logarithmic scale of latencies: from acceptance to the start, and from there to the end. */
    queueHistogram: jsonb('queue_histogram').$type<Record<string, number>>().notNull(),
    runHistogram: jsonb('run_histogram').$type<Record<string, number>>().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.sliceAt] }),
    index('run_rollups_age').on(table.sliceAt).concurrently(),
    ...policies(),
  ],
);
