import type { Transaction } from '../../platform/db/database.ts';
import type { SunkRow } from '../skill.ts';

/** Writes rows with one statement per sink. All statements are sent before the first result arrives. */
export async function writeSunk(tx: Transaction, rows: readonly SunkRow[]): Promise<void> {
  if (rows.length === 0) return;
  const bySink = Map.groupBy(rows, ({ sink }) => sink);
  await Promise.all(
    Array.from(bySink, ([sink, sunkRows]) =>
      sink.insert(
        tx,
        sunkRows.map(({ row }) => row),
      ),
    ),
  );
}
