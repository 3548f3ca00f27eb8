import type { Database, Transaction } from '../../../platform/db/database.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { reconnectSeconds, leaseSeconds } from './lease.ts';

/** Interval at which each process that serves devices records a beat, in milliseconds. */
const beatIntervalMs = 1_000;
/**
 * A gap of more than this many seconds between two beats counts as an outage.
 * It is short compared with the 30 s that a command waits for its device, because a device backs off after an outage.
 */
const outageSeconds = 4;
const key = 'devices_served';

/**
 * Records that devices can reach this hub. Every process that serves devices writes a beat to the database.
 * During a gap between two beats no device can report: no process runs, the database is down, or the machine sleeps.
 * The first process after a gap extends every open command by the time that devices need to reconnect and report.
 */
export class Reachability implements AsyncDisposable {
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  #beatInProgress: Promise<void> | undefined;

  private constructor(db: Database, logger: Logger) {
    this.#db = db;
    this.#logger = logger;
    this.#timer = setInterval(() => this.#beat(), beatIntervalMs);
  }

  /** Starts the beats of this process. They stop when the returned object is disposed. */
  static async announce(db: Database, logger: Logger): Promise<Reachability> {
    const reachability = new Reachability(db, logger);
    reachability.#beat();
    await reachability.#beatInProgress;
    return reachability;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#beatInProgress;
  }

  #beat(): void {
    const part = 'device reachability beat';
    this.#beatInProgress ??= recordReachable(this.#db)
      .then(
        (commands) => {
          logRecovery(this.#logger, part);
          if (commands > 0)
            this.#logger.info({ commands }, 'extended open commands because devices could not reach this hub');
        },
        (error: unknown) =>
          this.#logger.warn({ err: error, part }, 'could not record that devices can reach this hub; retrying'),
      )
      .finally(() => {
        this.#beatInProgress = undefined;
      });
  }
}

/** Writes a beat. After a gap, extends the open commands and returns their number. */
export async function recordReachable(db: Database): Promise<number> {
  return db.system(
    async (tx) => {
      // The row lock lets only one process detect the gap.
      const { rows } = await tx.query<{ had_outage: boolean }>(
        'record_reachable',
        `WITH before AS (SELECT updated_at FROM hub_settings WHERE key = $1 FOR UPDATE),
           beat AS (INSERT INTO hub_settings (key, value, updated_at) VALUES ($1, 'true', clock_timestamp()) ON CONFLICT (key) DO UPDATE SET updated_at = clock_timestamp())
         SELECT updated_at < clock_timestamp() - make_interval(secs => $2) AS had_outage FROM before`,
        [key, outageSeconds],
      );
      if (rows[0]?.had_outage === false) return 0;
      // A pending command still ends at its deadline. A leased command may exceed it, because its device may have a
      // result.
      const { rowCount } = await tx.query(
        'extend_open_commands',
        `UPDATE node_commands c SET
           lease_expires_at = CASE WHEN c.status = 'leased' THEN greatest(c.lease_expires_at, now() + make_interval(secs => $1)) END,
           expires_at = CASE WHEN c.status = 'leased' THEN greatest(c.expires_at, now() + make_interval(secs => $1))
             ELSE least(greatest(c.expires_at, now() + make_interval(secs => $1)), coalesce(c.deadline_at, 'infinity')) END
         FROM (SELECT id FROM node_commands WHERE status IN ('pending', 'leased') ORDER BY id FOR UPDATE) open WHERE c.id = open.id`,
        [leaseSeconds + reconnectSeconds],
      );
      return rowCount ?? 0;
    },
    { durable: false },
  );
}

/** Whether devices can reach this hub now. While they cannot, no command may expire. */
export async function isReachable(tx: Transaction): Promise<boolean> {
  const { rows } = await tx.query<{ reachable: boolean }>(
    'is_reachable',
    'SELECT updated_at > clock_timestamp() - make_interval(secs => $2) AS reachable FROM hub_settings WHERE key = $1',
    [key, outageSeconds],
  );
  return rows[0]?.reachable === true;
}
