import type { z } from 'zod';
import type { CommandDefinition } from '../../../shared/commands/define.ts';
import type { node as nodeSchema, nodeStatuses } from '../../../shared/contract/nodes/device.ts';
import { AppError, notFound } from '../../../shared/errors.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { assertedText } from '../../platform/db/errors.ts';
import { and, desc, eq, isNotNull, isNull, lt, sql } from '../../platform/db/orm.ts';
import type { SQL } from '../../platform/db/orm.ts';
import { nodes } from './schema.ts';

/** The name of an unpaired node without a name. */
export const unnamedNode = 'New node';

export type NodeRow = typeof nodes.$inferSelect;
export type NodeStatus = (typeof nodeStatuses)[number];
export type PresentedNode = z.input<typeof nodeSchema>;

/** The identity of a device. */
export interface DeviceIdentity {
  tenantId: string;
  nodeId: string;
}

/** A device and the hash of the secret with which it was authenticated. */
export interface KnownDevice extends DeviceIdentity {
  /** Base64. */
  secretHash: string;
}

/** Number of missed heartbeats after which a node is offline. */
const missedHeartbeats = 3;

const onlineSince = (heartbeatSeconds: number) =>
  sql`now() - make_interval(secs => ${heartbeatSeconds * missedHeartbeats})`;

/** SQL condition: whether the current row of `nodes` is online, on the clock of the database. */
export const isOnlineText = (heartbeatSeconds: number): string =>
  `(nodes.revoked_at is null and coalesce(nodes.last_seen_at > now() - make_interval(secs => ${Number(heartbeatSeconds * missedHeartbeats)}), false))`;

/** SQL condition: whether a paired node has missed so many heartbeats that it is offline. */
export const isOfflineSql = (heartbeatSeconds: number): SQL<boolean> =>
  sql<boolean>`${nodes.lastSeenAt} <= ${onlineSince(heartbeatSeconds)}`;

/** SQL expression for the status of a node, on the clock of the database. */
export function statusSql(heartbeatSeconds: number): SQL<NodeStatus> {
  return sql<NodeStatus>`case
    when ${nodes.revokedAt} is not null then 'revoked'
    when ${nodes.pairedAt} is null or ${nodes.lastSeenAt} is null then 'pending'
    when ${nodes.lastSeenAt} > ${onlineSince(heartbeatSeconds)} then 'online'
    else 'offline' end`;
}

export async function listNodes(
  tx: Transaction,
  tenantId: string,
  { status, tag }: { status?: NodeStatus | undefined; tag?: string | undefined },
  heartbeatSeconds: number,
  limit: number,
  before: string | undefined,
) {
  const state = statusSql(heartbeatSeconds);
  return tx
    .select({ row: nodes, status: state })
    .from(nodes)
    .where(
      and(
        eq(nodes.tenantId, tenantId),
        status === 'revoked' ? isNotNull(nodes.revokedAt) : isNull(nodes.revokedAt),
        status === undefined || status === 'revoked' ? undefined : sql`${state} = ${status}`,
        tag === undefined ? undefined : sql`${nodes.tags} @> array[${tag}]`,
        before === undefined ? undefined : lt(nodes.id, before),
      ),
    )
    .orderBy(desc(nodes.id))
    .limit(limit);
}

/** Finds a node, including a revoked one. */
export async function findNode(tx: Transaction, tenantId: string, id: string, heartbeatSeconds: number) {
  const [found] = await tx
    .select({ row: nodes, status: statusSql(heartbeatSeconds) })
    .from(nodes)
    .where(and(eq(nodes.tenantId, tenantId), eq(nodes.id, id)));
  return found ?? null;
}

export function presentNode(row: NodeRow, status: NodeStatus): PresentedNode {
  return {
    id: row.id,
    name: row.name,
    tags: row.tags,
    status,
    allowSystem: row.allowSystem,
    allowBrowser: row.allowBrowser,
    device: row.device as PresentedNode['device'],
    facts: row.facts as PresentedNode['facts'],
    paused: row.paused,
    audit:
      row.auditCount === null || row.auditHash === null
        ? null
        : { entries: row.auditCount, hash: row.auditHash, brokenAt: row.auditBrokenAt?.toISOString() ?? null },
    pairedAt: row.pairedAt?.toISOString() ?? null,
    lastSeenAt: row.lastSeenAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** Returns why the settings of a node do not allow a command, or null when they allow it. */
export function gateProblem(
  node: Pick<NodeRow, 'allowSystem' | 'allowBrowser'>,
  command: CommandDefinition,
): string | null {
  if (command.gate === 'system' && !node.allowSystem)
    return `${command.type} needs allowSystem on the node; PATCH it with {"allowSystem": true} first.`;
  if (command.gate === 'browser' && !node.allowBrowser)
    return `${command.type} needs allowBrowser on the node; PATCH it with {"allowBrowser": true} first.`;
  return null;
}

/**
 * Checks that a node of the workspace is paired, is not revoked and allows the command.
 * @param lock keeps the node from being revoked until the transaction ends. Required before a command is written.
 * @throws AppError `not_found`, `node_flag_off`.
 */
export async function assertNodeUsable(
  tx: Transaction,
  tenantId: string,
  nodeId: string,
  command: CommandDefinition,
  { lock = false }: { lock?: boolean } = {},
): Promise<void> {
  const { rows } = await tx.query<{ allow_system: boolean; allow_browser: boolean; paired: boolean }>(
    lock ? 'lock_usable_node' : 'read_usable_node',
    `SELECT allow_system, allow_browser, paired_at IS NOT NULL AS paired FROM nodes WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL${lock ? ' FOR KEY SHARE' : ''}`,
    [tenantId, nodeId],
  );
  const row = rows[0];
  if (row === undefined) throw notFound('node', nodeId);
  if (!row.paired)
    throw new AppError('not_found', `The node ${nodeId} is not paired yet; enter its code on the device first.`);
  const problem = gateProblem({ allowSystem: row.allow_system, allowBrowser: row.allow_browser }, command);
  if (problem !== null) throw new AppError('node_flag_off', problem);
}

/**
 * Makes the same check and lock as a pipelined assertion. If the check fails, the transaction fails with an error that
 * `isAssertionFailed` recognizes.
 */
export async function requireUsableNode(
  tx: Transaction,
  tenantId: string,
  nodeId: string,
  { gate }: CommandDefinition,
): Promise<void> {
  await tx.query(
    'require_usable_node',
    `SELECT ${assertedText('count(*) = 1')} FROM (
       SELECT FROM nodes WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL AND paired_at IS NOT NULL
         AND (allow_system OR $3 <> 'system') AND (allow_browser OR $3 <> 'browser') FOR KEY SHARE) usable`,
    [tenantId, nodeId, gate ?? 'none'],
  );
}

/** Serializes name changes of the nodes of a workspace until the transaction ends. */
export async function lockNodeNames(tx: Transaction, tenantId: string): Promise<void> {
  await tx.query('lock_node_names', `SELECT pg_advisory_xact_lock(hashtextextended('node names ' || $1::text, 0))`, [
    tenantId,
  ]);
}

/** Checks that no other node of the workspace has this name. @throws AppError `node_name_taken`. */
export async function assertNameFree(tx: Transaction, tenantId: string, nodeId: string, name: string): Promise<void> {
  await lockNodeNames(tx, tenantId);
  const { rows } = await tx.query<{ id: string }>(
    'find_node_of_name',
    'SELECT id FROM nodes WHERE tenant_id = $1 AND name = $2 AND id <> $3 AND revoked_at IS NULL LIMIT 1',
    [tenantId, name, nodeId],
  );
  const [taken] = rows;
  if (taken !== undefined) throw nameTaken(name);
}

const nameTaken = (name: string) =>
  new AppError(
    'node_name_taken',
    `A node of this workspace is called "${name}" already; choose another name, or revoke that node.`,
  );
