import type { Database } from '../../../platform/db/database.ts';
import { instantOf, monthStart } from '../../../platform/db/months.ts';
import type { Months, Part } from '../../../platform/db/months.ts';
import { idBefore } from '../../../platform/ids.ts';

const dayMs = 86_400_000;
const lookEveryMs = 600_000;
/** How long a month waits for runs that began in it and ended later. */
const patienceMs = 7 * dayMs;

/** What keeps the steps of a month from going as a whole: a run that is to stay, or one that merely ended late. */
const blockers = `SELECT
  EXISTS (SELECT 1 FROM runs r WHERE r.id >= $1 AND r.id < $2 AND (r.finished_at IS NULL
    OR EXISTS (SELECT 1 FROM automation_policies p WHERE p.tenant_id = r.tenant_id AND p.retention IS NOT NULL)
    OR EXISTS (SELECT 1 FROM runs p WHERE p.id = r.parent_run_id AND p.finished_at IS NULL))) AS stays,
  EXISTS (SELECT 1 FROM runs r WHERE r.id >= $1 AND r.id < $2 AND r.finished_at >= $3) AS is_young`;

export interface MonthRetentionOptions {
  db: Database;
  months: Months;
  /** Days that runs are kept of workspaces whose own policy says nothing of it; their month goes with the last of them. */
  days: number;
}

/**
 * Drops the steps of months that are over, so that their runs go without one row of them being looked for. A month in which one run stays, because it is
 * open, or its workspace keeps its runs by a policy of its own, is left to be removed run by run.
 */
export class MonthRetention {
  readonly #options: MonthRetentionOptions;
  #lookAt = Number.NEGATIVE_INFINITY;
  #settled = new Date(0);

  constructor(options: MonthRetentionOptions) {
    this.#options = options;
  }

  /** Drops what it can, and answers the instant before which runs must have ended that may go now. */
  async settle(stopping?: AbortSignal): Promise<Date> {
    if (performance.now() < this.#lookAt) return this.#settled;
    const { months, days } = this.#options;
    const keptFrom = new Date(Date.now() - days * dayMs);
    const over = monthStart(keptFrom);
    let settled = over;
    for (const part of await months.partsBefore('run_steps', idBefore(over))) {
      if (stopping?.aborted === true) return this.#settled;
      const state = await this.#judge(part, keptFrom);
      if (state === 'stays') continue;
      if (state === 'over' && (await months.drop('run_steps', part.name, stopping))) continue;
      // Its runs wait for that: they would take the steps along one by one.
      settled = part.from === null ? new Date(0) : instantOf(part.from);
      break;
    }
    this.#settled = settled;
    this.#lookAt = performance.now() + lookEveryMs;
    return settled;
  }

  async #judge({ from, until }: Part, keptFrom: Date): Promise<'over' | 'stays' | 'waits'> {
    const [row] = await this.#options.db.systemStatement<{ stays: boolean; is_young: boolean }>(
      'month_blockers',
      blockers,
      [from ?? idBefore(new Date(0)), until, keptFrom],
    );
    if (row?.stays !== false) return 'stays';
    if (!row.is_young) return 'over';
    return keptFrom.getTime() < instantOf(until).getTime() + patienceMs ? 'waits' : 'stays';
  }
}
