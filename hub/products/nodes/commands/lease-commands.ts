import type { z } from 'zod';
import { commands as catalog, isCommandType } from '../../../../shared/commands/catalog.ts';
import { deviceInput, limitTimeout } from '../../../../shared/commands/define.ts';
import type { CommandDefinition } from '../../../../shared/commands/define.ts';
import { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { isCallOfStep, lockRuns, runRowsTopic } from '../../../engine/index.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { inArray } from '../../../platform/db/orm.ts';
import { commitDurably } from '../../../platform/db/transaction.ts';
import { noteWorkspaceChange } from '../../../platform/events/workspace-topic.ts';
import { nodeCommands } from '../schema.ts';
import { gateProblem } from '../store.ts';
import type { DeviceIdentity } from '../store.ts';
import { endCommand, lockOpenCommands } from './command-rows.ts';
import type { NodeCommandRow } from './command-rows.ts';
import { resultTransferSeconds, leaseSeconds, maxRequeueAgeSeconds, refetchSeconds } from './lease.ts';

type PollResponse = z.input<typeof resource.pollAutomationNodeCommands.response>;

/** The event topic that wakes the long polls of a node. */
export const nodeTopic = (nodeId: string) => `node:${nodeId}`;

/** Time added to the time limit of a command for the network transfer both ways, in milliseconds. */
export const transferGraceMs = 15_000;

/** The parameters of one lease request of a device. */
export interface LeaseRequest {
  max: number;
  /** The commands that the device runs or has a result for. */
  running: string[];
  /**
   * Whether `running` lists every command that reached the device. If so, a read-only command that is leased but not in
   * `running` is requeued.
   */
  isRunningComplete: boolean;
}

/** One lease. A new lease of the same command has another `handedOutAt`. */
export interface Lease {
  commandId: string;
  handedOutAt: string;
}

/** The response of a poll, and the leases of the commands in it. */
export interface PollResult {
  response: PollResponse;
  leases: Lease[];
}

interface LeaseDependencies {
  db: Database;
}

/** A command that the settings of its node do not allow. */
interface Refusal {
  id: string;
  runId: string;
  message: string;
}

/** Rolls back the lease request of a revoked device. */
class NodeRevokedError extends Error {}

/**
 * Leases up to `max` commands to a device and returns the commands in `running` that it must stop.
 * Returns null when the node is revoked. Commands that the node does not allow fail.
 * Leases nothing once `signal` is aborted.
 */
export async function leaseCommands(
  deps: LeaseDependencies,
  device: DeviceIdentity,
  { max, running, isRunningComplete }: LeaseRequest,
  signal: { readonly aborted: boolean },
): Promise<PollResult | null> {
  const { tenantId, nodeId } = device;
  const query = async (tx: Transaction): Promise<PollResult & { refused: Refusal[] }> => {
    // The statements are pipelined. Leases are extended before commands are leased with SKIP LOCKED, which never waits,
    // so that two transactions cannot deadlock.
    const [{ rows: nodeRows }, withdrawn, , leased] = await Promise.all([
      tx.query<{ allow_system: boolean; allow_browser: boolean; was_online: boolean }>(
        'poll_node',
        `WITH seen AS (SELECT id, allow_system, allow_browser, online AS was_online, last_seen_at FROM nodes WHERE id = $1 AND revoked_at IS NULL),
           touched AS (
             UPDATE nodes SET last_seen_at = now(), online = true FROM seen
             WHERE nodes.id = seen.id AND nodes.revoked_at IS NULL AND (coalesce(seen.last_seen_at < now() - interval '5 seconds', true) OR NOT was_online)
           )
         SELECT allow_system, allow_browser, was_online FROM seen`,
        [nodeId],
      ),
      extendLeases(tx, nodeId, running),
      isRunningComplete ? requeueUndelivered(tx, nodeId, running) : undefined,
      lease(tx, nodeId, signal.aborted ? 0 : max),
    ]);
    const [node] = nodeRows;
    if (node === undefined) throw new NodeRevokedError();
    if (!node.was_online) noteWorkspaceChange(tx, tenantId);
    const allowed: typeof leased = [];
    const refused: Refusal[] = [];
    for (const row of leased) {
      const command = isCommandType(row.type) ? (catalog[row.type] as CommandDefinition) : null;
      const problem =
        command === null
          ? 'this hub no longer supports the command'
          : gateProblem({ allowSystem: node.allow_system, allowBrowser: node.allow_browser }, command);
      if (problem === null) allowed.push(row);
      else refused.push({ id: row.id, runId: row.run_id, message: problem });
    }
    // A refused command is not sent. It stays pending until it fails in its own transaction, also if this process
    // crashes.
    if (refused.length > 0)
      await tx.query(
        'requeue_refused_commands',
        `UPDATE node_commands SET status = 'pending', handed_out_at = NULL, lease_expires_at = NULL WHERE id = ANY($1::uuid[])`,
        [refused.map(({ id }) => id)],
      );
    for (const row of allowed) tx.changed(runRowsTopic(row.run_id));
    // The lease of an action must survive a crash of the database. A read-only command can be leased again.
    if (allowed.some((row) => row.acts)) await commitDurably(tx);
    const commands = allowed.map((row) =>
      presentCommand({ ...row, expiresAt: row.expires_at, endsInMs: row.ends_in_ms }),
    );
    return {
      response: { commands, withdrawn },
      leases: allowed.map((row) => ({ commandId: row.id, handedOutAt: row.handed_out_at })),
      refused,
    };
  };
  const leased = await deps.db.workspace(tenantId, query, { durable: false }).catch((error: unknown) => {
    if (error instanceof NodeRevokedError) return null;
    throw error;
  });
  if (leased === null) return null;
  const { refused, ...result } = leased;
  if (refused.length > 0) {
    await refuse(deps, tenantId, refused).catch((error: unknown) => {
      // The leased commands must reach the device. The next poll refuses the others.
      if (result.leases.length === 0) throw error;
    });
  }
  return result;
}

/** Returns a command in the form of the API. */
export const presentCommand = ({
  id,
  type,
  input,
  expiresAt,
  endsInMs,
  approval,
  origin,
}: Pick<NodeCommandRow, 'id' | 'type' | 'input' | 'expiresAt' | 'approval' | 'origin'> & { endsInMs: number }) => ({
  id,
  type,
  input: isCommandType(type) ? inputFor(catalog[type] as CommandDefinition, input, { approval, endsInMs }) : input,
  expiresAt: expiresAt.toISOString(),
  endsInMs: Math.max(0, Math.round(endsInMs)),
  leaseSeconds,
  ...(approval === null ? {} : { approval }),
  ...(origin === null ? {} : { origin }),
});

/**
 * Returns the input for the device. Its timeout is limited to the remaining time, unless an approval covers the input.
 */
function inputFor(
  command: CommandDefinition,
  input: JsonObject,
  { approval, endsInMs }: Pick<NodeCommandRow, 'approval'> & { endsInMs: number },
): JsonObject {
  const own = deviceInput(command, input);
  return approval === null ? limitTimeout(command, own, endsInMs) : own;
}

/** Returns commands, including actions, to `pending` when their response was not sent. */
export async function returnLeases(db: Database, { tenantId, nodeId }: DeviceIdentity, leases: Lease[]): Promise<void> {
  await db.workspace(tenantId, async (tx) => {
    tx.publish(nodeTopic(nodeId), {});
    await tx.query(
      'return_command_leases',
      `WITH locked AS (
         SELECT c.id FROM node_commands c JOIN unnest($2::uuid[], $3::timestamptz[]) AS lease (id, handed_out_at) ON lease.id = c.id
         WHERE c.node_id = $1 AND c.status = 'leased' AND c.handed_out_at = lease.handed_out_at ORDER BY c.id FOR UPDATE OF c
       )
       UPDATE node_commands c SET status = 'pending', handed_out_at = NULL, lease_expires_at = NULL,
         expires_at = least(now() + make_interval(secs => $4), coalesce(deadline_at, 'infinity'))
       FROM locked WHERE c.id = locked.id`,
      [nodeId, leases.map(({ commandId }) => commandId), leases.map(({ handedOutAt }) => handedOutAt), refetchSeconds],
    );
  });
}

/** Returns a read-only command to `pending` that was leased in the statement that wrote it, and wakes the polls of its node. */
export async function takeBack(tx: Transaction, nodeId: string, commandId: string): Promise<void> {
  tx.publish(nodeTopic(nodeId), {});
  await tx.query(
    'release_command_lease',
    `UPDATE node_commands SET status = 'pending', handed_out_at = NULL, lease_expires_at = NULL,
       expires_at = least(now() + make_interval(secs => $2), coalesce(deadline_at, 'infinity'))
     WHERE id = $1 AND status = 'leased' AND NOT acts`,
    [commandId, refetchSeconds],
  );
}

/**
 * Extends the leases of the commands that a device runs or has a result for. Returns the commands that it must stop.
 * A command that became pending again is leased to the device again.
 * The device may finish a command that expired without a result, unless the time limit of the step has passed.
 */
export async function extendLeases(tx: Transaction, nodeId: string, running: string[]): Promise<string[]> {
  if (running.length === 0) return [];
  // Two statements: see `resultsOfClaimed` of the engine.
  const [{ rows: extended }, { rows: overdue }] = await Promise.all([
    tx.query<{ id: string }>(
      'extend_leases',
      `WITH locked AS (SELECT id FROM node_commands WHERE node_id = $1 AND id = ANY($2::uuid[]) AND status IN ('pending', 'leased') ORDER BY id FOR UPDATE)
       UPDATE node_commands c SET status = 'leased', handed_out_at = coalesce(handed_out_at, clock_timestamp()), lease_expires_at = now() + make_interval(secs => $3),
         expires_at = greatest(expires_at, least(now() + make_interval(secs => $3), coalesce(deadline_at, coalesce(handed_out_at, now()) + make_interval(secs => timeout_ms / 1000.0 + $4))))
       FROM locked WHERE c.id = locked.id RETURNING c.id`,
      [nodeId, running, leaseSeconds, resultTransferSeconds],
    ),
    tx.query<{ id: string }>(
      'find_overdue_commands',
      `SELECT c.id FROM node_commands c JOIN runs r ON r.id = c.run_id JOIN run_steps s ON s.run_id = c.run_id AND s.index = c.step_index
       WHERE c.node_id = $1 AND c.id = ANY($2::uuid[]) AND c.overdue AND coalesce(c.deadline_at > now(), true) AND r.status <> 'cancelled' AND ${isCallOfStep}
         AND NOT EXISTS (SELECT 1 FROM runs later WHERE later.flow_id = r.flow_id AND later.attempt > r.attempt)`,
      [nodeId, running],
    ),
  ]);
  const keptIds = new Set([...extended, ...overdue].map((row) => row.id));
  return running.filter((id) => !keptIds.has(id));
}

/** Returns read-only commands that did not reach their device to `pending`. */
async function requeueUndelivered(tx: Transaction, nodeId: string, running: string[]): Promise<void> {
  await tx.query(
    'requeue_undelivered_commands',
    `UPDATE node_commands SET status = 'pending', lease_expires_at = NULL,
       expires_at = least(now() + make_interval(secs => $3), coalesce(deadline_at, created_at + make_interval(secs => $4)))
     WHERE id = ANY(ARRAY(
       SELECT id FROM node_commands WHERE node_id = $1 AND status = 'leased' AND NOT acts AND id <> ALL ($2::uuid[])
         AND coalesce(deadline_at, created_at + make_interval(secs => $4)) > now() ORDER BY id FOR UPDATE SKIP LOCKED
     ))`,
    [nodeId, running, refetchSeconds, maxRequeueAgeSeconds],
  );
}

async function refuse(deps: LeaseDependencies, tenantId: string, refused: Refusal[]): Promise<void> {
  await deps.db.workspace(tenantId, async (tx) => {
    await lockRuns(
      tx,
      refused.map(({ runId }) => runId),
    );
    await lockOpenCommands(
      tx,
      inArray(
        nodeCommands.id,
        refused.map(({ id }) => id),
      ),
    );
    for (const { id, message } of refused)
      await endCommand(tx, id, 'failed', { error: { code: 'denied_by_policy', message } });
  });
}

interface LeasedRow {
  id: string;
  run_id: string;
  type: string;
  acts: boolean;
  input: JsonObject;
  expires_at: Date;
  /** Computed with the clock of the database, which also sets `expires_at`. */
  ends_in_ms: number;
  handed_out_at: string;
  approval: NodeCommandRow['approval'];
  origin: NodeCommandRow['origin'];
}

/** SQL for the milliseconds until a device must end a command: `transferGraceMs` before the deadline of the hub. */
export const endsInMs = `extract(epoch from least(expires_at, deadline_at - make_interval(secs => ${transferGraceMs / 1000})) - clock_timestamp())::float8 * 1000`;

async function lease(tx: Transaction, nodeId: string, max: number): Promise<LeasedRow[]> {
  if (max === 0) return [];
  const { rows } = await tx.query<LeasedRow>(
    'lease_commands',
    // MATERIALIZED, because a plan could otherwise run the subquery once per row and lock more commands each time.
    `WITH selected AS MATERIALIZED (
       SELECT id FROM node_commands WHERE node_id = $1 AND status = 'pending' AND expires_at > now() ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
     ), leased AS (
       UPDATE node_commands c SET status = 'leased', handed_out_at = clock_timestamp(), lease_expires_at = now() + make_interval(secs => $3),
         expires_at = least(now() + make_interval(secs => (timeout_ms + $4) / 1000.0), coalesce(deadline_at, 'infinity'))
       FROM selected WHERE c.id = selected.id
       RETURNING c.id, c.run_id, c.type, c.acts, c.input, c.expires_at, ${endsInMs} AS ends_in_ms, c.handed_out_at::text, c.approval, c.origin
     )
     SELECT * FROM leased ORDER BY id`,
    [nodeId, max, leaseSeconds, transferGraceMs],
  );
  return rows;
}
