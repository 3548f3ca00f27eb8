import { Batcher } from '../../platform/db/batcher.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { pipelineCommit } from '../../platform/db/transaction.ts';
import { acceptRuns, prepareRun } from './accept-runs.ts';
import type { AcceptedRun, NewRun, PreparedRun } from './accept-runs.ts';
import type { Definition } from './definitions.ts';
import { Resumption } from './resumption.ts';
import { StartBatch, toClaimedRun } from './start-batch.ts';
import type { Reservation } from './start-batch.ts';

/** A run of a workflow that was read earlier, without a lock. */
export type IntakeRun = Omit<
  NewRun,
  'id' | 'tenantId' | 'workflowId' | 'workflowVersion' | 'notBefore' | 'parentRunId' | 'subjectId'
> & {
  definition: Definition;
};

/**
 * Accepts concurrent starts of a workspace with one statement and one commit. This process holds a run from the start if its worker has
 * capacity and no limit or policy can delay the run. All other runs are queued.
 */
export class RunIntake {
  readonly #batches: Batcher<PreparedRun, AcceptedRun | null>;
  #reserve: (tenantId: string) => Reservation | null = () => null;

  constructor(db: Database) {
    this.#batches = new Batcher({
      flush: (tenantId, prepared, options) => {
        const acceptAll = async (tx: Transaction) => {
          const accepted = acceptRuns(tx, prepared);
          pipelineCommit(tx);
          return accepted;
        };
        return db.workspace(tenantId, acceptAll, options);
      },
      bytesOf: ({ json }) => json.length,
    });
  }

  /** Sets the function that reserves capacity of the worker of this process. */
  preferLocal(reserve: (tenantId: string) => Reservation | null): void {
    this.#reserve = reserve;
  }

  /** Prepares to resume one waiting run of a workspace, and reserves capacity for it if there is some. */
  resumption(tenantId: string): Resumption {
    return new Resumption(this.#reserve(tenantId));
  }

  /** Opens a batch of runs that a transaction of the caller accepts. */
  openStartBatch(): StartBatch {
    return new StartBatch((tenantId) => this.#reserve(tenantId));
  }

  /**
   * Accepts a run; resolves after the commit.
   * @returns null if the definition has changed. Then no run is accepted, and the caller reads the workflow again.
   * @throws DatabaseOutage.
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
      reservation.begin(toClaimedRun(definition, run, prepared, accepted.claimed, reservation.holderId));
    return { runId: accepted.runId };
  }
}
