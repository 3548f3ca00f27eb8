import { LRUCache } from 'lru-cache';
import { deviceTimeMs } from '../../../../shared/commands/define.ts';
import type { CommandDefinition } from '../../../../shared/commands/define.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { lockRuns, wakeRuns } from '../../../engine/index.ts';
import type { CommandOutcome, CommandRequest } from '../../../engine/index.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray, sql } from '../../../platform/db/orm.ts';
import { inBatches, newTurn } from '../../../platform/db/row-retention.ts';
import { nodeCommands } from '../schema.ts';
import type { DeviceIdentity } from '../store.ts';
import { originOf } from './command-origin.ts';
import { lockOpenCommands, markEnded, nodeRevoked } from './command-rows.ts';
import type { NodeCommandRow } from './command-rows.ts';
import {
  endsInMs,
  extendLeases,
  transferGraceMs,
  leaseCommands,
  presentCommand,
  nodeTopic,
  returnLeases,
} from './lease-commands.ts';
import type { PollResult, LeaseRequest, Lease } from './lease-commands.ts';
import { leaseSeconds, maxRequeueAgeSeconds, refetchSeconds } from './lease.ts';
import { isReachable } from './reachability.ts';
import { WaitingPolls } from './waiting-polls.ts';

export type { PollResult };

export interface DispatchRequest {
  /** The id of the new command. Ignored when this attempt of the call has already written a command. */
  id: string;
  tenantId: string;
  nodeId: string;
  runId: string;
  stepIndex: number;
  attempt: number;
  /** The number of the tool call of an AI agent, or 0 for the step itself. */
  call: number;
  command: CommandDefinition;
  input: JsonObject;
  /** Maximum time until a device must lease the command, in milliseconds. */
  waitMs: number;
  /**
   * The remaining time of the step in seconds; null without a limit.
   * The deadline of the command adds the time for the prompt to the owner and for the transfer of the result.
   */
  deadlineInSeconds: number | null;
  approval: NodeCommandRow['approval'];
  origin: CommandRequest['origin'];
}

/**
 * Limits of the outcome cache: milliseconds, total bytes and bytes per outcome. Larger outcomes are read from the
 * database.
 */
const outcomeTtlMs = 10_000;
const maxCachedBytes = 8 * 1024 * 1024;
const maxCachedOutcomeBytes = 32 * 1024;

/**
 * The commands of nodes. A command is written in the transaction of the step that waits for it, leased to its device,
 * and ended exactly once.
 */
export class NodeCommands {
  readonly #deps: { db: Database };
  /** The polls that wait in this process. */
  readonly waitingPolls = new WaitingPolls();
  /**
   * Outcomes recorded by this process, which usually also resumes the runs. An outcome recorded in time never changes.
   */
  readonly #outcomes = new LRUCache<string, CommandOutcome>({
    max: 1_000,
    maxSize: maxCachedBytes,
    maxEntrySize: maxCachedOutcomeBytes,
    sizeCalculation: (outcome) => JSON.stringify(outcome).length,
    ttl: outcomeTtlMs,
  });

  constructor(dependencies: { db: Database }) {
    this.#deps = dependencies;
  }

  /**
   * Writes a command once per attempt and call of a step. A read-only command is leased immediately when its device waits
   * in this process. The commit of the transaction sends it.
   * @param asserted SQL expression that is evaluated on the written row, to assert its state.
   * @returns the id of the command.
   */
  async dispatch(tx: Transaction, request: DispatchRequest, asserted = 'true'): Promise<string> {
    const { command, input, nodeId, approval } = request;
    // An action is never leased here: its lease checks the permissions of the node again, which may have changed.
    const poll = command.acts ? null : this.waitingPolls.reserve(request);
    const { rows } = await tx.query<{
      id: string;
      expires_at: Date;
      ends_in_ms: number;
      handed_out_at: string | null;
      origin: NodeCommandRow['origin'];
      is_new: boolean;
    }>(
      asserted === 'true' ? 'dispatch_command' : 'dispatch_command_asserted',
      `INSERT INTO node_commands (id, tenant_id, node_id, run_id, step_index, attempt, call, type, input, approval, origin, status, acts, timeout_ms, deadline_at, expires_at, handed_out_at, lease_expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, ${originOf('$2', '$4', '$18')}, CASE WHEN $15 THEN 'leased' ELSE 'pending' END, $11, $12::int, now() + make_interval(secs => $13),
         least(now() + make_interval(secs => CASE WHEN $15 THEN ($12::int + $16::int) / 1000.0 ELSE $14 END), coalesce(now() + make_interval(secs => $13), 'infinity')),
         CASE WHEN $15 THEN clock_timestamp() END, CASE WHEN $15 THEN now() + make_interval(secs => $17) END)
       ON CONFLICT (run_id, step_index, attempt, call) DO UPDATE SET run_id = excluded.run_id RETURNING id, expires_at, ${endsInMs} AS ends_in_ms, handed_out_at::text, origin, xmax = 0 AS is_new, ${asserted}`,
      [
        request.id,
        request.tenantId,
        request.nodeId,
        request.runId,
        request.stepIndex,
        request.attempt,
        request.call,
        command.type,
        JSON.stringify(input),
        approval === null ? null : JSON.stringify(approval),
        command.acts,
        deviceTimeMs(command, input),
        request.deadlineInSeconds === null
          ? null
          : request.deadlineInSeconds + (command.promptMs + transferGraceMs) / 1000,
        Math.min(request.waitMs / 1000, request.deadlineInSeconds ?? Infinity),
        poll !== null,
        transferGraceMs,
        leaseSeconds,
        JSON.stringify(request.origin),
      ],
    );
    const [row] = rows;
    if (row === undefined) throw new Error('a command was not written');
    const { id, expires_at: expiresAt, handed_out_at: handedOutAt } = row;
    if (poll === null || !row.is_new || handedOutAt === null) {
      tx.publish(nodeTopic(nodeId), {});
      return id;
    }
    const leases: Lease[] = [{ commandId: id, handedOutAt }];
    const response = {
      commands: [
        presentCommand({
          id,
          type: command.type,
          input,
          expiresAt,
          endsInMs: row.ends_in_ms,
          approval,
          origin: row.origin,
        }),
      ],
      withdrawn: [],
    };
    tx.onCommit(() => {
      // If this fails, the leases expire.
      if (!poll.deliver({ response, leases })) this.returnLeases(request, leases).catch(() => undefined);
    });
    return id;
  }

  /** Caches the outcome of a command for its run, which the same transaction resumed. */
  cacheOutcome(tenantId: string, commandId: string, outcome: CommandOutcome): void {
    this.#outcomes.set(`${tenantId} ${commandId}`, outcome);
  }

  /**
   * Reads the outcome of a command from the cache, or from the database with one statement.
   * An output of more than `maxOutputBytes` as JSON is omitted.
   */
  async readOutcome(tenantId: string, commandId: string, maxOutputBytes: number): Promise<CommandOutcome | null> {
    const known = this.#outcomes.get(`${tenantId} ${commandId}`);
    if (known !== undefined) return known;
    const rows = await this.#deps.db.systemStatement<{ [Column in keyof CommandOutcome]: CommandOutcome[Column] }>(
      'read_command_outcome',
      `SELECT status, CASE WHEN m.bytes <= $3 THEN output END AS output, CASE WHEN m.bytes > $3 THEN m.bytes END AS "omittedBytes", error, type,
         node_id AS "nodeId", created_at AS "createdAt", handed_out_at AS "handedOutAt", finished_at AS "finishedAt"
       FROM node_commands CROSS JOIN LATERAL (SELECT octet_length(output::text) AS bytes) m WHERE id = $1 AND tenant_id = $2`,
      [commandId, tenantId, maxOutputBytes],
    );
    return rows[0] ?? null;
  }

  /**
   * Leases up to `max` commands to a device and returns the commands in `running` that it must stop.
   * Returns null when the node is revoked. Leases nothing once `signal` is aborted.
   */
  leaseCommands(
    device: DeviceIdentity,
    request: LeaseRequest,
    signal: { readonly aborted: boolean },
  ): Promise<PollResult | null> {
    return leaseCommands(this.#deps, device, request, signal);
  }

  /** Returns commands to `pending` when their response was not sent, and wakes the polls of their node. */
  returnLeases(device: DeviceIdentity, leases: Lease[]): Promise<void> {
    return returnLeases(this.#deps.db, device, leases);
  }

  /** Extends the leases of the commands that a device runs. Returns the commands that it must stop. */
  extendLeases(tx: Transaction, nodeId: string, running: string[]): Promise<string[]> {
    return extendLeases(tx, nodeId, running);
  }

  /** Withdraws the open commands of runs. The commit of the transaction notifies the devices. */
  async withdraw(tx: Transaction, runIds: readonly string[]): Promise<void> {
    const withdrawn = await tx
      .update(nodeCommands)
      .set({ status: 'withdrawn', finishedAt: sql`now()`, leaseExpiresAt: null })
      .where(inArray(nodeCommands.id, lockOpenCommands(tx, inArray(nodeCommands.runId, [...runIds]))))
      .returning({ nodeId: nodeCommands.nodeId });
    for (const { nodeId } of withdrawn) tx.publish(nodeTopic(nodeId), {});
  }

  /**
   * Ends expired commands in batches until none is left or the time slice ends.
   * A read-only command with an expired lease becomes pending again. An action fails with an unknown outcome.
   * While devices cannot reach this hub, no command expires.
   */
  sweep(stopping?: AbortSignal): Promise<number> {
    return inBatches(newTurn(stopping), 1, () => this.#sweepBatch());
  }

  /** Returns how many commands were due and not locked by another transaction. */
  #sweepBatch(): Promise<number> {
    const latest = sql`coalesce(${nodeCommands.deadlineAt}, ${nodeCommands.createdAt} + make_interval(secs => ${maxRequeueAgeSeconds}))`;
    const isDue = and(
      inArray(nodeCommands.status, ['pending', 'leased']),
      sql`least(${nodeCommands.leaseExpiresAt}, ${nodeCommands.expiresAt}) < now()`,
    );
    return this.#deps.db.system(async (tx) => {
      if (!(await isReachable(tx))) return 0;
      const found = await tx
        .select({ runId: nodeCommands.runId })
        .from(nodeCommands)
        .where(isDue)
        .orderBy(nodeCommands.id)
        .limit(100);
      // A command whose run is locked by another transaction is left to the next sweep.
      const runIds = await lockRuns(
        tx,
        found.map(({ runId }) => runId),
        { skipLocked: true },
      );
      const due =
        runIds.length === 0
          ? []
          : await tx
              .select({
                row: nodeCommands,
                isOver: sql<boolean>`${latest} <= now()`,
                isLate: sql<boolean>`coalesce(${nodeCommands.deadlineAt} <= now(), false)`,
                isRevoked: sql<boolean>`EXISTS (SELECT FROM nodes WHERE nodes.id = ${nodeCommands.nodeId} AND nodes.revoked_at IS NOT NULL)`,
              })
              .from(nodeCommands)
              .where(and(isDue, inArray(nodeCommands.runId, runIds)))
              .orderBy(nodeCommands.id)
              .for('update', { skipLocked: true });
      const ended: string[] = [];
      for (const { row, isOver, isLate, isRevoked } of due) {
        if (row.status === 'leased' && !row.acts && !isOver && !isRevoked) {
          await tx
            .update(nodeCommands)
            .set({
              status: 'pending',
              leaseExpiresAt: null,
              expiresAt: sql`least(now() + make_interval(secs => ${refetchSeconds}), ${latest})`,
            })
            .where(eq(nodeCommands.id, row.id));
          continue;
        }
        // Open commands of a revoked node exist only if the hub crashed between the two transactions of the revocation.
        const error = isRevoked ? nodeRevoked : overdueError(row, isLate);
        const failed = await markEnded(tx, row.id, 'failed', { error, overdue: !isRevoked });
        if (failed !== undefined) ended.push(failed.run_id);
      }
      for (const nodeId of new Set(due.map(({ row }) => row.nodeId))) tx.publish(nodeTopic(nodeId), {});
      await wakeRuns(tx, ended);
      return due.length;
    });
  }
}

/** @param isLate whether the time limit of the step has passed. */
function overdueError(row: NodeCommandRow, isLate: boolean): { code: string; message: string } {
  if (row.status === 'pending')
    return {
      code: 'node_offline',
      message: 'The node did not fetch the command in time; check that its companion is running.',
    };
  if (isLate) {
    const message = 'The command took longer than the timeoutSeconds of its step';
    return row.acts
      ? {
          code: 'outcome_unknown',
          message: `${message}, and the node sent no result; check the machine before you retry.`,
        }
      : { code: 'timeout', message: `${message}.` };
  }
  if (row.acts)
    return {
      code: 'outcome_unknown',
      message: 'The node fetched the command and sent no result; check the machine before you retry.',
    };
  return { code: 'timeout', message: 'The node did not answer in time.' };
}
