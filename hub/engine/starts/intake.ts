import { Batches } from '../../platform/db/batches.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { commitBehind } from '../../platform/db/transaction.ts';
import { acceptRuns, prepareRun } from './accept-runs.ts';
import type { AcceptedRun, NewRun, PreparedRun } from './accept-runs.ts';
import type { Definition } from './definitions.ts';
import { begunRun, LockedStarts } from './locked-starts.ts';
import type { Reservation } from './locked-starts.ts';
import { Resumption } from './resumption.ts';

/** A run of a workflow that was read earlier, without a lock. */
export type IntakeRun = Omit<
  NewRun,
  'id' | 'tenantId' | 'workflowId' | 'workflowVersion' | 'notBefore' | 'parentRunId' | 'subjectId'
> & {
  definition: Definition;
};

/**
 * Accepts the runs of a workspace that arrive at the same time with one statement and one commit. A run that a worker of this
 * process has capacity for is held by it, unless a limit or policy can delay it. All others are queued.
 */
export class RunIntake {
  readonly #batches: Batches<PreparedRun, AcceptedRun | null>;
  #reserve: (tenantId: string) => Reservation | null = () => null;

  constructor(db: Database) {
    this.#batches = new Batches({
      flush: (tenantId, prepared, options) => {
        const work = async (tx: Transaction) => {
          const accepted = acceptRuns(tx, prepared);
          commitBehind(tx);
          return accepted;
        };
        return db.workspace(tenantId, work, options);
      },
      bytesOf: ({ json }) => json.length,
    });
  }

  /** Sets how to reserve capacity of a worker of this process. */
  preferLocal(reserve: (tenantId: string) => Reservation | null): void {
    this.#reserve = reserve;
  }

  /** Prepares to continue a run of a workspace. */
  resumption(tenantId: string): Resumption {
    return new Resumption(this.#reserve(tenantId));
  }

  /** For runs that a transaction of the caller accepts. */
  openStarts(): LockedStarts {
    return new LockedStarts((tenantId) => this.#reserve(tenantId));
  }

  /**
   * Accepts a run; resolves after the commit. @returns null without accepting the run if its workflow has changed; the caller
   * then reads the workflow again. @throws DatabaseOutage.
   */
  async accept({ definition, ...run }: IntakeRun): Promise<{ runId: string } | null> {
    const { id: workflowId, tenant_id: tenantId, version: workflowVersion, stamp } = definition;
    using reservation = this.#reserve(tenantId);
    const prepared = prepareRun(
      { ...run, tenantId, workflowId, workflowVersion },
      { stamp: { of: 'definition', value: stamp }, holderId: reservation?.holderId ?? null },
    );
    const accepted = await this.#batches.add(tenantId, prepared);
    if (accepted === null) return null;
    if (reservation !== null && accepted.claimed !== null)
      reservation.begin(begunRun(definition, run, prepared, accepted.claimed, reservation.holderId));
    return { runId: accepted.runId };
  }
}
