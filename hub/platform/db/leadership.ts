import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { logRecovery } from '../observability/log-throttle.ts';
import type { Logger } from '../observability/logger.ts';
import { isDatabaseUnavailable } from './database.ts';

export interface LeadershipOptions {
  /** postgres:// URL; each process keeps one connection more, for this alone. */
  url: string;
  /** What is led; one process at a time of those that name the same. */
  name: string;
  logger: Logger;
  /** How often a leader says that it lives, and the others ask whether its place is free, in milliseconds. */
  beatMs?: number;
  /** A leader that is silent for so long has lost its place, in milliseconds: the server ends its session. */
  silenceMs?: number;
}

/**
 * Lets one process at a time lead, by a lock of a session. A process that dies gives it up with its connection, so that another
 * leads within a beat; one that hangs or is cut off is ended by the server when it was silent for too long. For a moment two
 * processes may believe that they lead: what they do must bear that.
 */
export class Leadership implements AsyncDisposable {
  readonly #options: Required<LeadershipOptions>;
  readonly #listeners = new Set<() => void>();
  readonly #stop = new AbortController();
  readonly #living: Promise<void>;
  #client: Client | undefined;
  /** Until when the lock is surely this process's, by the clock of `performance`. */
  #leadsUntil = Number.NEGATIVE_INFINITY;
  #leads = false;

  constructor(options: LeadershipOptions) {
    this.#options = { beatMs: 1_000, silenceMs: 6_000, ...options };
    this.#living = this.#live();
  }

  get isHeld(): boolean {
    return this.#leads && performance.now() < this.#leadsUntil;
  }

  /** Hears each time when this process begins to lead. */
  onGained(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Gives the place up, so that another process has it at its next beat. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#living;
    this.#lose();
  }

  async #live(): Promise<void> {
    const { beatMs, logger, name } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#beat();
        logRecovery(logger, `turn at ${name}`);
      } catch (error) {
        logger.warn(
          { err: error, part: isDatabaseUnavailable(error) ? 'database' : `turn at ${name}` },
          'whose turn it is can not be asked; it is asked again',
        );
        this.#lose();
      }
      await sleep(beatMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  async #beat(): Promise<void> {
    const { name, silenceMs, logger } = this.#options;
    const client = (this.#client ??= await this.#connect());
    // The server counts the silence from the end of the statement, which is later: whoever errs here gives up too early.
    const askedAt = performance.now();
    const { rows } = this.#leads
      ? await client.query<{ taken: boolean }>('SELECT true AS taken')
      : await client.query<{ taken: boolean }>(
          `SELECT pg_try_advisory_lock(hashtextextended('outrigger ' || $1, 0)) AS taken`,
          [name],
        );
    if (rows[0]?.taken !== true || this.#client !== client) return;
    this.#leadsUntil = askedAt + silenceMs * 0.8;
    if (this.#leads) return;
    this.#leads = true;
    logger.debug({ name }, 'this process leads');
    for (const listener of this.#listeners) listener();
  }

  async #connect(): Promise<Client> {
    const { url, silenceMs } = this.#options;
    const client = new Client({
      connectionString: url,
      application_name: 'outrigger-leader',
      connectionTimeoutMillis: 10_000,
      query_timeout: silenceMs,
      keepAlive: true,
      // The server itself ends a session of which it hears nothing, or whose machine is gone.
      options: `-c idle_session_timeout=${silenceMs} -c statement_timeout=${silenceMs} -c tcp_keepalives_idle=3 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=3`,
    });
    const gone = () => {
      if (this.#client === client) this.#lose();
    };
    client.on('error', gone);
    client.on('end', gone);
    await client.connect();
    return client;
  }

  #lose(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#leads = false;
    this.#leadsUntil = Number.NEGATIVE_INFINITY;
    // An answer to the farewell may never come.
    client?.end().catch(() => undefined);
  }
}
