import type { z } from 'zod';
import { commands as catalog, isCommandType } from '../../../../shared/commands/catalog.ts';
import { deviceInput, limitTimeout } from '../../../../shared/commands/define.ts';
import type { CommandDefinition } from '../../../../shared/commands/define.ts';
import { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { isCallOfStep, lockRuns } from '../../../engine/index.ts';
import type { PromisedJob } from '../../../engine/index.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { inArray } from '../../../platform/db/orm.ts';
import { commitDurably } from '../../../platform/db/transaction.ts';
import { noteWorkspaceChange } from '../../../platform/events/workspace-topic.ts';
import { nodeCommands } from '../schema.ts';
import { gateProblem } from '../store.ts';
import type { DeviceIdentity } from '../store.ts';
import { endCommand, lockOpen } from './command-rows.ts';
import type { NodeCommandRow } from './command-rows.ts';
import { handOverSeconds, leaseSeconds, rereadSeconds, retakeSeconds } from './lease.ts';

type PollAnswer = z.input<typeof resource.pollAutomationNodeCommands.response>;

/** Added to a command's own time for the way there and back, in milliseconds. */
export const graceMs = 15_000;

/** What a device asks for in one look of its poll. */
export interface HandOutRequest {
  max: number;
  /** What the device holds. */
  running: string[];
  /** Whether whatever else is leased to the device never came there. */
  isRunningComplete: boolean;
}

/** One lease, as long as nobody took it anew. */
export interface Lease {
  commandId: string;
  handedOutAt: string;
}

/** What one look of a poll brings, and the leases that it rests on. */
export interface HandOut {
  answer: PollAnswer;
  leases: Lease[];
}

interface HandOutDependencies {
  db: Database;
  dispatch: (jobs: PromisedJob[]) => void;
}

/** A command that its node's owner switched off at the hub. */
interface Refusal {
  id: string;
  runId: string;
  message: string;
}

/** Undoes a look of a device that is not paired any more. */
class Revoked extends Error {}

/**
 * Leases up to `max` commands to a device and tells which of `running` it should stop; null when the node is revoked.
 * What its owner switched off at the hub meanwhile fails instead. Nothing is leased once `signal` says that nobody listens.
 */
export async function handOut(
  deps: HandOutDependencies,
  device: DeviceIdentity,
  { max, running, isRunningComplete }: HandOutRequest,
  signal: { readonly aborted: boolean },
): Promise<HandOut | null> {
  const { tenantId, nodeId } = device;
  const look = async (tx: Transaction): Promise<HandOut & { refused: Refusal[] }> => {
    // One behind the other without waiting. Leases are extended before more are given: that waits for nobody, so that no two transactions wait
    // for each other.
    const [{ rows: seen }, withdrawn, , leased] = await Promise.all([
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
      isRunningComplete ? giveAgain(tx, nodeId, running) : undefined,
      lease(tx, nodeId, signal.aborted ? 0 : max),
    ]);
    const [node] = seen;
    if (node === undefined) throw new Revoked();
    if (!node.was_online) noteWorkspaceChange(tx, tenantId);
    const allowed: typeof leased = [];
    const refused: Refusal[] = [];
    for (const row of leased) {
      const command = isCommandType(row.type) ? (catalog[row.type] as CommandDefinition) : null;
      const problem =
        command === null
          ? 'this hub does not know the command any more'
          : gateProblem({ allowSystem: node.allow_system, allowBrowser: node.allow_browser }, command);
      if (problem === null) allowed.push(row);
      else refused.push({ id: row.id, runId: row.run_id, message: problem });
    }
    // They never leave the hub; until they have failed they wait as before, whatever becomes of this process.
    if (refused.length > 0)
      await tx.query(
        'keep_refused',
        `UPDATE node_commands SET status = 'pending', handed_out_at = NULL, lease_expires_at = NULL WHERE id = ANY($1::uuid[])`,
        [refused.map(({ id }) => id)],
      );
    // That a command which acts was handed out must outlive the machine; the rest comes again by itself.
    if (allowed.some((row) => row.acts)) await commitDurably(tx);
    const commands = allowed.map((row) =>
      presentCommand({ ...row, expiresAt: row.expires_at, endsInMs: row.ends_in_ms }),
    );
    return {
      answer: { commands, withdrawn },
      leases: allowed.map((row) => ({ commandId: row.id, handedOutAt: row.handed_out_at })),
      refused,
    };
  };
  const seen = await deps.db.workspace(tenantId, look, { durable: false }).catch((error: unknown) => {
    if (error instanceof Revoked) return null;
    throw error;
  });
  if (seen === null) return null;
  const { refused, ...handedOut } = seen;
  if (refused.length > 0) {
    await refuse(deps, tenantId, refused).catch((error: unknown) => {
      // What is leased must reach its device; the next look refuses the others.
      if (handedOut.leases.length === 0) throw error;
    });
  }
  return handedOut;
}

/** A command as its device gets it. */
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

/** The input of a command as its device gets it: with the time that is left, unless an approval binds the whole input. */
function inputFor(
  command: CommandDefinition,
  input: JsonObject,
  { approval, endsInMs }: Pick<NodeCommandRow, 'approval'> & { endsInMs: number },
): JsonObject {
  const own = deviceInput(command, input);
  return approval === null ? limitTimeout(command, own, endsInMs) : own;
}

/** Puts commands back whose answer never left the hub, those that act as well, for the next poll of their node. */
export async function putBack(db: Database, { tenantId, nodeId }: DeviceIdentity, leases: Lease[]): Promise<void> {
  await db.workspace(tenantId, (tx) =>
    tx.query(
      'put_back_commands',
      `WITH held AS (
         SELECT c.id FROM node_commands c JOIN unnest($2::uuid[], $3::timestamptz[]) AS lease (id, handed_out_at) ON lease.id = c.id
         WHERE c.node_id = $1 AND c.status = 'leased' AND c.handed_out_at = lease.handed_out_at ORDER BY c.id FOR UPDATE OF c
       )
       UPDATE node_commands c SET status = 'pending', handed_out_at = NULL, lease_expires_at = NULL,
         expires_at = least(now() + make_interval(secs => $4), coalesce(deadline_at, 'infinity'))
       FROM held WHERE c.id = held.id`,
      [nodeId, leases.map(({ commandId }) => commandId), leases.map(({ handedOutAt }) => handedOutAt), retakeSeconds],
    ),
  );
}

/** Puts a command back that only reads, and that was leased to a poll as it was written. */
export async function takeBack(tx: Transaction, commandId: string): Promise<void> {
  await tx.query(
    'take_command_back',
    `UPDATE node_commands SET status = 'pending', handed_out_at = NULL, lease_expires_at = NULL,
       expires_at = least(now() + make_interval(secs => $2), coalesce(deadline_at, 'infinity'))
     WHERE id = $1 AND status = 'leased' AND NOT acts`,
    [commandId, retakeSeconds],
  );
}

/**
 * Extends the leases of commands that a device holds, running or waiting to be handed over; answers those that it should stop.
 * One that waits to be handed out again is its own again, and one that ended only for want of its word may end in truth, unless the time of its step is over.
 */
export async function extendLeases(tx: Transaction, nodeId: string, running: string[]): Promise<string[]> {
  if (running.length === 0) return [];
  const { rows: wanted } = await tx.query<{ id: string }>(
    'extend_leases',
    `WITH held AS (SELECT id FROM node_commands WHERE node_id = $1 AND id = ANY($2::uuid[]) AND status IN ('pending', 'leased') ORDER BY id FOR UPDATE),
       extended AS (
         UPDATE node_commands c SET status = 'leased', handed_out_at = coalesce(handed_out_at, clock_timestamp()), lease_expires_at = now() + make_interval(secs => $3),
           expires_at = greatest(expires_at, least(now() + make_interval(secs => $3), coalesce(deadline_at, coalesce(handed_out_at, now()) + make_interval(secs => timeout_ms / 1000.0 + $4))))
         FROM held WHERE c.id = held.id RETURNING c.id
       )
     SELECT id FROM extended
     UNION ALL
     SELECT c.id FROM node_commands c JOIN runs r ON r.id = c.run_id JOIN run_steps s ON s.run_id = c.run_id AND s.index = c.step_index
     WHERE c.node_id = $1 AND c.id = ANY($2::uuid[]) AND c.overdue AND coalesce(c.deadline_at > now(), true) AND r.status <> 'cancelled' AND ${isCallOfStep}
       AND NOT EXISTS (SELECT 1 FROM runs later WHERE later.flow_id = r.flow_id AND later.attempt > r.attempt)`,
    [nodeId, running, leaseSeconds, handOverSeconds],
  );
  const kept = new Set(wanted.map((row) => row.id));
  return running.filter((id) => !kept.has(id));
}

/** Makes commands that only read, and never came to their device, wait to be handed out again. */
async function giveAgain(tx: Transaction, nodeId: string, running: string[]): Promise<void> {
  await tx.query(
    'give_commands_again',
    `UPDATE node_commands SET status = 'pending', lease_expires_at = NULL,
       expires_at = least(now() + make_interval(secs => $3), coalesce(deadline_at, created_at + make_interval(secs => $4)))
     WHERE id = ANY(ARRAY(
       SELECT id FROM node_commands WHERE node_id = $1 AND status = 'leased' AND NOT acts AND id <> ALL ($2::uuid[])
         AND coalesce(deadline_at, created_at + make_interval(secs => $4)) > now() ORDER BY id FOR UPDATE SKIP LOCKED
     ))`,
    [nodeId, running, retakeSeconds, rereadSeconds],
  );
}

async function refuse(deps: HandOutDependencies, tenantId: string, refused: Refusal[]): Promise<void> {
  const jobs = await deps.db.workspace(tenantId, async (tx) => {
    await lockRuns(
      tx,
      refused.map(({ runId }) => runId),
    );
    await lockOpen(
      tx,
      inArray(
        nodeCommands.id,
        refused.map(({ id }) => id),
      ),
    );
    const woken: PromisedJob[] = [];
    for (const { id, message } of refused)
      woken.push(...(await endCommand(tx, id, 'failed', { error: { code: 'denied_by_policy', message } })));
    return woken;
  });
  deps.dispatch(jobs);
}

interface LeasedRow {
  id: string;
  run_id: string;
  type: string;
  acts: boolean;
  input: JsonObject;
  expires_at: Date;
  /** By the clock of the database, which also set `expires_at`. */
  ends_in_ms: number;
  handed_out_at: string;
  approval: NodeCommandRow['approval'];
  origin: NodeCommandRow['origin'];
}

/** Milliseconds until a device must end a command, as SQL: the deadline of the hub is later, so that the result arrives before it. */
export const endsInMs = `extract(epoch from least(expires_at, deadline_at - make_interval(secs => ${graceMs / 1000})) - clock_timestamp())::float8 * 1000`;

async function lease(tx: Transaction, nodeId: string, max: number): Promise<LeasedRow[]> {
  if (max === 0) return [];
  const { rows } = await tx.query<LeasedRow>(
    'lease_commands',
    // Materialized, because a plan may run a subquery once for each row, and take as many anew each time.
    `WITH taken AS MATERIALIZED (
       SELECT id FROM node_commands WHERE node_id = $1 AND status = 'pending' AND expires_at > now() ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
     ), leased AS (
       UPDATE node_commands c SET status = 'leased', handed_out_at = clock_timestamp(), lease_expires_at = now() + make_interval(secs => $3),
         expires_at = least(now() + make_interval(secs => (timeout_ms + $4) / 1000.0), coalesce(deadline_at, 'infinity'))
       FROM taken WHERE c.id = taken.id
       RETURNING c.id, c.run_id, c.type, c.acts, c.input, c.expires_at, ${endsInMs} AS ends_in_ms, c.handed_out_at::text, c.approval, c.origin
     )
     SELECT * FROM leased ORDER BY id`,
    [nodeId, max, leaseSeconds, graceMs],
  );
  return rows;
}
