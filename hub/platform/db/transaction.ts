import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { QueryResult, QueryResultRow } from 'pg';

/** A transaction: Drizzle's query builder, and `query` for a statement whose plan should be prepared once for each connection. */
export type Transaction = NodePgDatabase & { query: PreparedQuery };
export type PreparedQuery = <Row extends QueryResultRow>(name: string, text: string, values: unknown[]) => Promise<QueryResult<Row>>;
