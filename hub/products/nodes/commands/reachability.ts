import type { Database, Transaction } from '../../../platform/db/database.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { devicesReturnSeconds, leaseSeconds } from './lease.ts';

/** Whoever serves devices says so this often, in milliseconds. */
const beatMs = 1_000;
/**
 * After so long without a word nobody served devices, in seconds. Short beside the 30 s that a command waits for its device: a device pauses
 * after an outage for about as long again, and what was left of the wait would not do.
 */
const silentSeconds = 4;
const key = 'devices_served';

/**
 * Whether devices can reach this hub, and since when. Every process that serves them writes that it does; a gap between two such
 * words is time in which no device could report, whatever the reason: no process, no database, a machine that slept. What ran out in
 * it did so through no fault of the device, so the process that speaks first afterwards gives every open command the time that
 * devices need to come back and to be heard.
 */
export class Reachability implements AsyncDisposable {
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  #underWay: Promise<void> | undefined;

  private constructor(db: Database, logger: Logger) {
    this.#db = db;
    this.#logger = logger;
    this.#timer = setInterval(() => this.#beat(), beatMs);
  }

  /** Begins to say that this process serves devices, until it is disposed. */
  static async announce(db: Database, logger: Logger): Promise<Reachability> {
    const reachability = new Reachability(db, logger);
    reachability.#beat();
    await reachability.#underWay;
    return reachability;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#underWay;
  }

  #beat(): void {
    const part = 'word that devices are served';
    this.#underWay ??= sayReachable(this.#db)
      .then(
        (commands) => {
          logRecovery(this.#logger, part);
          if (commands > 0)
            this.#logger.info(
              { commands },
              'gave commands more time, because no device could reach this hub for a while',
            );
        },
        (error: unknown) =>
          this.#logger.warn({ err: error, part }, 'could not write that devices are served; it comes again'),
      )
      .finally(() => {
        this.#underWay = undefined;
      });
  }
}

/** Writes that devices are served; after a gap, gives open commands more time. Answers how many. */
export async function sayReachable(db: Database): Promise<number> {
  return db.system(
    async (tx) => {
      // The lock lets only one of several processes see the gap.
      const { rows } = await tx.query<{ was_silent: boolean }>(
        'say_reachable',
        `WITH before AS (SELECT updated_at FROM hub_settings WHERE key = $1 FOR UPDATE),
           said AS (INSERT INTO hub_settings (key, value, updated_at) VALUES ($1, 'true', clock_timestamp()) ON CONFLICT (key) DO UPDATE SET updated_at = clock_timestamp())
         SELECT updated_at < clock_timestamp() - make_interval(secs => $2) AS was_silent FROM before`,
        [key, silentSeconds],
      );
      if (rows[0]?.was_silent === false) return 0;
      // Of a command that waits to be taken, the end of its step's own time stays the end; one on a device may have an end to report.
      const { rowCount } = await tx.query(
        'extend_open_commands',
        `UPDATE node_commands c SET
           lease_expires_at = CASE WHEN c.status = 'leased' THEN greatest(c.lease_expires_at, now() + make_interval(secs => $1)) END,
           expires_at = CASE WHEN c.status = 'leased' THEN greatest(c.expires_at, now() + make_interval(secs => $1))
             ELSE least(greatest(c.expires_at, now() + make_interval(secs => $1)), coalesce(c.deadline_at, 'infinity')) END
         FROM (SELECT id FROM node_commands WHERE status IN ('pending', 'leased') ORDER BY id FOR UPDATE) open WHERE c.id = open.id`,
        [leaseSeconds + devicesReturnSeconds],
      );
      return rowCount ?? 0;
    },
    { durable: false },
  );
}

/** Whether a process that serves devices said so lately. While none did, no command may end for want of a word from its device. */
export async function isReachable(tx: Transaction): Promise<boolean> {
  const { rows } = await tx.query<{ reachable: boolean }>(
    'is_reachable',
    'SELECT updated_at > clock_timestamp() - make_interval(secs => $2) AS reachable FROM hub_settings WHERE key = $1',
    [key, silentSeconds],
  );
  return rows[0]?.reachable === true;
}
