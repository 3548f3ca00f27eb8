import type { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/logger.ts';

/** What a workspace may call numbers, over all processes of a hub. */
export interface DialCaps {
  callsAtOnce: number;
  minutesADay: number;
}

/** A call to a number that counts, until it ended. */
export interface Dial {
  answered(): void;
  ended(): void;
}

export interface DialsOptions {
  db: Database;
  logger: Logger;
  caps: DialCaps;
  /** How often this process says that its calls last, in milliseconds. */
  renewMs?: number;
}

const defaultRenewMs = 15_000;
/** A call whose process says nothing for so long is over. */
const leaseSeconds = 60;

const today = `(now() AT TIME ZONE 'UTC')::date`;

/** What went calls take from the day in which they end. */
const charge = `UPDATE sip_dial_sums s SET day = ${today},
  seconds = CASE WHEN s.day = ${today} THEN s.seconds ELSE 0 END + g.seconds
  FROM (SELECT tenant_id, ceil(sum(greatest(0, extract(epoch FROM least(now(), expires_at) - answered_at))))::int AS seconds FROM gone
        WHERE answered_at IS NOT NULL GROUP BY tenant_id) g WHERE s.tenant_id = g.tenant_id`;

/** Counts the calls of softphones to numbers: so many at once, and so many minutes a day, in UTC. */
export class Dials implements Disposable {
  readonly #options: DialsOptions;
  readonly #held = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  /** What is written of a call is written in the order in which it happened. */
  #written = Promise.resolve();

  constructor(options: DialsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.renew(), options.renewMs ?? defaultRenewMs);
    this.#timer.unref();
  }

  /** Begins a call, unless its workspace has had its share. Answers why not. */
  async begin(tenantId: string): Promise<Dial | 'calls_at_once' | 'minutes_a_day'> {
    const { db, caps } = this.#options;
    const id = newId();
    const refusal = await db.workspace(tenantId, async (tx) => {
      const { rows: sums } = await tx.query<{ seconds: number }>(
        'lock_sip_dial_sum',
        `INSERT INTO sip_dial_sums AS s (tenant_id, day, seconds) VALUES ($1, ${today}, 0) ON CONFLICT (tenant_id) DO UPDATE SET day = excluded.day,
           seconds = CASE WHEN s.day = excluded.day THEN s.seconds ELSE 0 END RETURNING seconds`,
        [tenantId],
      );
      const { rows } = await tx.query<{ running: number; seconds: number }>(
        'count_sip_dials',
        `SELECT count(*)::int AS running, coalesce(sum(extract(epoch FROM now() - answered_at)), 0)::float8 AS seconds
         FROM sip_dials WHERE tenant_id = $1 AND expires_at > now()`,
        [tenantId],
      );
      const { running, seconds } = rows[0] ?? { running: 0, seconds: 0 };
      if (running >= caps.callsAtOnce) return 'calls_at_once';
      if ((sums[0]?.seconds ?? 0) + seconds >= caps.minutesADay * 60) return 'minutes_a_day';
      await tx.query(
        'insert_sip_dial',
        `INSERT INTO sip_dials (id, tenant_id, expires_at) VALUES ($1, $2, now() + make_interval(secs => $3))`,
        [id, tenantId, leaseSeconds],
      );
      return null;
    });
    if (refusal !== null) return refusal;
    this.#held.add(id);
    return {
      answered: () => this.#write(() => this.#answer(id)),
      ended: () => this.#write(() => this.#end(id)),
    };
  }

  /** Says of all calls of this process that they last. */
  async renew(): Promise<void> {
    const ids = [...this.#held];
    if (ids.length === 0) return;
    await this.#attempt(() =>
      this.#options.db.systemStatement(
        'renew_sip_dials',
        'UPDATE sip_dials SET expires_at = now() + make_interval(secs => $2) WHERE id = ANY($1::uuid[])',
        [ids, leaseSeconds],
      ),
    );
  }

  /** Counts and forgets calls whose process is gone. */
  async sweep(): Promise<void> {
    await this.#options.db.systemStatement(
      'sweep_sip_dials',
      `WITH gone AS (DELETE FROM sip_dials WHERE id IN (SELECT id FROM sip_dials WHERE expires_at < now() ORDER BY expires_at LIMIT 1000)
         RETURNING tenant_id, answered_at, expires_at) ${charge}`,
      [],
    );
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #answer(id: string): Promise<unknown> {
    return this.#options.db.systemStatement(
      'answer_sip_dial',
      'UPDATE sip_dials SET answered_at = now() WHERE id = $1 AND answered_at IS NULL',
      [id],
    );
  }

  #end(id: string): Promise<unknown> {
    this.#held.delete(id);
    return this.#options.db.systemStatement(
      'end_sip_dial',
      `WITH gone AS (DELETE FROM sip_dials WHERE id = $1 RETURNING tenant_id, answered_at, expires_at) ${charge}`,
      [id],
    );
  }

  #write(write: () => Promise<unknown>): void {
    this.#written = this.#written.then(() => this.#attempt(write));
  }

  async #attempt(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'how long softphones call could not be counted; the lease runs out');
    }
  }
}
