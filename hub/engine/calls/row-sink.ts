import type { Transaction } from '../../platform/db/database.ts';
import type { SunkRow } from '../skill.ts';

/** Writes rows, those of each sink by one statement, one behind the other without waiting. */
export async function writeSunk(tx: Transaction, rows: readonly SunkRow[]): Promise<void> {
  if (rows.length === 0) return;
  const bySink = Map.groupBy(rows, ({ sink }) => sink);
  await Promise.all(
    Array.from(bySink, ([sink, those]) =>
      sink.insert(
        tx,
        those.map(({ row }) => row),
      ),
    ),
  );
}
