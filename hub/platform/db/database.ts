import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { isUuid } from '../../../shared/uuid.ts';
import type { Events } from '../events/events.ts';
import type { WorkRole } from './connection-proof.ts';
import { ConnectionShares } from './connection-shares.ts';
import { probeDisk } from './disk-probe.ts';
import { DatabaseOutage, isConflict, isDatabaseUnavailable, isDiskFull, isWriteRefused, toOutage } from './errors.ts';
import { JoinedTransaction } from './joined-transaction.ts';
import { openPool } from './open-pool.ts';
import type { DatabaseOptions } from './open-pool.ts';
import { gatherWrites, keepOpen, workOn } from './transaction.ts';
import type { Pending, Transaction } from './transaction.ts';

export {
  DatabaseBusy,
  DatabaseOutage,
  isDatabaseUnavailable,
  TransactionConflict,
  violatedConstraint,
} from './errors.ts';
export type { Transaction };

export interface TransactionOptions {
  /** Whether it only reads; a write fails. */
  readOnly?: boolean;
  /**
   * False for writes that repair themselves after a crash, such as claims and counters: their commit does not wait for the
   * disk. Never false for what was promised to a caller.
   */
  durable?: boolean;
  /** What a lock is waited for at most, in milliseconds; as long as any transaction does when left out. */
  lockTimeoutMs?: number;
  /**
   * Receives the workspaces with due runs after the commit, instead of the workers. The caller wakes these later, by
   * `wakeWorkers`. Without effect within a joined transaction.
   */
  collectDue?: (tenantIds: ReadonlySet<string>) => void;
}

/** How long a transaction waits for a lock while it uses one of the last free connections, in milliseconds. */
const reserveLockTimeoutMs = 1_000;

const systemScope = 'SET LOCAL ROLE outrigger_system';

/** A connection that does not answer a ping within so long is given up, in milliseconds. */
const pingTimeoutMs = 5_000;

/** Tries of a transaction that others got in the way of. */
const maxTries = 5;

/**
 * Over 300 lines: transactions and their failures are one state machine.
 *
 * The way to the database. Every statement runs in a transaction that said whose rows it may see: one workspace's
 * (`workspace`) or, for work that belongs to none, all (`system`). A connection outside both sees no row at all.
 */
export class Database implements AsyncDisposable {
  readonly #pool: Pool;
  readonly #systemPool: Pool;
  readonly #shares: ConnectionShares;
  readonly #reserveLockTimeoutMs: number;
  readonly #onEffectError: (error: unknown) => void;
  #closing = false;
  #onPublished: Events['publish'] = () => undefined;
  #onChanged: (topic: string) => void = () => undefined;
  #onDue: (tenantIds: ReadonlySet<string>) => void = () => undefined;
  #isDiskFull = false;

  constructor(options: DatabaseOptions) {
    this.#onEffectError = options.onEffectError ?? ((error) => options.onError(error as Error));
    const open = (max: number, role: WorkRole, settings: string) =>
      openPool({ ...options, onError: (error) => this.#closing || options.onError(error) }, max, role, settings);
    const forStatements = Math.max(1, Math.floor(options.maxConnections / 3));
    // As cheap as memory and flash make it: at the server's default, meant for spinning disks, the planner walks a whole table by its
    // primary key for the newest rows of one workspace, in the hope that they are near.
    const planner = '-c random_page_cost=1.1';
    this.#pool = open(options.maxConnections - forStatements, 'outrigger_app', planner);
    this.#shares = new ConnectionShares({
      connections: options.maxConnections - forStatements,
      ...(options.connectionTimeoutMs === undefined ? {} : { patienceMs: options.connectionTimeoutMs }),
    });
    this.#reserveLockTimeoutMs = Math.min(reserveLockTimeoutMs, options.lockTimeoutMs ?? reserveLockTimeoutMs);
    this.#systemPool = open(forStatements, 'outrigger_system', `-c synchronous_commit=off ${planner}`);
  }

  /**
   * Runs `work` in a transaction that sees the rows of one workspace only. After a deadlock it is run again, so it changes nothing
   * outside its transaction but what it answers.
   * @throws DatabaseOutage when the database is out of reach or too busy; whatever `work` throws, after a rollback.
   */
  workspace<Result>(
    tenantId: string,
    work: (tx: Transaction) => Promise<Result>,
    options: TransactionOptions = {},
  ): Promise<Result> {
    // The id goes into the text of the statement, because a begin with its settings is one round trip only without parameters.
    if (!isUuid(tenantId)) throw new TypeError('a workspace id is a UUID');
    // The role, too, is set by each transaction: isolation rests on nothing that its connection brought along.
    const scope = `SET LOCAL ROLE outrigger_app; SET LOCAL outrigger.tenant_id = '${tenantId}'`;
    const joined = JoinedTransaction.of(this);
    return joined === undefined
      ? this.#transaction({ text: scope, tenantId }, work, options)
      : joined.part({ begin: scope, tenantId }, work);
  }

  /**
   * Runs `work`, which only reads, in a transaction that sees the rows of one workspace. What it answers is there one round trip sooner than
   * by `workspace`, since nothing has to be committed.
   * @throws as `workspace`; a write fails.
   */
  read<Result>(tenantId: string, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.workspace(tenantId, work, { readOnly: true });
  }

  /** Runs `work`, as `workspace` does, in a transaction that sees every workspace. Only for what belongs to no single one. */
  system<Result>(work: (tx: Transaction) => Promise<Result>, options: TransactionOptions = {}): Promise<Result> {
    const joined = JoinedTransaction.of(this);
    return joined === undefined
      ? this.#transaction({ text: systemScope, tenantId: null }, work, options)
      : joined.part({ begin: systemScope, tenantId: null }, work);
  }

  /** Whether what is written here joins a transaction of somebody else, so that nothing of it is committed before that. */
  get isJoined(): boolean {
    return JoinedTransaction.of(this) !== undefined;
  }

  /**
   * Runs `work` in one transaction that sees every workspace and that all `workspace` and `system` transactions within it join:
   * they are committed together with what `work` itself writes, or not at all. Their effects wait for that commit.
   * Such work must not wait for the network: it holds a connection and locks; after a deadlock it is run again as a whole.
   * @param tenantId the workspace for which it is done; null where that is not known.
   * @throws DatabaseOutage when the database is out of reach or too busy; whatever `work` throws, after a rollback.
   */
  joined<Result>(
    work: (tx: Transaction, joined: JoinedTransaction) => Promise<Result>,
    tenantId: string | null = null,
  ): Promise<Result> {
    return this.#transaction(
      { text: systemScope, tenantId },
      (tx) => {
        const joined = new JoinedTransaction(this, tx, systemScope);
        keepOpen(tx);
        return joined.run(() => work(tx, joined));
      },
      {},
    );
  }

  /**
   * Runs one statement that sees every workspace, in a transaction of its own whose commit does not wait for the disk: one round
   * trip, for what every request needs before its workspace is known.
   * @throws DatabaseOutage when the database is out of reach or too busy.
   */
  systemStatement<Row extends QueryResultRow>(
    name: string,
    text: string,
    values: unknown[],
    { timeoutMs }: { timeoutMs?: number } = {},
  ): Promise<Row[]> {
    const limit = timeoutMs === undefined ? {} : { query_timeout: timeoutMs };
    return this.#repeat(async () => (await this.#systemPool.query<Row>({ name, text, values, ...limit })).rows);
  }

  /** Opens a connection of each kind, which proves its role. @throws AppError that names the cause and the remedy when that fails. */
  async prove(): Promise<void> {
    for (const pool of [this.#pool, this.#systemPool]) (await pool.connect()).release();
  }

  /** Wakes the followers of a topic whose rows a `systemStatement` changed, as `Transaction.changed` does. */
  changed(topic: string): void {
    this.#onChanged(topic);
  }

  /** Sets who receives the topics whose rows committed transactions have changed. */
  onChanged(listener: (topic: string) => void): void {
    this.#onChanged = listener;
  }

  /** Sets who receives the events that committed transactions have published. */
  onPublished(listener: Events['publish']): void {
    this.#onPublished = listener;
  }

  /** Sets the listener that receives workspaces with due runs after each commit. */
  onDue(listener: (tenantIds: ReadonlySet<string>) => void): void {
    this.#onDue = listener;
  }

  /** Tells workers that workspaces have due runs. */
  wakeWorkers(tenantIds: ReadonlySet<string>): void {
    if (tenantIds.size > 0) this.#onDue(tenantIds);
  }

  /**
   * Whether the database answers, and takes writes, within the deadline of `signal`.
   * @throws whatever is in the way.
   */
  async ping(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    await Promise.race([
      this.#isDiskFull
        ? this.#probeDisk()
        : this.#pool.query({ text: 'select 1', query_timeout: pingTimeoutMs } as QueryConfig),
      aborted,
    ]);
  }

  /** Connections: all, idle, and callers that wait for one. */
  get load(): { total: number; idle: number; waiting: number } {
    const sum = (count: (pool: Pool) => number) => count(this.#pool) + count(this.#systemPool);
    return {
      total: sum((pool) => pool.totalCount),
      idle: sum((pool) => pool.idleCount),
      waiting: sum((pool) => pool.waitingCount) + this.#shares.waiting,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    await Promise.all([this.#pool.end(), this.#systemPool.end()]);
  }

  async #transaction<Result>(
    scope: { text: string; tenantId: string | null },
    work: (tx: Transaction) => Promise<Result>,
    { durable = true, readOnly = false, lockTimeoutMs, collectDue }: TransactionOptions,
  ): Promise<Result> {
    const settings = [scope.text];
    if (!durable && !readOnly) settings.push('SET LOCAL synchronous_commit = off');
    const beginOf = (isReserve: boolean) => {
      const most = isReserve ? Math.min(lockTimeoutMs ?? Infinity, this.#reserveLockTimeoutMs) : lockTimeoutMs;
      const limit = most === undefined ? [] : [`SET LOCAL lock_timeout = ${Math.round(most)}`];
      return `BEGIN${readOnly ? ' READ ONLY' : ''}; ${[...settings, ...limit].join('; ')}`;
    };
    const { answer, pending } = await this.#repeat(() => this.#once(beginOf, work, readOnly, scope.tenantId));
    // The connection of a transaction that wrote is free again, so an effect may begin another transaction.
    for (const topic of pending.topics) this.#runEffect(() => this.#onChanged(topic));
    for (const effect of pending.effects) this.#runEffect(() => effect(this.#onPublished));
    if (pending.due.size > 0) this.#runEffect(() => (collectDue ?? this.#onDue)(pending.due));
    return answer;
  }

  /** Tries again what others got in the way of, a few times, each a little later. */
  async #repeat<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        if (tries < maxTries && isConflict(error)) {
          await sleep(Math.random() * 10 * 2 ** tries);
          continue;
        }
        if (isDiskFull(error)) this.#isDiskFull = true;
        throw toOutage(error) ?? error;
      }
    }
  }

  async #once<Result>(
    beginOf: (isReserve: boolean) => string,
    work: (tx: Transaction) => Promise<Result>,
    readOnly: boolean,
    tenantId: string | null,
  ): Promise<{ answer: Result; pending: Pending }> {
    const turn = await this.#shares.begin(tenantId);
    const client = await this.#pool.connect().catch((error: unknown) => {
      turn.end();
      throw toOutage(error) ?? new DatabaseOutage('The database is out of reach; try again shortly.', error);
    });
    let broken: Error | undefined;
    // A connection that dies while checked out emits its error here; the statement under way rejects by itself.
    const onError = (error: Error) => {
      broken = error;
    };
    client.on('error', onError);
    const release = () => {
      client.off('error', onError);
      client.release(broken ?? false);
      turn.end();
    };
    let isReleasedLater = false;
    gatherWrites(client);
    // The first statement goes out right behind it. Should it fail, that one sees no workspace, and so no row; what comes of that is no answer.
    let beginFailure: Error | undefined;
    const began = client.query(beginOf(turn.isReserve)).then(
      () => undefined,
      (error: Error) => {
        beginFailure = error;
        broken = error;
      },
    );
    let committed: Promise<QueryResult> | undefined;
    const commit = () => {
      committed ??= client.query('COMMIT');
      committed.catch((error: Error) => (broken = error));
      return committed;
    };
    try {
      const done = await workOn(
        client,
        (tx) => turn.run(() => work(tx)),
        () => {
          commit().catch(() => undefined);
        },
      );
      await began;
      if (beginFailure !== undefined) throw beginFailure;
      if (readOnly) {
        // Nothing hangs on how it ends but the connection.
        isReleasedLater = true;
        commit()
          .catch(() => undefined)
          .finally(release);
        return done;
      }
      // What PostgreSQL answers when a statement had failed and the work went on regardless.
      if ((await commit()).command !== 'COMMIT')
        throw new Error('a transaction was not committed, because a statement of it had failed');
      return done;
    } catch (thrown) {
      await began;
      // That would else look like a server which takes no writes now.
      const isMistake = readOnly && isWriteRefused(thrown);
      const error = isMistake ? new TypeError('a transaction that only reads wrote') : (beginFailure ?? thrown);
      if (isDatabaseUnavailable(error)) {
        broken = error as Error;
      } else if (committed !== undefined) {
        // The server rolled it back if a statement failed. If `work` itself failed, the transaction took effect, and repeating it would write twice.
        const ended = await committed.catch(() => undefined);
        if (ended?.command === 'COMMIT')
          throw new DatabaseOutage('The transaction was committed, but its result was lost.', error);
      } else if (broken === undefined) {
        await client.query('ROLLBACK').catch((rollbackError: Error) => {
          broken = rollbackError;
        });
      }
      throw error;
    } finally {
      if (!isReleasedLater) release();
    }
  }

  /** The transaction took effect, so an effect that throws must not look like a failure of it. */
  #runEffect(effect: () => void): void {
    try {
      effect();
    } catch (error) {
      this.#onEffectError(error);
    }
  }

  async #probeDisk(): Promise<void> {
    await probeDisk((work, options) => this.system(work, options));
    this.#isDiskFull = false;
  }
}
