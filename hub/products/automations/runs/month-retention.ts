import type { Database } from '../../../platform/db/database.ts';
import { instantOf, monthStart } from '../../../platform/db/monthly-partitions.ts';
import type { MonthlyPartitions, Part } from '../../../platform/db/monthly-partitions.ts';
import { idBefore } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/observability/logger.ts';

const dayMs = 86_400_000;
const scanIntervalMs = 600_000;
/** How long a month waits for runs that started in it and ended later, in milliseconds. */
const lateRunsWaitMs = 7 * dayMs;

const defaultScan = { runs: 50_000, ms: 10_000 };
/** How long the scan state of a month is valid, in milliseconds. An ended run may be reopened and end again. */
const scanValidMs = 21_600_000;

/**
 * Whether a run of the month must be kept. The query starts from the few open runs and the few workspaces with a
 * policy. Its form prevents the planner from reading the whole month, which would happen when nothing blocks the drop.
 */
const stays = `WITH open AS MATERIALIZED (SELECT id FROM runs WHERE finished_at IS NULL)
  SELECT EXISTS (SELECT 1 FROM open WHERE id >= $1 AND id < $2)
    OR EXISTS (SELECT 1 FROM automation_policies p CROSS JOIN LATERAL (
      SELECT r.tenant_id, r.id FROM runs r WHERE (r.tenant_id, r.id) >= (p.tenant_id, $1) ORDER BY r.tenant_id, r.id LIMIT 1) first
      WHERE p.retention IS NOT NULL AND first.tenant_id = p.tenant_id AND first.id < $2)
    OR EXISTS (SELECT 1 FROM open CROSS JOIN LATERAL (SELECT r.id FROM runs r WHERE r.parent_run_id = open.id OFFSET 0) child
      WHERE child.id >= $1 AND child.id < $2) AS stays`;

/** The next run of a month that ended too recently, and the last run of the scanned batch when the batch is full. */
const nextTooRecent = `WITH next AS MATERIALIZED (SELECT id, finished_at FROM runs WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $4)
  SELECT (SELECT id FROM next WHERE finished_at >= $3 ORDER BY id LIMIT 1) AS young,
    (SELECT id FROM next ORDER BY id OFFSET $4 - 1 LIMIT 1) AS last`;

export interface MonthRetentionOptions {
  db: Database;
  months: MonthlyPartitions;
  /**
   * Days that runs are kept in workspaces without their own retention policy. A month is dropped when its last run
   * exceeds them.
   */
  days: number;
  logger: Logger;
  /** Number of runs that one statement scans (at least two), and the time limit of one turn in milliseconds. */
  scan?: { runs: number; ms: number };
}

/**
 * Drops the step partitions of old months, so that removing their runs deletes no step rows. A month with a run that
 * must be kept is skipped, and its runs are removed one by one. A run must be kept when it is open or the workspace has
 * its own retention policy.
 */
export class MonthRetention {
  readonly #options: MonthRetentionOptions;
  #nextScanAt = Number.NEGATIVE_INFINITY;
  #settled = new Date(0);
  /** How far the runs of a partition have been scanned and ended long ago. */
  readonly #scanned = new Map<string, { through: string; since: number }>();

  constructor(options: MonthRetentionOptions) {
    this.#options = options;
  }

  /**
   * Drops old partitions. @returns the time before which runs must have ended to be removed now; after a failure, the
   * previous time.
   */
  async settle(stopping?: AbortSignal): Promise<Date> {
    if (performance.now() < this.#nextScanAt) return this.#settled;
    this.#nextScanAt = performance.now() + scanIntervalMs;
    try {
      await this.#scan(stopping);
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'old months could not be scanned');
    }
    return this.#settled;
  }

  async #scan(stopping: AbortSignal | undefined): Promise<void> {
    const { months, days } = this.#options;
    const retentionStart = new Date((await months.now()).getTime() - days * dayMs);
    const over = monthStart(retentionStart);
    let settled = over;
    const parts = await months.partsBefore('run_steps', idBefore(over));
    for (const name of this.#scanned.keys()) if (!parts.some((part) => part.name === name)) this.#scanned.delete(name);
    for (const part of parts) {
      if (stopping?.aborted === true) return;
      const state = await this.#classify(part, retentionStart, stopping);
      if (state === 'stays') continue;
      if (state === 'over' && (await months.drop('run_steps', part.name, stopping))) continue;
      if (state === 'unknown') this.#nextScanAt = Number.NEGATIVE_INFINITY;
      // The runs of this month wait for the drop, because removing them would delete their steps one by one.
      settled = part.from === null ? new Date(0) : instantOf(part.from);
      break;
    }
    this.#settled = settled;
  }

  async #classify(
    part: Part,
    retentionStart: Date,
    stopping: AbortSignal | undefined,
  ): Promise<'over' | 'stays' | 'waits' | 'unknown'> {
    const { db } = this.#options;
    const from = part.from ?? idBefore(new Date(0));
    const [row] = await db.systemStatement<{ stays: boolean }>('month_stays', stays, [from, part.until]);
    if (row?.stays !== false) {
      this.#scanned.delete(part.name);
      return 'stays';
    }
    const hasRecentRun = await this.#hasRecentRun(part, from, retentionStart, stopping);
    if (hasRecentRun === null) return 'unknown';
    if (!hasRecentRun) return 'over';
    return retentionStart.getTime() < instantOf(part.until).getTime() + lateRunsWaitMs ? 'waits' : 'stays';
  }

  /**
   * Whether a run of the month ended too recently; null when the time limit stopped the scan, which the next turn
   * continues.
   */
  async #hasRecentRun(
    { name, until }: Part,
    from: string,
    retentionStart: Date,
    stopping: AbortSignal | undefined,
  ): Promise<boolean | null> {
    const { db, scan: { runs, ms } = defaultScan } = this.#options;
    const now = performance.now();
    const before = this.#scanned.get(name);
    const seen = before !== undefined && now < before.since + scanValidMs ? before : { through: from, since: now };
    this.#scanned.set(name, seen);
    for (const deadline = now + ms; ;) {
      const [row] = await db.systemStatement<{ young: string | null; last: string | null }>(
        'month_next_young',
        nextTooRecent,
        [seen.through, until, retentionStart, runs],
      );
      const { young, last } = row as { young: string | null; last: string | null };
      if (young === null && last === null) return false;
      seen.through = young ?? (last as string);
      if (young !== null) return true;
      if (performance.now() > deadline || stopping?.aborted === true) return null;
    }
  }
}
