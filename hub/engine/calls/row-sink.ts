import type { Transaction } from '../../platform/db/database.ts';
import type { SinkRow } from '../skill.ts';

/** Writes rows with one statement per sink. All statements are sent before the first result arrives. */
export async function writeSinkRows(tx: Transaction, rows: readonly SinkRow[]): Promise<void> {
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
