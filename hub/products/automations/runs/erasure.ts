import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { inBatches, newTurn } from '../../../platform/db/row-retention.ts';
import { FlowSubjects } from './flow-subjects.ts';
import { removeEndedRuns } from './retention.ts';
import type { Runs } from './service.ts';

/** Runs that are cancelled in one transaction at most. */
const batch = 100;
/** A batch that has more behind it, as `inBatches` counts. */
const full = 1;
/** How long a sweep finds out at most what runs are about before it erases any, in milliseconds. */
const fillMs = 10_000;
/** Erased conversations without runs that are forgotten at once. */
const forgottenAtOnce = 1_000;

/** Notes conversations whose runs are to go, with the transaction that erases them. */
export async function noteErased(tx: Transaction, tenantId: string, subjectIds: readonly string[]): Promise<boolean> {
  await tx.query(
    'note_erased_subjects',
    'INSERT INTO erased_subjects (tenant_id, subject_id) SELECT $1, s FROM unnest($2::uuid[]) s ON CONFLICT DO NOTHING',
    [tenantId, subjectIds],
  );
  return false;
}

/** Ends and removes the runs that are about what was erased, with those that they led to and all that belongs to them; part of the sweep. */
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
    const isKnownOfAll = await this.#subjects.complete({ ...turn, deadline: performance.now() + fillMs });
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
    // A run of which it is not known yet what it is about may still be found.
    if (isKnownOfAll) await inBatches(turn, forgottenAtOnce, () => this.#forgetSome());
  }

  async #forgetSome(): Promise<number> {
    const { rowCount } = await this.#deps.db.system(
      (tx) =>
        tx.query(
          'forget_erased_subjects',
          `DELETE FROM erased_subjects WHERE subject_id = ANY(ARRAY(
             SELECT subject_id FROM erased_subjects e WHERE NOT EXISTS (SELECT FROM flows f WHERE f.subject_id = e.subject_id) LIMIT $1))`,
          [forgottenAtOnce],
        ),
      { durable: false },
    );
    return rowCount ?? 0;
  }

  /** Whether there is more of it that can go now. */
  async #eraseSome(tenantId: string, subjectId: string): Promise<boolean> {
    const { db, runs } = this.#deps;
    const { rows: open } = await db.read(tenantId, (tx) =>
      tx.query<{ id: string }>(
        'list_runs_of_subject',
        `SELECT r.id FROM flows f JOIN runs r ON r.flow_id = f.id
         WHERE f.tenant_id = $1 AND f.subject_id = $2 AND r.finished_at IS NULL ORDER BY r.id LIMIT $3`,
        [tenantId, subjectId, batch],
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
    // A run that somebody has locked now, or that is run again, is left to the next time.
    return removed > 0;
  }
}
