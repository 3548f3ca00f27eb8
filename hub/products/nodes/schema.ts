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
    allowSystem: boolean('allow_system').notNull(),
    allowBrowser: boolean('allow_browser').notNull(),
    device: jsonb('device').$type<JsonObject>(),
    facts: jsonb('facts').$type<JsonObject>(),
    paused: boolean('paused').notNull().default(false),
    /** Number and hash of the last entry of the device's own log, as its last heartbeat reported them. */
    auditCount: bigint('audit_count', { mode: 'number' }),
    auditHash: text('audit_hash'),
    /** When a heartbeat first reported a log that does not continue the one before; null while every one did. */
    auditBrokenAt: instant('audit_broken_at'),
    secretHash: bytea('secret_hash'),
    pairingCodeHash: bytea('pairing_code_hash').unique('nodes_pairing_code'),
    pairingExpiresAt: instant('pairing_expires_at'),
    pairedAt: instant('paired_at'),
    lastSeenAt: instant('last_seen_at'),
    /** Whether it was told last that the node is online; the sweep takes it back once the node has been silent for too long. */
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

/** What a node said of itself, and what it was allowed, from some time on: a row for each change, the newest ones of each node. */
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
 * One command to a node. `pending` until it is handed out, `leased` until its result or the end of its lease, then final:
 * `succeeded`, `failed` or `withdrawn`. A command that acts is handed out at most once.
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
    /** Which call of an agent's tools it belongs to; 0 for the step itself. */
    call: integer('call').notNull().default(0),
    type: text('type').notNull(),
    input: jsonb('input').$type<JsonObject>().notNull(),
    approval: jsonb('approval').$type<{ id: string; requestHash: string; approvedBy: string; approvedAt: string }>(),
    /** Where it comes from, for its device to show; null for one from before this column. */
    origin: jsonb('origin').$type<CommandOrigin>(),
    status: text('status').$type<(typeof nodeCommandStatuses)[number]>().notNull(),
    acts: boolean('acts').notNull(),
    /** Until then it may be handed out; once handed out, the end of its time on the device. */
    expiresAt: instant('expires_at').notNull(),
    /** How long it may take on the device. */
    timeoutMs: integer('timeout_ms').notNull(),
    /** When the hub ends the command: the end of the step's own time, if it has one, plus the time of the owner's prompt and of the result's transfer. */
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
 * What the artefacts of each workspace take up, those on their way included: the sum of its rows. Triggers on both tables add a row for each
 * change, in its transaction, so that the sum is always right and nobody waits for anybody; the sweep folds them into one.
 */
export const artifactUsage = pgTable(
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
