import type { ApprovalDecider } from '../../../../shared/contract/automations/approvals.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { runs } from '../../../engine/schema.ts';
import { boolean, index, integer, pgTable, primaryKey, sql, text, unique, uuid } from '../../../platform/db/orm.ts';
import { bytea, createdAt, instant, jsonb, policies, tenantId } from '../../../platform/db/tenancy.ts';
import { pushSubscriptions } from '../../core/identity/schema.ts';

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
    /** Index of the tool call of an agent; 0 for the step itself. */
    call: integer('call').notNull().default(0),
    kind: text('kind').$type<'step' | 'system.run'>().notNull(),
    title: text('title').notNull(),
    message: text('message').notNull(),
    /** The request as the approver sees it. The run executes exactly this stored request. */
    request: jsonb('request').$type<JsonObject>().notNull(),
    /** SHA-256 of the canonical JSON of the request. */
    requestHash: text('request_hash').notNull(),
    status: text('status').$type<'pending' | 'approved' | 'rejected' | 'expired'>().notNull(),
    onTimeout: text('on_timeout').$type<'reject' | 'approve'>().notNull(),
    expiresAt: instant('expires_at'),
    decidedBy: text('decided_by'),
    /** Name of the decider for readers; null for decisions that are older than this column. */
    decider: jsonb('decider').$type<ApprovalDecider>(),
    decidedAt: instant('decided_at'),
    note: text('note'),
    /** Email addresses of those who may decide; empty when every caller with the permission may decide. */
    approvers: text('approvers')
      .array()
      .notNull()
      .default(sql`'{}'`),
    /** Whether the policy named the approvers. These must be members of the workspace when they decide. */
    usesDefaultApprovers: boolean('uses_default_approvers').notNull().default(false),
    /** Number of required approvals. */
    required: integer('required').notNull().default(1),
    /** When the addresses in `escalateTo` may decide as well. */
    escalateAt: instant('escalate_at'),
    escalateTo: text('escalate_to')
      .array()
      .notNull()
      .default(sql`'{}'`),
    /** When to check for approvers without a mailed link; null when no mail is pending. */
    mailDueAt: instant('mail_due_at').defaultNow(),
    /** When to check for members to notify; null when no check is pending. */
    pushDueAt: instant('push_due_at'),
    createdAt: createdAt(),
  },
  (table) => [
    index('approvals_mail_due')
      .on(table.mailDueAt)
      .where(sql`status = 'pending' and mail_due_at is not null`)
      .concurrently(),
    index('approvals_push_due')
      .on(table.pushDueAt)
      .where(sql`status = 'pending' and push_due_at is not null`)
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

/** Votes for an approval that needs several. */
export const approvalVotes = pgTable(
  'approval_votes',
  {
    approvalId: uuid('approval_id')
      .notNull()
      .references(() => approvals.id, { onDelete: 'cascade' }),
    approver: text('approver').notNull(),
    tenantId: tenantId(),
    decision: text('decision').$type<'approved' | 'rejected'>().notNull(),
    note: text('note'),
    decider: jsonb('decider').$type<ApprovalDecider>(),
    createdAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.approvalId, table.approver] }), ...policies()],
);

/** A link with which one named person decides one approval once, without signing in. */
export const approvalLinks = pgTable(
  'approval_links',
  {
    tokenHash: bytea('token_hash').primaryKey(),
    approvalId: uuid('approval_id')
      .notNull()
      .references(() => approvals.id, { onDelete: 'cascade' }),
    approver: text('approver').notNull(),
    tenantId: tenantId(),
    /** Address of the admin who created the link and got it in the response; null for a mailed link. */
    createdBy: text('created_by'),
    usedAt: instant('used_at'),
    /** Deadline of a mail in progress. After it, the sending process is considered dead. */
    mailingUntil: instant('mailing_until'),
    createdAt: createdAt(),
  },
  (table) => [index('approval_links_approval').on(table.approvalId), ...policies()],
);

/** The notification of one browser about one approval. The row stays after the notification, so that it is sent once. */
export const approvalPushes = pgTable(
  'approval_pushes',
  {
    approvalId: uuid('approval_id')
      .notNull()
      .references(() => approvals.id, { onDelete: 'cascade' }),
    subscriptionId: uuid('subscription_id')
      .notNull()
      .references(() => pushSubscriptions.id, { onDelete: 'cascade' }),
    tenantId: tenantId(),
    attempts: integer('attempts').notNull().default(0),
    /** When to make the next attempt; null when none follows. During an attempt, when the process counts as dead. */
    dueAt: instant('due_at').defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.approvalId, table.subscriptionId] }),
    index('approval_pushes_subscription').on(table.subscriptionId),
    index('approval_pushes_tenant').on(table.tenantId),
    index('approval_pushes_due')
      .on(table.dueAt)
      .where(sql`due_at is not null`),
    ...policies(),
  ],
);
