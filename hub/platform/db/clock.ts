import type { Transaction } from './transaction.ts';

/** The time by the clock of the database at the start of the transaction. The clock of a process may be wrong. */
export async function readNow(tx: Transaction): Promise<Date> {
  const { rows } = await tx.query<{ now: Date }>('read_clock', 'SELECT now()', []);
  return (rows[0] as { now: Date }).now;
}
