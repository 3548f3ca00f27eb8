import { sql } from 'drizzle-orm';
import {
  bigint,
  bigserial,
  boolean,
  index,
  integer,
  pgPolicy,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { Permission, Product, Role } from '../../../shared/contract/define.ts';
import type { RunHold, RunStatus, StepStatus } from '../../../shared/contract/run-status.ts';
import type { WorkflowLimits } from '../../../shared/contract/workflows.ts';
import type { Step } from '../../../shared/contract/steps.ts';
import type { Trigger } from '../../../shared/contract/triggers.ts';
import { bytea, createdAt, instant, jsonb, policies, systemRole, tenantId, updatedAt } from './tenancy.ts';

/** People, workflows, runs and nodes; the other resources of Automations stand in automation-schema.ts. */

export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    email: text('email').notNull().unique('users_email'),
    passwordHash: text('password_hash').notNull(),
    role: text('role').$type<Role>().notNull(),
    createdAt: createdAt(),
  },
  (table) => [index('users_tenant').on(table.tenantId), ...policies()],
);

export const sessions = pgTable(
  'sessions',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    expiresAt: instant('expires_at').notNull(),
    revokedAt: instant('revoked_at'),
    createdAt: createdAt(),
  },
  (table) => [
    index('sessions_expiry').on(table.expiresAt),
    index('sessions_user').on(table.userId).concurrently(),
    ...policies(),
  ],
);

export const signInCodes = pgTable(
  'sign_in_codes',
  {
    codeHash: bytea('code_hash').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
    createdAt: createdAt(),
  },
  (table) => [
    index('sign_in_codes_expiry').on(table.expiresAt).concurrently(),
    index('sign_in_codes_user').on(table.userId, table.createdAt).concurrently(),
    ...policies(),
  ],
);

/** Addresses from which a person signed in: from these they may try on while strangers try too often. */
export const signInAddresses = pgTable(
  'sign_in_addresses',
  {
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Keyed, of the address and whose it is: nobody reads from it where somebody was. */
    addressHash: bytea('address_hash').notNull(),
    tenantId: tenantId(),
    usedAt: instant('used_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.addressHash] }),
    index('sign_in_addresses_age').on(table.usedAt),
    ...policies(),
  ],
);

export const apiTokens = pgTable(
  'api_tokens',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    product: text('product').$type<Product>().notNull(),
    environment: text('environment').$type<'live' | 'test'>().notNull(),
    permissions: text('permissions').array().$type<Permission[]>().notNull(),
    keyHint: text('key_hint').notNull(),
    secretHash: bytea('secret_hash').notNull().unique('api_tokens_secret'),
    ipAllowlist: text('ip_allowlist').array().notNull(),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
    lastUsedAt: instant('last_used_at'),
    /** Who made it, as the audit log names them, and so knows its secret. */
    createdBy: text('created_by'),
    createdAt: createdAt(),
  },
  (table) => [index('api_tokens_tenant').on(table.tenantId, table.id), ...policies()],
);

/** The first answer to a POST with an `Idempotency-Key`, for 24 hours; written by the transaction of what it did. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    tenantId: tenantId(),
    /** The credential that the key belongs to: `token:` and its id, or `webhook:` and the hash of a webhook token. */
    caller: text('caller').notNull(),
    key: text('key').notNull(),
    fingerprint: text('fingerprint').notNull(),
    responseStatus: integer('response_status').notNull(),
    /** Sealed, because some answers hold secrets that are shown once. */
    sealedAnswer: text('sealed_answer').notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.caller, table.key] }),
    index('idempotency_keys_expiry').on(table.expiresAt),
    ...policies(),
  ],
);

export const auditLog = pgTable(
  'audit_log',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    targetType: text('target_type').notNull(),
    targetId: text('target_id').notNull(),
    details: jsonb('details').$type<JsonObject>().notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('audit_log_tenant').on(table.tenantId, table.id),
    index('audit_log_actor').on(table.tenantId, table.actor, table.id).concurrently(),
    index('audit_log_type').on(table.tenantId, table.targetType, table.id).concurrently(),
    index('audit_log_target').on(table.tenantId, table.targetId, table.id).concurrently(),
    index('audit_log_actor_type').on(table.tenantId, table.actor, table.targetType, table.id).concurrently(),
    index('audit_log_actor_target').on(table.tenantId, table.actor, table.targetId, table.id).concurrently(),
    ...policies(),
  ],
);

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
      | { kind: 'sequence' | 'agent'; id: string }
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
    index('workflows_deleted')
      .on(table.deletedAt)
      .where(sql`deleted_at is not null`)
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
    uniqueIndex('workflows_derived')
      .on(table.tenantId, sql`(origin->>'kind')`, sql`(origin->>'id')`)
      .where(sql`deleted_at is null and origin->>'kind' in ('sequence', 'agent')`),
    index('workflows_webhook_token')
      .on(table.webhookTokenHash)
      .where(sql`deleted_at is null and webhook_token_hash is not null`),
    ...policies(),
  ],
);

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
    createdAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.workflowId, table.version] }), ...policies()],
);

/** The ledger entry that a run and its retries share. */
export const flows = pgTable(
  'flows',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    workflowId: uuid('workflow_id').notNull(),
    revision: integer('revision').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('flows_tenant').on(table.tenantId, table.id),
    index('flows_workflow').on(table.tenantId, table.workflowId, table.id).concurrently(),
    ...policies(),
  ],
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
 *   workflow, by id; only the first of a line has a `wake_at`, and whoever makes room begins the first ones.
 * - a worker holds the run from a claim, which raises `fence` and sets `lease_expires_at`, until it finishes, waits or loses
 *   the lease; every write of a worker names its fence, so one that was overtaken writes nothing.
 * - `finished_at` is set exactly in the final states.
 */
export const runs = pgTable(
  'runs',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
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
    /** The people who started it, or a run that led to it, or ran one of these again: `user:<id>`. They decide no approval of it that names people. */
    requestedBy: text('requested_by')
      .array()
      .notNull()
      .default(sql`'{}'`),
    fence: bigint('fence', { mode: 'number' }).notNull().default(0),
    leaseExpiresAt: instant('lease_expires_at'),
    wakeAt: instant('wake_at'),
    waitsFor: text('waits_for').$type<RunHold>(),
    /** Raised at each wake-up, so that each has a job id of its own. */
    wakeCount: integer('wake_count').notNull().default(0),
    /** Leases in a row that ran out with their worker, without one step done: a run that kills its workers is ended. */
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
    // What wants a worker, by workspace, so that each one's share can be taken without reading another's backlog.
    index('runs_due')
      .on(table.tenantId, table.wakeAt)
      .where(sql`wake_at is not null and lease_expires_at is null`)
      .concurrently(),
    index('runs_lease')
      .on(table.leaseExpiresAt)
      .where(sql`lease_expires_at is not null`)
      .concurrently(),
    index('runs_under_way')
      .on(table.workflowId)
      .where(sql`started_at is not null and finished_at is null`)
      .concurrently(),
    index('runs_held')
      .on(table.tenantId, table.workflowId, table.id)
      .where(sql`waits_for is not null`)
      .concurrently(),
    index('runs_held_hour')
      .on(table.tenantId, table.id)
      .where(sql`waits_for = 'max_runs_per_hour'`)
      .concurrently(),
    ...policies(),
  ],
);

/**
 * How many runs began lately, counted in slices of time: of a workflow by the second, of a workspace by the minute. Only kept where
 * a limit asks for it, and counted anew from the runs where there is no row.
 */
export const runStarts = pgTable(
  'run_starts',
  {
    /** The workflow or the workspace. */
    scopeId: uuid('scope_id').notNull(),
    sliceAt: instant('slice_at').notNull(),
    tenantId: tenantId(),
    count: integer('count').notNull(),
    lastAt: instant('last_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.scopeId, table.sliceAt] }),
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
  | { kind: 'retry' };

/** One step of a run, from the moment it began. */
export const runSteps = pgTable(
  'run_steps',
  {
    runId: uuid('run_id')
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    index: integer('index').notNull(),
    tenantId: tenantId(),
    status: text('status').$type<StepStatus>().notNull(),
    attempts: integer('attempts').notNull(),
    wait: jsonb('wait').$type<StepWait>(),
    /** What a step of several parts has done so far, such as the turns of an agent. */
    state: jsonb('state').$type<JsonObject>(),
    output: jsonb('output').$type<JsonValue>(),
    outputText: text('output_text'),
    /** What output and its text take up, as UTF-8; the sum over a run is bounded. */
    outputBytes: integer('output_bytes').notNull().default(0),
    error: jsonb('error').$type<RunFailure>(),
    startedAt: instant('started_at'),
    finishedAt: instant('finished_at'),
  },
  (table) => [primaryKey({ columns: [table.runId, table.index] }), ...policies()],
);

/** The effects ledger: an intent before an outside effect, its receipt after; an intent alone means that nobody knows. */
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
    tenantId: tenantId(),
    skillId: text('skill_id').notNull(),
    kind: text('kind').$type<'keyed' | 'once'>().notNull(),
    intentAt: instant('intent_at').notNull().defaultNow(),
    receiptAt: instant('receipt_at'),
  },
  (table) => [primaryKey({ columns: [table.runId, table.stepIndex, table.attempt, table.call] }), ...policies()],
);

export const approvals = pgTable(
  'approvals',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    runId: uuid('run_id')
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    stepIndex: integer('step_index').notNull(),
    attempt: integer('attempt').notNull(),
    /** Which call of an agent's tools it belongs to; 0 for the step itself. */
    call: integer('call').notNull().default(0),
    kind: text('kind').$type<'step' | 'system.run'>().notNull(),
    title: text('title').notNull(),
    message: text('message').notNull(),
    /** The request as the approver sees it; what runs is read from here. */
    request: jsonb('request').$type<JsonObject>().notNull(),
    /** SHA-256 of the canonical text of the request. */
    requestHash: text('request_hash').notNull(),
    status: text('status').$type<'pending' | 'approved' | 'rejected' | 'expired'>().notNull(),
    onTimeout: text('on_timeout').$type<'reject' | 'approve'>().notNull(),
    expiresAt: instant('expires_at'),
    decidedBy: text('decided_by'),
    decidedAt: instant('decided_at'),
    note: text('note'),
    /** Email addresses of those who alone may decide; empty when whoever may manage automations does. */
    approvers: text('approvers')
      .array()
      .notNull()
      .default(sql`'{}'`),
    /** How many of them must agree. */
    required: integer('required').notNull().default(1),
    /** From when on those in `escalateTo` may decide as well. */
    escalateAt: instant('escalate_at'),
    escalateTo: text('escalate_to')
      .array()
      .notNull()
      .default(sql`'{}'`),
    /** When to see whether somebody is to be mailed a link; null when nobody is, as far as is known. */
    mailDueAt: instant('mail_due_at').defaultNow(),
    createdAt: createdAt(),
  },
  (table) => [
    index('approvals_mail_due')
      .on(table.mailDueAt)
      .where(sql`status = 'pending' and mail_due_at is not null`)
      .concurrently(),
    unique('approvals_step').on(table.runId, table.stepIndex, table.attempt, table.call),
    index('approvals_tenant').on(table.tenantId, table.id),
    index('approvals_tenant_status').on(table.tenantId, table.status, table.id),
    index('approvals_expiry')
      .on(table.expiresAt)
      .where(sql`status = 'pending' and expires_at is not null`),
    ...policies(),
  ],
);

/** Jobs that were promised in a transaction and not yet handed to the queue. A row goes once the queue has the job. */
export const outbox = pgTable(
  'outbox',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: tenantId(),
    job: text('job').notNull(),
    jobId: text('job_id').notNull(),
    data: jsonb('data').$type<JsonObject>().notNull(),
    notBefore: instant('not_before'),
    createdAt: createdAt(),
  },
  // Where the queue was away for long, or the jobs were done without it, there are many.
  (table) => [index('outbox_age').on(table.createdAt, table.id).concurrently(), ...policies()],
);

/** Runs that an inbound hook's `idempotencyKey` started, for 24 hours. */
export const hookKeys = pgTable(
  'hook_keys',
  {
    tenantId: tenantId(),
    key: text('key').notNull(),
    runIds: uuid('run_ids').array().notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.key] }),
    index('hook_keys_expiry').on(table.expiresAt),
    ...policies(),
  ],
);

export const runLogs = pgTable(
  'run_logs',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    runId: uuid('run_id')
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    stepIndex: integer('step_index').notNull(),
    workflowId: uuid('workflow_id'),
    level: text('level').$type<'debug' | 'info' | 'warn' | 'error'>().notNull(),
    message: text('message').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('run_logs_tenant').on(table.tenantId, table.id),
    index('run_logs_run').on(table.runId, table.id),
    index('run_logs_workflow').on(table.tenantId, table.workflowId, table.id),
    index('run_logs_level').on(table.tenantId, table.level, table.id),
    index('run_logs_workflow_level').on(table.tenantId, table.workflowId, table.level, table.id).concurrently(),
    ...policies(),
  ],
);

/** What left the platform, or would have: `simulated` in the test environment. */
export const messages = pgTable(
  'messages',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    runId: uuid('run_id').references(() => runs.id, { onDelete: 'set null' }),
    workflowId: uuid('workflow_id'),
    stepIndex: integer('step_index'),
    channel: text('channel').notNull(),
    recipient: text('recipient').notNull(),
    status: text('status').$type<'delivered' | 'simulated' | 'failed'>().notNull(),
    summary: jsonb('summary').$type<JsonObject>().notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('messages_tenant').on(table.tenantId, table.id),
    index('messages_run').on(table.runId, table.id),
    index('messages_channel').on(table.tenantId, table.channel, table.createdAt, table.status),
    index('messages_workflow').on(table.tenantId, table.workflowId, table.id),
    index('messages_status').on(table.tenantId, table.status, table.id).concurrently(),
    index('messages_channel_status').on(table.tenantId, table.channel, table.status, table.id).concurrently(),
    index('messages_workflow_status').on(table.tenantId, table.workflowId, table.status, table.id).concurrently(),
    index('messages_workflow_channel')
      .on(table.tenantId, table.workflowId, table.channel, table.status, table.id)
      .concurrently(),
    ...policies(),
  ],
);

export const memoryEntries = pgTable(
  'memory_entries',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    sessionId: uuid('session_id'),
    key: text('key').notNull(),
    value: jsonb('value').$type<JsonValue>(),
    expiresAt: instant('expires_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('memory_entries_expiry')
      .on(table.expiresAt)
      .where(sql`expires_at is not null`),
    index('memory_entries_session').on(table.tenantId, table.sessionId, table.id).concurrently(),
    unique('memory_entries_key').on(table.tenantId, table.sessionId, table.key).nullsNotDistinct(),
    ...policies(),
  ],
);

export const nodes = pgTable(
  'nodes',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    allowSystem: boolean('allow_system').notNull(),
    allowBrowser: boolean('allow_browser').notNull(),
    device: jsonb('device').$type<JsonObject>(),
    facts: jsonb('facts').$type<JsonObject>(),
    paused: boolean('paused').notNull().default(false),
    secretHash: bytea('secret_hash'),
    pairingCodeHash: bytea('pairing_code_hash').unique('nodes_pairing_code'),
    pairingExpiresAt: instant('pairing_expires_at'),
    pairedAt: instant('paired_at'),
    lastSeenAt: instant('last_seen_at'),
    revokedAt: instant('revoked_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('nodes_tenant').on(table.tenantId, table.id),
    index('nodes_live')
      .on(table.tenantId, table.id)
      .where(sql`revoked_at is null`)
      .concurrently(),
    index('nodes_revoked')
      .on(table.tenantId, table.id)
      .where(sql`revoked_at is not null`)
      .concurrently(),
    index('nodes_unclaimed')
      .on(table.pairingExpiresAt)
      .where(sql`paired_at is null and revoked_at is null`)
      .concurrently(),
    ...policies(),
  ],
);

/**
 * One command to a node. `pending` until it is handed out, `leased` until its result or the end of its lease, then final:
 * `succeeded`, `failed` or `withdrawn`. A command that acts is handed out at most once.
 */
export const nodeCommands = pgTable(
  'node_commands',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    nodeId: uuid('node_id')
      .notNull()
      .references(() => nodes.id, { onDelete: 'cascade' }),
    runId: uuid('run_id')
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    stepIndex: integer('step_index').notNull(),
    attempt: integer('attempt').notNull(),
    /** Which call of an agent's tools it belongs to; 0 for the step itself. */
    call: integer('call').notNull().default(0),
    type: text('type').notNull(),
    input: jsonb('input').$type<JsonObject>().notNull(),
    approval: jsonb('approval').$type<{ id: string; requestHash: string; approvedBy: string; approvedAt: string }>(),
    status: text('status').$type<'pending' | 'leased' | 'succeeded' | 'failed' | 'withdrawn'>().notNull(),
    acts: boolean('acts').notNull(),
    /** Until then it may be handed out; once handed out, the end of its time on the device. */
    expiresAt: instant('expires_at').notNull(),
    /** How long it may take on the device. */
    timeoutMs: integer('timeout_ms').notNull(),
    /** The end of the step's own time, if it has one. */
    deadlineAt: instant('deadline_at'),
    handedOutAt: instant('handed_out_at'),
    leaseExpiresAt: instant('lease_expires_at'),
    output: jsonb('output').$type<JsonValue>(),
    error: jsonb('error').$type<{ code: string; message: string }>(),
    /** Ended by the hub because its time was over, and not by its device: a result that comes late is still taken. */
    overdue: boolean('overdue').notNull().default(false),
    finishedAt: instant('finished_at'),
    createdAt: createdAt(),
  },
  (table) => [
    unique('node_commands_step').on(table.runId, table.stepIndex, table.attempt, table.call),
    index('node_commands_finished')
      .on(table.tenantId, table.finishedAt)
      .where(sql`status = 'succeeded'`),
    index('node_commands_open')
      .on(table.nodeId, table.id)
      .where(sql`status in ('pending', 'leased')`),
    index('node_commands_node').on(table.nodeId).concurrently(),
    index('node_commands_late')
      .on(sql`least(${table.leaseExpiresAt}, ${table.expiresAt})`)
      .where(sql`status in ('pending', 'leased')`)
      .concurrently(),
    ...policies(),
  ],
);

export const artifacts = pgTable(
  'artifacts',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    nodeId: uuid('node_id').notNull(),
    runId: uuid('run_id').notNull(),
    commandId: uuid('command_id').notNull(),
    name: text('name').notNull(),
    contentType: text('content_type').notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    sha256: text('sha256').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('artifacts_tenant').on(table.tenantId, table.id),
    index('artifacts_run').on(table.runId),
    ...policies(),
  ],
);

/**
 * What the artefacts of each workspace take up, those on their way included: the sum of its rows. Triggers on both tables add a row for each
 * change, in its transaction, so that the sum is always right and nobody waits for anybody; the sweep folds them into one.
 */
export const artifactRoom = pgTable(
  'artifact_room',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: tenantId(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    /** Of one row of each workspace: what the others were folded into. */
    folded: boolean('folded').notNull().default(false),
  },
  (table) => [
    index('artifact_room_tenant').on(table.tenantId),
    uniqueIndex('artifact_room_total')
      .on(table.tenantId)
      .where(sql`folded`),
    index('artifact_room_changes')
      .on(table.id)
      .where(sql`not folded`),
    ...policies(),
  ],
);

/** Artefacts on their way in pieces; each belongs to an open command and goes with it, or after a day without a piece. */
export const artifactUploads = pgTable(
  'artifact_uploads',
  {
    /** Also names the bytes. */
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    nodeId: uuid('node_id').notNull(),
    commandId: uuid('command_id')
      .notNull()
      .references(() => nodeCommands.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    contentType: text('content_type').notNull(),
    /** Of the whole artefact, as the device announced it: so much of the workspace's room is taken. */
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    sha256: text('sha256').notNull(),
    /** When all bytes were there and had the checksum. */
    verifiedAt: instant('verified_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    unique('artifact_uploads_name').on(table.commandId, table.name),
    index('artifact_uploads_tenant').on(table.tenantId),
    index('artifact_uploads_age').on(table.updatedAt),
    ...policies(),
  ],
);

/** Facts of the whole installation, such as the fingerprint of the secret key; for the system role alone. */
export const hubSettings = pgTable(
  'hub_settings',
  { key: text('key').primaryKey(), value: jsonb('value').$type<JsonValue>().notNull(), updatedAt: updatedAt() },
  () => [pgPolicy('system', { for: 'all', to: systemRole, using: sql`true`, withCheck: sql`true` })],
);
