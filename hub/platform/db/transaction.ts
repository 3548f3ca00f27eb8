import type { QueryResult, QueryResultRow } from 'pg';
import type { NodePgDatabase } from './orm.ts';

/** A transaction: Drizzle's query builder, and `query` for a statement whose plan should be prepared once for each connection. */
export type Transaction = NodePgDatabase & { query: PreparedQuery };
export type PreparedQuery = <Row extends QueryResultRow>(
  name: string,
  text: string,
  values: unknown[],
) => Promise<QueryResult<Row>>;

const written = new WeakMap<Transaction, Set<string>>();

/** Notes that a transaction writes rows that somebody may follow live; `Database.onWritten` hears it after the commit. */
export function noteWritten(tx: Transaction, topic: string): void {
  const topics = written.get(tx);
  if (topics === undefined) written.set(tx, new Set([topic]));
  else topics.add(topic);
}

/** The topics that were noted. */
export function writtenIn(tx: Transaction): Iterable<string> {
  return written.get(tx) ?? [];
}

/** Has the commit of a transaction that began as not durable wait for the disk after all. */
export async function commitDurably(tx: Transaction): Promise<void> {
  await tx.query('commit_durably', 'SET LOCAL synchronous_commit = on', []);
}
