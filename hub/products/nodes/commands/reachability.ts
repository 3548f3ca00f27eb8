import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
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
/**
 * For this many seconds after a process recorded that its events do not reach the others, all processes check for
 * pending commands. The process records it again with each beat.
 */
const interruptedSeconds = 10;
const key = 'devices_served';

export interface ReachabilityDependencies {
  db: Database;
  events: Pick<Events, 'isInterrupted'>;
  logger: Logger;
  servesDevices: boolean;
}

/**
 * Records that devices can reach this hub. Every process that serves devices writes a beat to the database.
 * During a gap between two beats no device can report: no process runs, the database is down, or the machine sleeps.
 * The first process after a gap extends every open command by the time that devices need to reconnect and report.
 * The beats also exchange whether the events of any process are interrupted, so that a command is found whose event
 * was lost. A process that serves no devices records only that, while its own events are interrupted.
 */
export class Reachability implements AsyncDisposable {
  /** Whether the events of some process, perhaps this one, may not reach the others. */
  hasInterruption = false;
  readonly #deps: ReachabilityDependencies;
  readonly #timer: NodeJS.Timeout;
  #beatInProgress: Promise<void> | undefined;

  private constructor(dependencies: ReachabilityDependencies) {
    this.#deps = dependencies;
    this.#timer = setInterval(() => this.#beat(), beatIntervalMs);
  }

  /** Starts the beats of this process. They stop when the returned object is disposed. */
  static async announce(dependencies: ReachabilityDependencies): Promise<Reachability> {
    const reachability = new Reachability(dependencies);
    reachability.#beat();
    await reachability.#beatInProgress;
    return reachability;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#beatInProgress;
  }

  #beat(): void {
    const { db, events, logger, servesDevices } = this.#deps;
    const { isInterrupted } = events;
    if (!servesDevices && !isInterrupted) return;
    const part = 'device reachability beat';
    this.#beatInProgress ??= (servesDevices ? recordReachable(db, isInterrupted) : recordInterruption(db))
      .then(
        ({ extendedCommands: commands, hasInterruption }) => {
          this.hasInterruption = hasInterruption;
          logRecovery(logger, part);
          if (commands > 0)
            logger.info({ commands }, 'extended open commands because devices could not reach this hub');
        },
        (error: unknown) =>
          logger.warn({ err: error, part }, 'could not record that devices can reach this hub; retrying'),
      )
      .finally(() => {
        this.#beatInProgress = undefined;
      });
  }
}

interface Beat {
  /** Number of open commands that were extended after a gap. */
  extendedCommands: number;
  /** Whether some process recorded within `interruptedSeconds` that its events are interrupted. */
  hasInterruption: boolean;
}

const interruptedNow = `jsonb_build_object('interruptedAt', clock_timestamp())`;

/** Writes a beat, and extends the open commands after a gap. */
export async function recordReachable(db: Database, isInterrupted = false): Promise<Beat> {
  return db.system(
    async (tx) => {
      // The row lock lets only one process detect the gap.
      const { rows } = await tx.query<{ had_outage: boolean; has_interruption: boolean }>(
        'record_reachable',
        `WITH before AS (SELECT value, updated_at FROM hub_settings WHERE key = $1 FOR UPDATE),
           beat AS (INSERT INTO hub_settings (key, value, updated_at) VALUES ($1, CASE WHEN $3 THEN ${interruptedNow} ELSE 'true' END, clock_timestamp())
             ON CONFLICT (key) DO UPDATE SET updated_at = clock_timestamp(), value = CASE WHEN $3 THEN excluded.value ELSE hub_settings.value END)
         SELECT updated_at < clock_timestamp() - make_interval(secs => $2) AS had_outage,
           coalesce((value->>'interruptedAt')::timestamptz > clock_timestamp() - make_interval(secs => $4), false) AS has_interruption FROM before`,
        [key, outageSeconds, isInterrupted, interruptedSeconds],
      );
      const hasInterruption = isInterrupted || rows[0]?.has_interruption === true;
      if (rows[0]?.had_outage === false) return { extendedCommands: 0, hasInterruption };
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
      return { extendedCommands: rowCount ?? 0, hasInterruption };
    },
    { durable: false },
  );
}

/** Records that the events of this process are interrupted. It is no beat: the process may serve no devices. */
async function recordInterruption(db: Database): Promise<Beat> {
  await db.systemStatement(
    'record_interruption',
    `UPDATE hub_settings SET value = ${interruptedNow} WHERE key = $1 RETURNING key`,
    [key],
  );
  return { extendedCommands: 0, hasInterruption: true };
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
