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
 * The tables of the engine and their invariants.
 *
 * Over 300 lines: the tables belong to one engine and refer to each other.
 */

/** Current definitions of workflows. The engine only reads them; the automations product edits them. */
export const workflows = pgTable(
  'workflows',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    active: boolean('active').notNull(),
    version: integer('version').notNull(),
    /** A webhook token in the trigger is encrypted. */
    trigger: jsonb('trigger').$type<Trigger>().notNull(),
    steps: jsonb('steps').$type<Step[]>().notNull(),
    /** The payload that runs of the workflow accept; null for any payload. */
    inputs: jsonb('inputs').$type<WorkflowInputs>(),
    /** SHA-256 of the webhook token. Inbound webhooks find the workflow by it. */
    webhookTokenHash: bytea('webhook_token_hash'),
    /** When the workflow received its token. If two workspaces use the same token, a call without an id belongs to the one that had it first. */
    webhookTokenSince: instant('webhook_token_since'),
    /** Event type of an event trigger. Events find their workflows by it. */
    eventType: text('event_type'),
    /** When the schedule fires next; null without a schedule, or if it does not fire again or is not active. */
    nextRunAt: instant('next_run_at'),
    limits: jsonb('limits').$type<WorkflowLimits>(),
    /** `test` if an API key of the test environment saved the workflow last. All its runs are then test runs. */
    environment: text('environment').$type<'live' | 'test'>().notNull().default('live'),
    /** The object that created the workflow and keeps it up to date; null for a workflow that a user or API key created. */
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

/** Whether lists show the workflow. Workflows that only execute direct calls of a skill are hidden. */
export const isShown = sql`(${workflows.origin}->>'kind') is distinct from 'skill'`;

/** Versions of workflows. A run uses the version that it started with until it ends. */
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
    /**
     * The actors that created this version, last changed its trigger, steps, limits or inputs, and last activated the workflow:
     * `user:<id>`, `token:<id>` or another actor.
     */
    changedBy: text('changed_by'),
    definedBy: text('defined_by'),
    activatedBy: text('activated_by'),
    /** The actor that last changed each field, and the publisher of the pack that the workflow was made from. */
    authors: jsonb('authors').$type<FieldAuthors>().notNull().default({}),
    createdAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.workflowId, table.version] }), ...policies()],
);

/** A flow groups a run and its retries. */
export const flows = pgTable(
  'flows',
  {
    id: uuid('id').primaryKey(),
    tenantId: hotTenantId(),
    workflowId: uuid('workflow_id').notNull(),
    revision: integer('revision').notNull(),
    /** The subject of the runs, for example a conversation of Live Chat. Erasing the subject also erases the runs. */
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

/** Erased subjects, until their runs are erased as well. */
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
 * - `wake_at` is the time from which the run needs a worker. It is null exactly when the run is final, waits for an approval, or waits
 *   in a concurrency queue without a timer.
 * - `waits_for` is set exactly while a limit or a policy delays the start of the run. The run is then in the concurrency queue of its
 *   workflow and environment, ordered by id. Only the first run of a queue can have a `wake_at`. The transaction that ends a run starts
 *   the next runs of the queue.
 * - A claim sets `fence` to a value that no other holder ever had (`nextFence`), and `holder_id` to the process. The process holds the run
 *   until the run ends or waits, or until the lease of the process expires. Every write of a worker checks the fence, so an earlier holder
 *   writes nothing.
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
    /** The run with the step that waits for this run. */
    parentRunId: uuid('parent_run_id'),
    /** Length of the chain of runs that led to this one. */
    depth: integer('depth').notNull().default(0),
    /**
     * Users and API keys that started or retried this run, or a run that led to it: `user:<id>`, `token:<id>`. `readRunPeople` adds the
     * authors of the workflow.
     */
    requestedBy: text('requested_by')
      .array()
      .notNull()
      .default(sql`'{}'`),
    /**
     * Users and API keys that wrote content that the run used, apart from its own version: runs that led to it, agents, tool profiles,
     * models.
     */
    authoredBy: text('authored_by')
      .array()
      .notNull()
      .default(sql`'{}'`),
    /** The span that accepted the run, as a W3C `traceparent`; null if it was not traced. */
    traceParent: text('trace_parent'),
    /** Values can exceed 2^53, so JavaScript reads them as text. */
    fence: bigint('fence', { mode: 'bigint' })
      .notNull()
      .default(sql`0`),
    /** The process that holds the run (`worker_processes`). */
    holderId: uuid('holder_id'),
    wakeAt: instant('wake_at'),
    waitsFor: text('waits_for').$type<QueueReason>(),
    /** Incremented by each wake-up, so that a worker which suspends the run detects a concurrent wake-up. */
    wakeCount: integer('wake_count').notNull().default(0),
    /** Number of consecutive holders that lost their lease before a step was completed. A run that crashes its workers is ended. */
    lostLeases: integer('lost_leases').notNull().default(0),
    /** The fences of holders whose process ended while it executed `step`. Counts of earlier steps are not kept. */
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
    // Runs that need a worker, by workspace, so that a claim does not read the backlog of other workspaces.
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
 * Processes that execute runs. A process holds all its runs under one lease, which it renews. A row is removed only when the lease has
 * expired and no run refers to the row.
 */
export const workerProcesses = pgTable(
  'worker_processes',
  { id: uuid('id').primaryKey(), leaseExpiresAt: instant('lease_expires_at').notNull() },
  () => [pgPolicy('system', { for: 'all', to: systemRole, using: sql`true`, withCheck: sql`true` })],
);

/**
 * Number of recently started runs of an environment in time slices: of a workflow by the second, of a workspace by the minute. Rows exist only
 * where a limit needs them. Without rows, the starts are counted from the runs.
 */
export const runStarts = pgTable(
  'run_starts',
  {
    /** Id of the workflow or the workspace. */
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

/** What a suspended step waits for. */
export type StepWait =
  | { kind: 'node_command'; commandId: string }
  | { kind: 'approval'; approvalId: string }
  | { kind: 'run'; runId: string }
  | { kind: 'delay' }
  /** `of` is what an open tool call of an agent still waits for, or what has answered it. */
  | { kind: 'retry'; of?: Exclude<StepWait, { kind: 'delay' } | { kind: 'retry' }> };

/** A failed attempt of a step that was or will be retried. */
export interface RetriedAttempt {
  /** From 1. */
  attempt: number;
  /** In the format in which PostgreSQL writes a time as JSON. */
  startedAt: string;
  finishedAt: string;
  /** The message is truncated. */
  error: { code: string; message: string };
}

/** Started steps of runs. The table has monthly partitions by the id of the run. */
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
    /** The progress of a step with several parts, for example the turns of an agent. */
    state: jsonb('state').$type<JsonObject>(),
    output: jsonb('output').$type<JsonValue>(),
    outputText: text('output_text'),
    /** The resolved input of the step, for display only. Workers do not read it. */
    input: jsonb('input').$type<JsonValue>(),
    /** Whether the input was too large to store; null if the step has not been called. */
    inputOmitted: boolean('input_omitted'),
    /** Size of the output and its text as UTF-8, in bytes. The total per run is limited. */
    outputBytes: integer('output_bytes').notNull().default(0),
    error: jsonb('error').$type<RunFailure>(),
    startedAt: instant('started_at'),
    finishedAt: instant('finished_at'),
    /** Failed attempts in order, including the current one while it waits for its retry; null if there are none. */
    retriedAttempts: jsonb('retried_attempts').$type<RetriedAttempt[]>(),
    /** When the current attempt started; null for the first attempt, which started with the step. */
    attemptStartedAt: instant('attempt_started_at'),
  },
  (table) => [primaryKey({ columns: [table.runId, table.index] }), ...policies()],
);

/**
 * The effects ledger. A call writes its intent before the external effect, and its receipt together with its result. An intent without a
 * receipt means that the outcome is unknown. A worker that finds an intent or a receipt of a `once` call that it did not write itself
 * must not make the call.
 */
export const effects = pgTable(
  'effects',
  {
    runId: uuid('run_id')
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    stepIndex: integer('step_index').notNull(),
    attempt: integer('attempt').notNull(),
    /** Number of the tool call of an agent; 0 for the step itself. */
    call: integer('call').notNull().default(0),
    tenantId: hotTenantId(),
    skillId: text('skill_id').notNull(),
    kind: text('kind').$type<'keyed' | 'once'>().notNull(),
    /** The declaration that wrote the intent; null for intents of versions before 0080, which stored none. */
    declarationId: uuid('declaration_id'),
    intentAt: instant('intent_at').notNull().defaultNow(),
    receiptAt: instant('receipt_at'),
  },
  (table) => [primaryKey({ columns: [table.runId, table.stepIndex, table.attempt, table.call] }), ...policies()],
);

/** Results of the runs that ended in a time slice. The sweep fills it when the slice is complete. */
export const runRollups = pgTable(
  'run_rollups',
  {
    tenantId: tenantId(),
    sliceAt: instant('slice_at').notNull(),
    succeeded: integer('succeeded').notNull(),
    failed: integer('failed').notNull(),
    cancelled: integer('cancelled').notNull(),
    /** Counts by bucket of a logarithmic scale: the latency from acceptance to start, and the duration from start to end. */
    queueHistogram: jsonb('queue_histogram').$type<Record<string, number>>().notNull(),
    runHistogram: jsonb('run_histogram').$type<Record<string, number>>().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.sliceAt] }),
    index('run_rollups_age').on(table.sliceAt).concurrently(),
    ...policies(),
  ],
);
