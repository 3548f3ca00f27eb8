import type { Retention } from '../../../../shared/contract/automations/policies.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { MonthlyPartitions } from '../../../platform/db/monthly-partitions.ts';
import { newTurn, runInTurns } from '../../../platform/db/row-retention.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { MonthRetention } from './month-retention.ts';

export interface RunRetentionOptions {
  db: Database;
  months: MonthlyPartitions;
  blobs: Blobs;
  logger: Logger;
  /**
   * Minimum days that runs and their data are kept in workspaces without their own policy; 0 keeps them for ever. Runs
   * are removed by whole months.
   */
  days: number;
  /** Runs that one statement counts. */
  countBatch?: number;
}

/** Runs per transaction. A small batch keeps its locks short. */
const runBatch = 200;
const dayMs = 86_400_000;
/**
 * How often a workspace is counted from scratch, in milliseconds. Between these counts, ended and removed runs update
 * the count.
 */
const recountMs = dayMs;

/**
 * Ended runs that no open run waits for, oldest first. They are locked, because a late result of a node may reopen one.
 */
const oldest = (condition: string) => `SELECT id FROM runs r WHERE tenant_id = $1 AND ${condition}
  AND NOT EXISTS (SELECT 1 FROM runs p WHERE p.id = r.parent_run_id AND p.finished_at IS NULL) ORDER BY finished_at LIMIT $2 FOR UPDATE OF r SKIP LOCKED`;

/** Runs that one statement counts. */
const countBatch = 500_000;

/** The number of ended runs of a workspace. */
interface EndedCount {
  count: number;
  /** End time of the last counted run as PostgreSQL text. A JavaScript date would lose the microseconds. */
  through: string;
  /** False while later runs are still to be counted. */
  isComplete: boolean;
  /** When the count began, in `performance.now()` time. */
  countedAt: number;
}

/**
 * Removes ended runs beyond their retention, with their steps, logs and artifacts, in small batches; part of the sweep.
 * The policy of a workspace applies to the day. Without a policy, the days of the installation apply by whole months.
 */
export class RunRetention {
  readonly #options: RunRetentionOptions;
  readonly #months: MonthRetention;
  readonly #counts = new Map<string, EndedCount>();

  constructor(options: RunRetentionOptions) {
    this.#options = options;
    this.#months = new MonthRetention(options);
  }

  /** Removes runs that exceed the retention now. @returns the number of removed runs. */
  async prune(stopping?: AbortSignal): Promise<number> {
    const { db, logger, days } = this.#options;
    const policies = await db.systemStatement<{ tenant_id: string; retention: Retention }>(
      'retention_policies',
      'SELECT tenant_id, retention FROM automation_policies WHERE retention IS NOT NULL',
      [],
    );
    const settled = days === 0 ? new Date(0) : await this.#months.settle(stopping);
    const others =
      days === 0
        ? []
        : await db.systemStatement<{ tenant_id: string }>(
            'retention_defaults',
            `SELECT t.id AS tenant_id FROM tenants t
               CROSS JOIN LATERAL (SELECT 1 FROM runs r WHERE r.tenant_id = t.id AND r.finished_at < $1 ORDER BY r.finished_at LIMIT 1) old
             WHERE NOT EXISTS (SELECT 1 FROM automation_policies p WHERE p.tenant_id = t.id AND p.retention IS NOT NULL)`,
            [settled],
          );
    const counted = new Set(
      policies.filter(({ retention }) => retention.maxRuns !== undefined).map((row) => row.tenant_id),
    );
    for (const tenantId of this.#counts.keys()) if (!counted.has(tenantId)) this.#counts.delete(tenantId);
    let removed = 0;
    const removal = (tenantId: string, removeRuns: () => Promise<{ removed: number; hasMore: boolean }>) => ({
      name: tenantId,
      runBatch: async () => {
        const batch = await removeRuns();
        removed += batch.removed;
        return batch.hasMore;
      },
    });
    const removals = others.map(({ tenant_id: tenantId }) =>
      removal(tenantId, () =>
        this.#removeBatch(tenantId, { name: 'due_by_month', condition: 'finished_at < $3', values: [settled] }),
      ),
    );
    for (const { tenant_id: tenantId, retention } of policies) {
      const { maxAgeDays, maxRuns } = retention;
      if (maxAgeDays !== undefined) removals.push(removal(tenantId, () => this.#byAge(tenantId, maxAgeDays)));
      if (maxRuns !== undefined) removals.push(removal(tenantId, () => this.#byCount(tenantId, maxRuns)));
    }
    try {
      await runInTurns(newTurn(stopping), removals);
    } finally {
      if (removed > 0) logger.info({ runs: removed }, 'removed runs beyond their retention');
    }
    return removed;
  }

  async #removeBatch(tenantId: string, due: DueRuns, limit = runBatch): Promise<{ removed: number; hasMore: boolean }> {
    const removed = await removeEndedRuns(this.#options, tenantId, due, limit);
    return { removed, hasMore: removed === runBatch };
  }

  async #byAge(tenantId: string, days: number): Promise<{ removed: number; hasMore: boolean }> {
    const batch = await this.#removeBatch(tenantId, {
      name: 'due_by_age',
      condition: 'finished_at < now() - make_interval(days => $3)',
      values: [days],
    });
    const counted = this.#counts.get(tenantId);
    if (counted !== undefined) counted.count -= batch.removed;
    return batch;
  }

  async #byCount(tenantId: string, maxRuns: number): Promise<{ removed: number; hasMore: boolean }> {
    const counted = await this.#count(tenantId);
    const excess = Math.min(counted.count - maxRuns, runBatch);
    if (excess <= 0) return { removed: 0, hasMore: !counted.isComplete };
    const batch = await this.#removeBatch(
      tenantId,
      { name: 'due_by_count', condition: 'finished_at IS NOT NULL', values: [] },
      excess,
    );
    counted.count -= batch.removed;
    return { removed: batch.removed, hasMore: batch.hasMore || (batch.removed > 0 && !counted.isComplete) };
  }

  /**
   * Counts the ended runs of a workspace: all of them once a day, otherwise only those that ended since the last count.
   * One call counts a limited part, so that no statement reads the whole history of a large workspace. Runs that end or
   * are reopened during a count may be counted wrongly until the next day.
   */
  async #count(tenantId: string): Promise<EndedCount> {
    const before = this.#counts.get(tenantId);
    const isFresh = before !== undefined && performance.now() - before.countedAt < recountMs;
    const counted = isFresh
      ? before
      : { count: 0, through: '-infinity', isComplete: false, countedAt: performance.now() };
    const [row] = await this.#options.db.systemStatement<Pick<EndedCount, 'count' | 'through' | 'isComplete'>>(
      'count_ended',
      `WITH ended AS (SELECT finished_at FROM runs WHERE tenant_id = $1 AND finished_at > $2::timestamptz ORDER BY finished_at LIMIT $3)
       SELECT count(*)::int AS count, count(*) < $3 AS "isComplete",
         (CASE WHEN count(*) < $3 THEN clock_timestamp() ELSE max(finished_at) END)::text AS through FROM ended`,
      [tenantId, counted.through, this.#options.countBatch ?? countBatch],
    );
    const { count, through, isComplete } = row as EndedCount;
    Object.assign(counted, { count: counted.count + count, through, isComplete });
    this.#counts.set(tenantId, counted);
    return counted;
  }
}

/** Selects the ended runs of a workspace to remove: an SQL condition over `runs`, with `values` from `$3` on. */
export interface DueRuns {
  /** Name of the statement that finds the runs. */
  name: string;
  condition: string;
  values: unknown[];
  /** Removes further data of the runs in the same transaction. */
  withThem?: (tx: Transaction, runIds: string[]) => Promise<unknown>;
}

/** Removes one batch of ended runs with all related data, oldest first. @returns the number of removed runs. */
export async function removeEndedRuns(
  { db, blobs }: Pick<RunRetentionOptions, 'db' | 'blobs'>,
  tenantId: string,
  { name, condition, values, withThem }: DueRuns,
  limit = runBatch,
): Promise<number> {
  const { ids, artifactIds } = await db.workspace(
    tenantId,
    async (tx) => {
      const { rows: due } = await tx.query<{ id: string }>(name, oldest(condition), [tenantId, limit, ...values]);
      const runIds = due.map((row) => row.id);
      if (runIds.length === 0) return { ids: runIds, artifactIds: [] };
      // A transaction that runs one of them again has locked its flow until then, and leaves a run in the flow.
      await tx.query(
        'lock_old_flows',
        'SELECT 1 FROM flows WHERE id IN (SELECT flow_id FROM runs WHERE id = ANY($1)) ORDER BY id FOR UPDATE',
        [runIds],
      );
      const { rows: gone } = await tx.query<{ id: string }>(
        'prune_artifacts',
        'DELETE FROM artifacts WHERE run_id = ANY($1) RETURNING id',
        [runIds],
      );
      await withThem?.(tx, runIds);
      await tx.query('prune_messages', 'DELETE FROM messages WHERE run_id = ANY($1)', [runIds]);
      const { rows: flows } = await tx.query<{ flow_id: string }>(
        'prune_runs',
        'DELETE FROM runs WHERE id = ANY($1) RETURNING flow_id',
        [runIds],
      );
      await tx.query(
        'prune_flows',
        'DELETE FROM flows f WHERE id = ANY($1) AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.flow_id = f.id)',
        [flows.map((row) => row.flow_id)],
      );
      return { ids: runIds, artifactIds: gone.map((row) => row.id) };
    },
    { durable: false },
  );
  for (const id of artifactIds) await blobs.delete(`${tenantId}/${id}`);
  return ids.length;
}
