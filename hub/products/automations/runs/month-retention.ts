import type { Database } from '../../../platform/db/database.ts';
import { instantOf, monthStart } from '../../../platform/db/months.ts';
import type { Months, Part } from '../../../platform/db/months.ts';
import { idBefore } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/observability/logger.ts';

const dayMs = 86_400_000;
const lookEveryMs = 600_000;
/** How long a month waits for runs that began in it and ended later. */
const patienceMs = 7 * dayMs;

const defaultLook = { runs: 50_000, ms: 10_000 };
/** How long what was seen of a month is believed: an ended run may be taken up again, and ends anew. */
const believedMs = 21_600_000;

/**
 * Whether a run of a month is to stay. It begins at what there are few of, the open runs and the workspaces with a policy, in a way that leaves no
 * plan the choice to read the month: where nothing stands against a drop, it would be read as a whole.
 */
const stays = `WITH open AS MATERIALIZED (SELECT id FROM runs WHERE finished_at IS NULL)
  SELECT EXISTS (SELECT 1 FROM open WHERE id >= $1 AND id < $2)
    OR EXISTS (SELECT 1 FROM automation_policies p CROSS JOIN LATERAL (
      SELECT r.tenant_id, r.id FROM runs r WHERE (r.tenant_id, r.id) >= (p.tenant_id, $1) ORDER BY r.tenant_id, r.id LIMIT 1) first
      WHERE p.retention IS NOT NULL AND first.tenant_id = p.tenant_id AND first.id < $2)
    OR EXISTS (SELECT 1 FROM open CROSS JOIN LATERAL (SELECT r.id FROM runs r WHERE r.parent_run_id = open.id OFFSET 0) child
      WHERE child.id >= $1 AND child.id < $2) AS stays`;

/** The first of the next runs of a month that ended too late for it to go now, and, where there may be more of them, the last that was looked at. */
const nextYoung = `WITH next AS MATERIALIZED (SELECT id, finished_at FROM runs WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $4)
  SELECT (SELECT id FROM next WHERE finished_at >= $3 ORDER BY id LIMIT 1) AS young,
    (SELECT id FROM next ORDER BY id OFFSET $4 - 1 LIMIT 1) AS last`;

export interface MonthRetentionOptions {
  db: Database;
  months: Months;
  /** Days that runs are kept of workspaces whose own policy says nothing of it; their month goes with the last of them. */
  days: number;
  logger: Logger;
  /** How many runs of a month one statement looks at, two at least, and for how long one turn does. */
  look?: { runs: number; ms: number };
}

/**
 * Drops the steps of months that are over, so that their runs go without one row of them being looked for. A month in which one run stays, because it is
 * open, or its workspace keeps its runs by a policy of its own, is left to be removed run by run.
 */
export class MonthRetention {
  readonly #options: MonthRetentionOptions;
  #lookAt = Number.NEGATIVE_INFINITY;
  #settled = new Date(0);
  /** How far the runs of a part have all ended long ago. */
  readonly #seen = new Map<string, { through: string; since: number }>();

  constructor(options: MonthRetentionOptions) {
    this.#options = options;
  }

  /** Drops what it can, and answers the instant before which runs must have ended that may go now; where it fails, the one before. */
  async settle(stopping?: AbortSignal): Promise<Date> {
    if (performance.now() < this.#lookAt) return this.#settled;
    this.#lookAt = performance.now() + lookEveryMs;
    try {
      await this.#look(stopping);
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'the months that are over could not be looked at');
    }
    return this.#settled;
  }

  async #look(stopping: AbortSignal | undefined): Promise<void> {
    const { months, days } = this.#options;
    const keptFrom = new Date((await months.now()).getTime() - days * dayMs);
    const over = monthStart(keptFrom);
    let settled = over;
    const parts = await months.partsBefore('run_steps', idBefore(over));
    for (const name of this.#seen.keys()) if (!parts.some((part) => part.name === name)) this.#seen.delete(name);
    for (const part of parts) {
      if (stopping?.aborted === true) return;
      const state = await this.#judge(part, keptFrom, stopping);
      if (state === 'stays') continue;
      if (state === 'over' && (await months.drop('run_steps', part.name, stopping))) continue;
      if (state === 'unknown') this.#lookAt = Number.NEGATIVE_INFINITY;
      // Its runs wait for that: they would take the steps along one by one.
      settled = part.from === null ? new Date(0) : instantOf(part.from);
      break;
    }
    this.#settled = settled;
  }

  async #judge(
    part: Part,
    keptFrom: Date,
    stopping: AbortSignal | undefined,
  ): Promise<'over' | 'stays' | 'waits' | 'unknown'> {
    const { db } = this.#options;
    const from = part.from ?? idBefore(new Date(0));
    const [row] = await db.systemStatement<{ stays: boolean }>('month_stays', stays, [from, part.until]);
    if (row?.stays !== false) {
      this.#seen.delete(part.name);
      return 'stays';
    }
    const isYoung = await this.#isYoung(part, from, keptFrom, stopping);
    if (isYoung === null) return 'unknown';
    if (!isYoung) return 'over';
    return keptFrom.getTime() < instantOf(part.until).getTime() + patienceMs ? 'waits' : 'stays';
  }

  /** Whether a run of a month ended too late for it to go; null when there was no time yet to look at all of them: the next turn goes on there. */
  async #isYoung(
    { name, until }: Part,
    from: string,
    keptFrom: Date,
    stopping: AbortSignal | undefined,
  ): Promise<boolean | null> {
    const { db, look: { runs, ms } = defaultLook } = this.#options;
    const now = performance.now();
    const before = this.#seen.get(name);
    const seen = before !== undefined && now < before.since + believedMs ? before : { through: from, since: now };
    this.#seen.set(name, seen);
    for (const deadline = now + ms; ;) {
      const [row] = await db.systemStatement<{ young: string | null; last: string | null }>(
        'month_next_young',
        nextYoung,
        [seen.through, until, keptFrom, runs],
      );
      const { young, last } = row as { young: string | null; last: string | null };
      if (young === null && last === null) return false;
      seen.through = young ?? (last as string);
      if (young !== null) return true;
      if (performance.now() > deadline || stopping?.aborted === true) return null;
    }
  }
}
