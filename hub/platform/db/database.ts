import { drizzle } from 'drizzle-orm/node-postgres';
import { Pool } from 'pg';
import type { PoolClient, QueryResultRow } from 'pg';
import { AppError } from '../../../shared/errors.ts';
import { JoinedTransaction } from './joined-transaction.ts';
import type { PreparedQuery, Transaction } from './transaction.ts';

export type { Transaction };

export interface DatabaseOptions {
  /** postgres:// URL of a user that owns the tables or is a member of both roles. */
  url: string;
  maxConnections: number;
  applicationName: string;
  /** Hears of connections that broke while idle; they are replaced by themselves. */
  onError: (error: Error) => void;
}

export interface TransactionOptions {
  /**
   * False for writes that repair themselves after a crash, such as claims and counters: their commit does not wait for the
   * disk. Never false for what was promised to a caller.
   */
  durable?: boolean;
}

const systemScope = 'SET LOCAL ROLE outrigger_system';
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** SQLSTATEs and socket errors that say that the database can't be reached now, rather than that a query was wrong. */
const unavailableCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'ENOENT', '57P01', '57P02', '57P03', '53300', '08000', '08003', '08006', '25006']);

/** Whether an error means that the database is out of reach, at any depth of its causes. */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string' && unavailableCodes.has(code)) return true;
    if (/Connection terminated|timeout exceeded when trying to connect|connection error and is not queryable/i.test(current.message)) return true;
  }
  return false;
}

/** SQLSTATEs of what went wrong only because of what else went on: deadlock, serialization, a lock or a statement that took too long. */
const passingCodes = new Set(['40001', '40P01', '55P03', '57014', '25P03']);

/** Whether the same transaction may succeed when it is tried again, although the database can be reached. */
function isPassing(error: unknown): boolean {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string' && passingCodes.has(code)) return true;
  }
  return false;
}

/** The constraint that a statement broke, or undefined when the error is another one. */
export function violatedConstraint(error: unknown): string | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const { code, constraint } = current as { code?: unknown; constraint?: unknown };
    if (code === '23505' && typeof constraint === 'string') return constraint;
  }
  return undefined;
}

/**
 * The way to the database. Every statement runs in a transaction that said whose rows it may see: one workspace's
 * (`workspace`) or, for work that belongs to none, all (`system`). A connection outside both sees no row at all.
 */
export class Database implements AsyncDisposable {
  readonly #pool: Pool;
  readonly #systemPool: Pool;
  #closing = false;

  constructor(options: DatabaseOptions) {
    const open = (max: number, settings: string) => {
      const pool = new Pool({
        connectionString: options.url,
        max,
        application_name: options.applicationName,
        connectionTimeoutMillis: 10_000,
        idleTimeoutMillis: 60_000,
        keepAlive: true,
        statement_timeout: 30_000,
        idle_in_transaction_session_timeout: 60_000,
        options: settings,
      });
      // Connections that end while the pool does are no news.
      pool.on('error', (error) => this.#closing || options.onError(error));
      return pool;
    };
    const forStatements = Math.max(1, Math.floor(options.maxConnections / 3));
    // As cheap as memory and flash make it: at the server's default, meant for spinning disks, the planner walks a whole table by its
    // primary key for the newest rows of one workspace, in the hope that they are near.
    const planner = '-c random_page_cost=1.1';
    this.#pool = open(options.maxConnections - forStatements, `-c role=outrigger_app ${planner}`);
    this.#systemPool = open(forStatements, `-c role=outrigger_system -c synchronous_commit=off ${planner}`);
  }

  /**
   * Runs `work` in a transaction that sees the rows of one workspace only.
   * @throws AppError `unavailable` when the database is out of reach; whatever `work` throws, after a rollback.
   */
  workspace<Result>(tenantId: string, work: (tx: Transaction) => Promise<Result>, options: TransactionOptions = {}): Promise<Result> {
    // The id goes into the text of the statement, because a begin with its settings is one round trip only without parameters.
    if (!uuidPattern.test(tenantId)) throw new TypeError('a workspace id is a UUID');
    const scope = `SET LOCAL outrigger.tenant_id = '${tenantId}'`;
    const joined = JoinedTransaction.of(this);
    return joined === undefined ? this.#transaction(scope, work, options) : joined.part({ begin: `SET LOCAL ROLE outrigger_app; ${scope}`, tenantId }, work);
  }

  /** Runs `work` in a transaction that sees every workspace. Only for what belongs to no single one. */
  system<Result>(work: (tx: Transaction) => Promise<Result>, options: TransactionOptions = {}): Promise<Result> {
    const joined = JoinedTransaction.of(this);
    return joined === undefined ? this.#transaction(systemScope, work, options) : joined.part({ begin: systemScope, tenantId: null }, work);
  }

  /**
   * Runs `work` in one transaction that sees every workspace and that all `workspace` and `system` transactions within it join:
   * they are committed together with what `work` itself writes, or not at all. What `afterCommit` was given waits for that commit.
   * Such work must not wait for the network: it holds a connection and locks.
   * @throws AppError `unavailable` when the database is out of reach; whatever `work` throws, after a rollback.
   */
  async joined<Result>(work: (tx: Transaction, joined: JoinedTransaction) => Promise<Result>): Promise<Result> {
    let last: JoinedTransaction | undefined;
    const result = await this.#transaction(
      systemScope,
      (tx) => {
        const joined = new JoinedTransaction(this, tx, systemScope);
        last = joined;
        return joined.run(() => work(tx, joined));
      },
      {},
    );
    last?.tell();
    return result;
  }

  /**
   * Runs one statement that sees every workspace, in a transaction of its own whose commit does not wait for the disk: one round
   * trip, for what every request needs before its workspace is known.
   * @throws AppError `unavailable` when the database is out of reach.
   */
  async systemStatement<Row extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    try {
      return (await this.#systemPool.query<Row>({ name, text, values })).rows;
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw outOfReach(error);
      if (isPassing(error)) throw tooBusy(error);
      throw error;
    }
  }

  /** Whether the database answers within the deadline of `signal`. */
  async ping(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    await Promise.race([this.#pool.query('select 1'), aborted]);
  }

  /** Connections: all, idle, and callers that wait for one. */
  get load(): { total: number; idle: number; waiting: number } {
    const sum = (count: (pool: Pool) => number) => count(this.#pool) + count(this.#systemPool);
    return { total: sum((pool) => pool.totalCount), idle: sum((pool) => pool.idleCount), waiting: sum((pool) => pool.waitingCount) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    await Promise.all([this.#pool.end(), this.#systemPool.end()]);
  }

  async #transaction<Result>(scope: string, work: (tx: Transaction) => Promise<Result>, { durable = true }: TransactionOptions): Promise<Result> {
    let client: PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      throw outOfReach(error);
    }
    let broken: Error | undefined;
    // A connection that dies while checked out emits its error here; the statement under way rejects by itself.
    const onError = (error: Error) => {
      broken = error;
    };
    client.on('error', onError);
    try {
      await client.query(`BEGIN; ${scope}${durable ? '' : '; SET LOCAL synchronous_commit = off'}`);
      const tx = Object.assign(drizzle({ client }), {
        query: ((name, text, values) => client.query({ name, text, values })) as PreparedQuery,
      });
      const result = await work(tx);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      if (isDatabaseUnavailable(error)) {
        broken = error as Error;
        throw outOfReach(error);
      }
      await client.query('ROLLBACK').catch((rollbackError: Error) => {
        broken = rollbackError;
      });
      // Nobody's fault, and no reason to fail a run: whoever asked may ask again.
      if (isPassing(error)) throw tooBusy(error);
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken ?? false);
    }
  }
}

function tooBusy(cause: unknown): AppError {
  return new AppError('unavailable', 'The database is too busy now; try again shortly.', { cause, retryAfterSeconds: 1 });
}

function outOfReach(cause: unknown): AppError {
  return new AppError('unavailable', 'The database is out of reach; try again shortly.', { cause, retryAfterSeconds: 1, internal: { part: 'database' } });
}
