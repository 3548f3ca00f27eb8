import type { CommandOrigin } from '../../../shared/commands/origin.ts';
import type { nodeCommandStatuses } from '../../../shared/contract/nodes/device.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { runs } from '../../engine/schema.ts';
import {
  bigint,
  bigserial,
  boolean,
  index,
  integer,
  pgTable,
  sql,
  text,
  unique,
  uniqueIndex,
  uuid,
} from '../../platform/db/orm.ts';
import {
  bytea,
  createdAt,
  hotTenantId,
  instant,
  jsonb,
  policies,
  tenantId,
  updatedAt,
} from '../../platform/db/tenancy.ts';

export const nodes = pgTable(
  'nodes',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    tags: text('tags')
      .array()
      .notNull()
      .default(sql`'{}'`),
    allowSystem: boolean('allow_system').notNull(),
    allowBrowser: boolean('allow_browser').notNull(),
    device: jsonb('device').$type<JsonObject>(),
    facts: jsonb('facts').$type<JsonObject>(),
    paused: boolean('paused').notNull().default(false),
    /** Number of entries and hash of the last entry of the audit log of the device, from its last heartbeat. */
    auditCount: bigint('audit_count', { mode: 'number' }),
    auditHash: text('audit_hash'),
    /** When a heartbeat first reported a log that does not continue the previous one; null if this never happened. */
    auditBrokenAt: instant('audit_broken_at'),
    secretHash: bytea('secret_hash'),
    pairingCodeHash: bytea('pairing_code_hash').unique('nodes_pairing_code'),
    pairingExpiresAt: instant('pairing_expires_at'),
    pairedAt: instant('paired_at'),
    lastSeenAt: instant('last_seen_at'),
    /** Whether the node was last announced as online. A sweep clears it after missed heartbeats. */
    online: boolean('online').notNull().default(false),
    revokedAt: instant('revoked_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('nodes_tenant').on(table.tenantId, table.id),
    uniqueIndex('nodes_name')
      .on(table.tenantId, table.name)
      .where(sql`revoked_at is null and paired_at is not null`)
      .concurrently(),
    index('nodes_live')
      .on(table.tenantId, table.id)
      .where(sql`revoked_at is null`)
      .concurrently(),
    index('nodes_revoked')
      .on(table.tenantId, table.id)
      .where(sql`revoked_at is not null`)
      .concurrently(),
    index('nodes_online')
      .on(table.id)
      .where(sql`online`)
      .concurrently(),
    index('nodes_unclaimed')
      .on(table.pairingExpiresAt)
      .where(sql`paired_at is null and revoked_at is null`)
      .concurrently(),
    ...policies(),
  ],
);

/** The facts and permissions of nodes over time: one row per change. Only the newest rows of each node are stored. */
export const nodeFacts = pgTable(
  'node_facts',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    nodeId: uuid('node_id')
      .notNull()
      .references(() => nodes.id, { onDelete: 'cascade' }),
    at: instant('at').notNull().defaultNow(),
    facts: jsonb('facts').$type<JsonObject>().notNull(),
  },
  (table) => [index('node_facts_node').on(table.nodeId, table.id), ...policies()],
);

/**
 * One command to a node. Its status is `pending` until a device leases it and `leased` until its result or the end of
 * its lease. The final statuses are `succeeded`, `failed` and `withdrawn`. An action is leased at most once.
 */
export const nodeCommands = pgTable(
  'node_commands',
  {
    id: uuid('id').primaryKey(),
    tenantId: hotTenantId(),
    nodeId: uuid('node_id')
      .notNull()
      .references(() => nodes.id, { onDelete: 'cascade' }),
    runId: uuid('run_id')
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    stepIndex: integer('step_index').notNull(),
    attempt: integer('attempt').notNull(),
    /** The number of the tool call of an AI agent, or 0 for the step itself. */
    call: integer('call').notNull().default(0),
    type: text('type').notNull(),
    input: jsonb('input').$type<JsonObject>().notNull(),
    approval: jsonb('approval').$type<{ id: string; requestHash: string; approvedBy: string; approvedAt: string }>(),
    /** The origin that the device shows; null for commands that are older than this column. */
    origin: jsonb('origin').$type<CommandOrigin>(),
    status: text('status').$type<(typeof nodeCommandStatuses)[number]>().notNull(),
    acts: boolean('acts').notNull(),
    /** While pending: when a device can no longer lease it. While leased: when its time on the device ends. */
    expiresAt: instant('expires_at').notNull(),
    /** Time limit on the device. */
    timeoutMs: integer('timeout_ms').notNull(),
    /**
     * When the hub ends the command: the time limit of the step plus the time for the prompt to the owner and for the
     * transfer of the result. Null without a time limit.
     */
    deadlineAt: instant('deadline_at'),
    handedOutAt: instant('handed_out_at'),
    leaseExpiresAt: instant('lease_expires_at'),
    output: jsonb('output').$type<JsonValue>(),
    error: jsonb('error').$type<{ code: string; message: string }>(),
    /** Whether the hub ended the command because its time limit had passed. A late result is still accepted. */
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
    index('node_commands_history').on(table.nodeId, table.id).concurrently(),
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
 * The storage used by the artifacts and uploads of each workspace: the sum of its rows.
 * Triggers on both tables insert one row per change in the same transaction, so that the sum is always correct and
 * concurrent changes need no lock. A sweep folds the rows of each workspace into one.
 */
export const artifactUsage = pgTable(
  'artifact_usage',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: tenantId(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    /** True for the one row per workspace into which the other rows are folded. */
    folded: boolean('folded').notNull().default(false),
  },
  (table) => [
    index('artifact_usage_tenant').on(table.tenantId),
    uniqueIndex('artifact_usage_total')
      .on(table.tenantId)
      .where(sql`folded`),
    index('artifact_usage_changes')
      .on(table.id)
      .where(sql`not folded`),
    ...policies(),
  ],
);

/** Artifacts that are uploaded in pieces. An upload is deleted with its command, or after a day without a piece. */
export const artifactUploads = pgTable(
  'artifact_uploads',
  {
    /** Also the id of the partial blob. */
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    nodeId: uuid('node_id').notNull(),
    commandId: uuid('command_id')
      .notNull()
      .references(() => nodeCommands.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    contentType: text('content_type').notNull(),
    /** Size of the complete artifact as declared by the device. It counts towards the quota from the start. */
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    sha256: text('sha256').notNull(),
    /** When all bytes had arrived and the checksum matched. */
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
