import type { Database } from './database.ts';

const foldBatch = 5_000;

/**
 * A table of which triggers add a row for each change of a sum, so that the sum is always right and nobody waits for anybody. It has an `id`, and `folded`,
 * which one row of each sum is.
 */
export interface SumTable {
  table: string;
  /** The columns that say which sum a row is of; unique among the folded. */
  keys: readonly string[];
  /** The columns that are added up. */
  sums: readonly string[];
}

/** Folds what changed of each sum into one row; part of the sweep. No sum is another before, after or meanwhile. */
export async function foldSums(db: Database, { table, keys, sums }: SumTable, stopping?: AbortSignal): Promise<void> {
  const key = keys.join(', ');
  const added = sums.join(', ');
  while (stopping?.aborted !== true) {
    const rows = await db.systemStatement<{ count: number }>(
      `fold_${table}`,
      `WITH gone AS (
         DELETE FROM ${table} WHERE id = ANY(ARRAY(SELECT id FROM ${table} WHERE NOT folded ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING ${key}, ${added}
       ), total AS (
         INSERT INTO ${table} (${key}, ${added}, folded) SELECT ${key}, ${sums.map((sum) => `sum(${sum})`).join(', ')}, true FROM gone GROUP BY ${key} ORDER BY ${key}
         ON CONFLICT (${key}) WHERE folded DO UPDATE SET ${sums.map((sum) => `${sum} = ${table}.${sum} + excluded.${sum}`).join(', ')}
       )
       SELECT count(*)::int AS count FROM gone`,
      [foldBatch],
    );
    if ((rows[0]?.count ?? 0) < foldBatch) return;
  }
}
