import { maxRunDepth } from '../../../engine/index.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { inBatches } from '../../../platform/db/row-retention.ts';
import type { Turn } from '../../../platform/db/row-retention.ts';
import { idBefore } from '../../../platform/ids.ts';

const key = 'flow_subjects';
/** Flows per transaction. */
const batch = 500;

/** A lookup of a run by an index. The form of the query leaves the planner no other choice. */
const run = (condition: string) =>
  `SELECT trigger, parent_run_id, payload->'conversation'->>'id' AS subject FROM runs WHERE ${condition} OFFSET 0`;

/**
 * Completes the subjects of event runs that an earlier version of the hub accepted without them, as long as processes
 * of this version may run. The progress is stored, so that each flow is checked once. It ends after a day.
 */
export class FlowSubjects {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Continues for one turn. @returns whether all subjects are complete, now and later. */
  async complete(turn: Turn): Promise<boolean> {
    const mark = await this.#mark();
    if (mark?.after === null) return true;
    if (mark === undefined)
      await this.#db.systemStatement(
        'begin_flow_subjects',
        // A database without flows has had no earlier version of the hub.
        `INSERT INTO hub_settings (key, value) SELECT $1, jsonb_build_object('after', $2::text,
           'until', now() + CASE WHEN (SELECT id FROM flows ORDER BY id LIMIT 1) IS NOT NULL THEN interval '1 day' ELSE interval '0' END) ON CONFLICT DO NOTHING`,
        [key, idBefore(new Date(0))],
      );
    await inBatches(turn, batch, () => this.#db.system((tx) => this.#fillSome(tx), { durable: false }));
    return (await this.#mark())?.after === null;
  }

  async #mark(): Promise<{ after: string | null } | undefined> {
    const [mark] = await this.#db.systemStatement<{ after: string | null }>(
      'read_flow_subjects',
      `SELECT value->>'after' AS after FROM hub_settings WHERE key = $1`,
      [key],
    );
    return mark;
  }

  async #fillSome(tx: Transaction): Promise<number> {
    const { rows: marks } = await tx.query<{ after: string | null; is_over: boolean; before: Date }>(
      'hold_flow_subjects',
      // Transactions in progress may still insert flows with ids near the newest.
      `SELECT value->>'after' AS after, (value->>'until')::timestamptz <= now() AS is_over, now() - interval '5 minutes' AS before
       FROM hub_settings WHERE key = $1 FOR UPDATE`,
      [key],
    );
    const [mark] = marks;
    if (mark === undefined || mark.after === null) return 0;
    const { rows } = await tx.query<{ count: number; last: string | null }>(
      'fill_flow_subjects',
      // A run has the same subject as the run of an event that led to it.
      `WITH RECURSIVE looked AS MATERIALIZED (
         SELECT id, subject_id FROM flows WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3
       ), led AS (
         SELECT l.id AS flow_id, r.*, 0 AS depth FROM looked l CROSS JOIN LATERAL (${run('flow_id = l.id')}) r WHERE l.subject_id IS NULL
         UNION ALL
         SELECT l.flow_id, r.*, l.depth + 1 FROM led l CROSS JOIN LATERAL (${run(
           "id = coalesce(l.parent_run_id, CASE WHEN l.trigger->>'type' = 'error' THEN (l.trigger->>'runId')::uuid END)",
         )}) r
         WHERE l.trigger->>'type' <> 'event' AND l.depth < $4
       ), filled AS (
         UPDATE flows f SET subject_id = l.subject::uuid FROM led l WHERE f.id = l.flow_id AND f.subject_id IS NULL AND l.trigger->>'type' = 'event'
       )
       SELECT count(*)::int AS count, (SELECT id FROM looked ORDER BY id DESC LIMIT 1) AS last FROM looked`,
      [mark.after, idBefore(mark.before), batch, maxRunDepth],
    );
    const { count, last } = rows[0] as { count: number; last: string | null };
    const isDone = mark.is_over && count < batch;
    if (last !== null || isDone)
      await tx.query(
        'keep_flow_subjects',
        `UPDATE hub_settings SET value = CASE WHEN $3::boolean THEN '{}'::jsonb ELSE value || jsonb_build_object('after', $2::text) END, updated_at = now() WHERE key = $1`,
        [key, last, isDone],
      );
    return count;
  }
}
