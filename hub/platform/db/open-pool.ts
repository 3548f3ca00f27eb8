import { Pool } from 'pg';
import { proveConnection } from './connection-proof.ts';
import type { WorkRole } from './connection-proof.ts';

export interface DatabaseOptions {
  /** postgres:// URL of a user that owns the tables or is a member of both roles. */
  url: string;
  maxConnections: number;
  applicationName: string;
  /** Hears of connections that broke while idle; they are replaced by themselves. */
  onError: (error: Error) => unknown;
  /** Gets what an effect of a committed transaction threw; `onError` if omitted. */
  onEffectError?: (error: unknown) => unknown;
  lockTimeoutMs?: number;
  /** How long a transaction or statement waits for a connection. */
  connectionTimeoutMs?: number;
  statementTimeoutMs?: number;
  queryTimeoutMs?: number;
}

/** Time limits of waits for locks, connections and statements. */
export type DatabaseTimeouts = Pick<
  DatabaseOptions,
  'lockTimeoutMs' | 'connectionTimeoutMs' | 'statementTimeoutMs' | 'queryTimeoutMs'
>;

/** What a lock is waited for at most, so that a blocked write lets go of what it holds long before a lease ends. */
const defaultLockTimeoutMs = 10_000;
const defaultConnectionTimeoutMs = 10_000;
const defaultStatementTimeoutMs = 30_000;
/** A server that does not even end a statement that takes too long has fallen silent. */
const defaultQueryTimeoutMs = 35_000;

/** Opens a pool of connections, each with its role, its time-outs and settings of its own. A connection is used only once it has proved its role. */
export function openPool(options: DatabaseOptions, max: number, role: WorkRole, settings: string): Pool {
  const pool = new Pool({
    connectionString: options.url,
    max,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectionTimeoutMs ?? defaultConnectionTimeoutMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    lock_timeout: options.lockTimeoutMs ?? defaultLockTimeoutMs,
    statement_timeout: options.statementTimeoutMs ?? defaultStatementTimeoutMs,
    query_timeout: options.queryTimeoutMs ?? defaultQueryTimeoutMs,
    idle_in_transaction_session_timeout: 60_000,
    // A statement does not wait for the answer to what was sent before it.
    pipeline: true,
    options: `-c role=${role} ${settings}`,
    // oxlint-disable-next-line typescript/no-misused-promises -- The pool awaits the promise; its types do not say so.
    onConnect: (client) => proveConnection(client, role),
  });
  // One that ends while nobody listens to it, between its first word and its first use, would else end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool.on('error', options.onError);
}
