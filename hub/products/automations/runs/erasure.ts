import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { inBatches, newTurn } from '../../../platform/db/row-retention.ts';
import { FlowSubjects } from './flow-subjects.ts';
import { removeEndedRuns } from './retention.ts';
import type { Runs } from './service.ts';

/** Maximum runs that one transaction cancels. */
const cancelBatch = 100;
/** Return value for a cancelBatch with further rows, as `inBatches` counts. */
const full = 1;
/** Time limit per sweep for completing the subjects of runs before the erasure, in milliseconds. */
const subjectsTimeLimitMs = 10_000;
/** Maximum erased conversations without runs whose records one statement deletes. */
const maxForgottenPerBatch = 1_000;

/** Records conversations whose runs must be erased, in the transaction that erases the conversations. */
export async function noteErased(tx: Transaction, tenantId: string, subjectIds: readonly string[]): Promise<boolean> {
  await tx.query(
    'note_erased_subjects',
    'INSERT INTO erased_subjects (tenant_id, subject_id) SELECT $1, s FROM unnest($2::uuid[]) s ON CONFLICT DO NOTHING',
    [tenantId, subjectIds],
  );
  return false;
}

/**
 * Ends and removes the runs about erased subjects, with the runs that they started and all related data; part of the
 * sweep.
 */
export class RunErasure {
  readonly #deps: { db: Database; blobs: Blobs; runs: Runs };
  readonly #subjects: FlowSubjects;

  constructor(dependencies: { db: Database; blobs: Blobs; runs: Runs }) {
    this.#deps = dependencies;
    this.#subjects = new FlowSubjects(dependencies.db);
  }

  async sweep(stopping: AbortSignal): Promise<void> {
    const { db } = this.#deps;
    const turn = newTurn(stopping);
    const isKnownOfAll = await this.#subjects.complete({ ...turn, deadline: performance.now() + subjectsTimeLimitMs });
    const erased = await db.systemStatement<{ subject_id: string; tenant_id: string }>(
      'list_erased_subjects',
      `SELECT subject_id, tenant_id FROM erased_subjects e WHERE EXISTS (SELECT FROM flows f WHERE f.subject_id = e.subject_id)
       ORDER BY erased_at LIMIT 100`,
      [],
    );
    for (const { subject_id: subjectId, tenant_id: tenantId } of erased) {
      if (stopping.aborted || performance.now() > turn.deadline) return;
      await inBatches(turn, full, async () => ((await this.#eraseSome(tenantId, subjectId)) ? full : 0));
    }
    // A run whose subject is not stored yet may still belong to an erased conversation.
    if (isKnownOfAll) await inBatches(turn, maxForgottenPerBatch, () => this.#forgetSome());
  }

  async #forgetSome(): Promise<number> {
    const { rowCount } = await this.#deps.db.system(
      (tx) =>
        tx.query(
          'forget_erased_subjects',
          `DELETE FROM erased_subjects WHERE subject_id = ANY(ARRAY(
             SELECT subject_id FROM erased_subjects e WHERE NOT EXISTS (SELECT FROM flows f WHERE f.subject_id = e.subject_id) LIMIT $1))`,
          [maxForgottenPerBatch],
        ),
      { durable: false },
    );
    return rowCount ?? 0;
  }

  /** Erases a cancelBatch. @returns whether more can be erased now. */
  async #eraseSome(tenantId: string, subjectId: string): Promise<boolean> {
    const { db, runs } = this.#deps;
    const { rows: open } = await db.read(tenantId, (tx) =>
      tx.query<{ id: string }>(
        'list_runs_of_subject',
        `SELECT r.id FROM flows f JOIN runs r ON r.flow_id = f.id
         WHERE f.tenant_id = $1 AND f.subject_id = $2 AND r.finished_at IS NULL ORDER BY r.id LIMIT $3`,
        [tenantId, subjectId, cancelBatch],
      ),
    );
    if (open.length > 0) {
      await runs.end(
        tenantId,
        open.map(({ id }) => id),
      );
      return true;
    }
    const removed = await removeEndedRuns(this.#deps, tenantId, {
      name: 'runs_of_subject',
      condition: 'flow_id IN (SELECT id FROM flows WHERE tenant_id = $1 AND subject_id = $3)',
      values: [subjectId],
      withThem: (tx, runIds) =>
        tx.query('prune_session_messages', 'DELETE FROM session_messages WHERE run_id = ANY($1)', [runIds]),
    });
    // A run that is locked or run again is left to the next sweep.
    return removed > 0;
  }
}
