import type { Transaction } from '../../platform/db/database.ts';
import type { ClaimedRun } from '../runs/store.ts';
import { acceptRuns, prepareRun } from './accept-runs.ts';
import type { AcceptedRun, NewRun, PreparedRun } from './accept-runs.ts';
import type { LockedDefinition, StartDefinition } from './definitions.ts';

/** Capacity of the worker of this process for one run. Disposing it releases the capacity. */
export interface Reservation extends Disposable {
  /** The process that holds the run. */
  readonly holderId: string;
  /** Uses the capacity to execute a run that this process holds. Disposing then has no effect. */
  begin(run: ClaimedRun): void;
}

/** A run of a workflow that the transaction has locked. */
export interface LockedStart {
  run: NewRun;
  definition: LockedDefinition;
  /** Whether this process holds the run from the start if its worker has capacity. */
  claim: boolean;
}

/** Builds the result of a claim for a run that was accepted as held by this process. */
export function toClaimedRun(
  definition: StartDefinition,
  {
    environment,
    context,
    depth = 0,
    requestedBy = [],
    parentRunId,
  }: Omit<NewRun, 'tenantId' | 'workflowId' | 'workflowVersion'>,
  { runId, traceParent }: PreparedRun,
  stored: NonNullable<AcceptedRun['claimed']>,
  holderId: string,
): ClaimedRun {
  const { steps, approvals_required_for, error_workflow_id, pack_id, pack_grants, entitlements } = definition;
  return {
    id: runId,
    tenant_id: definition.tenant_id,
    workflow_id: definition.id,
    workflow_version: definition.version,
    environment,
    trigger: stored.trigger,
    context,
    payload: stored.payload,
    unread_input: null,
    attempt: 1,
    next_step: 0,
    fence: '1',
    holder_id: holderId,
    lost_leases: 0,
    process_deaths: null,
    wake_count: 0,
    parent_run_id: parentRunId ?? null,
    depth,
    requested_by: [...requestedBy],
    trace_parent: traceParent,
    queued_at: stored.queued_at,
    started_at: stored.queued_at,
    steps,
    results: [],
    approvals_required_for,
    error_workflow_id,
    pack_id,
    pack_grants,
    entitlements,
    held_since: performance.now(),
    is_unstarted: true,
  };
}

/**
 * Accepts runs of workflows that the transaction of the caller has locked. If the worker of this process has capacity for a run,
 * the process holds the run and begins it after the commit. All other runs are queued.
 */
export class StartBatch implements Disposable {
  readonly #reserve: (tenantId: string) => Reservation | null;
  #reservations: Reservation[] = [];
  #claimed: { reservation: Reservation; run: ClaimedRun }[] = [];

  constructor(reserve: (tenantId: string) => Reservation | null) {
    this.#reserve = reserve;
  }

  /** Accepts runs. @returns the number of queued runs. */
  async accept(tx: Transaction, starts: readonly LockedStart[]): Promise<number> {
    const prepared = starts.map(({ run, definition, claim }) => {
      const reservation = claim ? this.#reserve(run.tenantId) : null;
      if (reservation !== null) this.#reservations.push(reservation);
      const stamp = { of: 'workspace', value: definition.workspace_stamp } as const;
      return { run, definition, reservation, row: prepareRun(run, { stamp, holderId: reservation?.holderId ?? null }) };
    });
    const accepted = await acceptRuns(
      tx,
      prepared.map(({ row }) => row),
    );
    this.#claimed = prepared.flatMap(({ run, definition, reservation, row }, index) => {
      const stored = accepted[index]?.claimed ?? null;
      if (reservation === null || stored === null) return [];
      return [{ reservation, run: toClaimedRun(definition, run, row, stored, reservation.holderId) }];
    });
    return starts.length - this.#claimed.length;
  }

  /** Begins the runs that this process holds. Call it after the commit. @returns the number of these runs. */
  begin(): number {
    const claimed = this.#claimed.splice(0);
    for (const { reservation, run } of claimed) reservation.begin({ ...run, held_since: performance.now() });
    return claimed.length;
  }

  /** Releases the capacity of runs that were not committed. The transaction can then be retried. */
  [Symbol.dispose](): void {
    this.#claimed = [];
    for (const reservation of this.#reservations.splice(0)) reservation[Symbol.dispose]();
  }
}
