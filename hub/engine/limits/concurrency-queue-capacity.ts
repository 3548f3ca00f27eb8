import type { QuietHours } from '../../../shared/contract/automations/policies.ts';
import type { QueueReason } from '../../../shared/contract/automations/run-status.ts';
import type { WorkflowLimits } from '../../../shared/contract/automations/workflows.ts';
import { endOfPeriod } from '../../platform/calendar/calendar.ts';
import type { Transaction } from '../../platform/db/database.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** A queue in which runs of a workflow wait for a limit. Test runs and live runs wait separately and do not count against each other's limits. */
export interface ConcurrencyQueue {
  tenantId: string;
  workflowId: string;
  environment: 'live' | 'test';
}

/** Number of runs of a concurrency queue that can start now. */
export interface Capacity {
  /** 0 or less if none can start. */
  slots: number;
  /** The limit that allows no more runs. */
  limitedBy: QueueReason;
  /** When more runs can start; null if this does not depend on the time alone. */
  availableAt: Date | null;
}

/** The limits of a concurrency queue, and the runs that count against them. */
interface AdmissionState {
  [column: string]: unknown;
  /** Time of the read, by the clock of the database. */
  now: Date;
  limits: WorkflowLimits | null;
  overlap: string | null;
  quiet_hours: QuietHours | null;
  max_runs_per_hour: number | null;
  /** Started runs that have not ended, counted up to the limit. */
  in_progress: number;
  /** Starts of the workflow, by second, oldest first; null if they are not limited, or not counted yet. */
  minute: { count: number; last_at: string }[] | null;
  /** Starts of the workspace, by minute, oldest first; null if they are not limited, or not counted yet. */
  hour: { count: number; last_at: string }[] | null;
}

/** Maximum number of concurrent runs of a workflow in one environment; null for no limit. A schedule with overlap `queue` implies 1. */
function concurrencyLimitOf(workflow: { limits: WorkflowLimits | null; overlap: string | null }): number | null {
  return workflow.limits?.maxConcurrentRuns ?? (workflow.overlap === 'queue' ? 1 : null);
}

/** Reads the current limits of a concurrency queue, and the number of runs of its environment that count against them. */
export async function readAdmissionState(tx: Transaction, queue: ConcurrencyQueue): Promise<AdmissionState> {
  const { tenantId, workflowId, environment } = queue;
  const read = async () => {
    const { rows } = await tx.query<AdmissionState>(
      'read_rules',
      `SELECT clock_timestamp() AS now, w.limits, w.trigger->'schedule'->>'overlap' AS overlap, p.quiet_hours, p.max_runs_per_hour,
         (SELECT count(*)::int FROM (SELECT 1 FROM runs WHERE workflow_id = w.id AND environment = $3 AND started_at IS NOT NULL AND finished_at IS NULL
            LIMIT coalesce((w.limits->>'maxConcurrentRuns')::int, CASE WHEN w.trigger->'schedule'->>'overlap' = 'queue' THEN 1 ELSE 0 END)) u) AS in_progress,
         CASE WHEN w.limits ? 'maxRunsPerMinute' THEN (SELECT json_agg(s ORDER BY s.last_at) FROM (SELECT count, last_at FROM run_starts WHERE scope_id = w.id AND environment = $3) s) END AS minute,
         CASE WHEN p.max_runs_per_hour IS NOT NULL THEN (SELECT json_agg(s ORDER BY s.last_at) FROM (SELECT count, last_at FROM run_starts WHERE scope_id = w.tenant_id AND environment = $3) s) END AS hour
       FROM workflows w LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id WHERE w.id = $1 AND w.tenant_id = $2`,
      [workflowId, tenantId, environment],
    );
    // Deleted workflows keep their row. A workflow without a row has no limits.
    return (
      rows[0] ?? {
        now: new Date(),
        limits: null,
        overlap: null,
        quiet_hours: null,
        max_runs_per_hour: null,
        in_progress: 0,
        minute: null,
        hour: null,
      }
    );
  };
  const state = await read();
  const unseeded = {
    minute: state.limits?.maxRunsPerMinute !== undefined && state.minute === null,
    hour: state.max_runs_per_hour !== null && state.hour === null,
  };
  if (unseeded.minute) await seedStarts(tx, queue, workflowId, 'second');
  if (unseeded.hour) await seedStarts(tx, queue, tenantId, 'minute');
  return unseeded.minute || unseeded.hour ? read() : state;
}

/**
 * Computes how many runs can start.
 * @param startedSince number of runs that started after the state was read.
 * @returns null if no limit applies.
 */
export function computeCapacity(state: AdmissionState, startedSince: number): Capacity | null {
  const { now } = state;
  const quietUntil = state.quiet_hours === null ? null : endOfPeriod(state.quiet_hours, now);
  if (quietUntil !== null) return { slots: 0, limitedBy: 'quiet_hours', availableAt: quietUntil };
  const capacities: Capacity[] = [];
  const maxConcurrent = concurrencyLimitOf(state);
  if (maxConcurrent !== null)
    capacities.push({
      slots: maxConcurrent - state.in_progress - startedSince,
      limitedBy: 'max_concurrent_runs',
      availableAt: null,
    });
  const perMinute = state.limits?.maxRunsPerMinute;
  if (perMinute !== undefined)
    capacities.push({
      ...computeWindowCapacity(state.minute ?? [], perMinute - startedSince, minuteMs, now),
      limitedBy: 'max_runs_per_minute',
    });
  if (state.max_runs_per_hour !== null)
    capacities.push({
      ...computeWindowCapacity(state.hour ?? [], state.max_runs_per_hour - startedSince, hourMs, now),
      limitedBy: 'max_runs_per_hour',
    });
  // A limit replaces the one before it if it allows fewer runs, or if both are exhausted and it becomes available later.
  return capacities.reduce<Capacity | null>(
    (least, capacity) =>
      least === null ||
      capacity.slots < least.slots ||
      (least.slots <= 0 && capacity.slots <= 0 && isAvailableLater(capacity, least))
        ? capacity
        : least,
    null,
  );
}

/** Whether one capacity becomes available later than another. A capacity without a time is the latest. */
const isAvailableLater = (one: Capacity, other: Capacity) =>
  other.availableAt !== null && (one.availableAt === null || one.availableAt > other.availableAt);

/** Computes how many of `maxStarts` starts within a sliding window remain. */
function computeWindowCapacity(
  slices: { count: number; last_at: string }[],
  maxStarts: number,
  windowMs: number,
  now: Date,
): { slots: number; availableAt: Date } {
  const counted = slices.filter((slice) => new Date(slice.last_at).getTime() + windowMs > now.getTime());
  const oldest = counted[0];
  return {
    slots: maxStarts - counted.reduce((sum, slice) => sum + slice.count, 0),
    availableAt: new Date((oldest === undefined ? now : new Date(oldest.last_at)).getTime() + windowMs),
  };
}

/**
 * Adds runs that start now to the count of the current time slice, and deletes old slices.
 * @param scopeId the workflow, counted by the second, or the workspace, counted by the minute.
 */
export async function countStarts(
  tx: Transaction,
  { tenantId, environment }: ConcurrencyQueue,
  scopeId: string,
  slice: 'second' | 'minute',
  count: number,
): Promise<void> {
  await tx.query(
    'count_starts',
    `WITH expired AS (
       DELETE FROM run_starts WHERE scope_id = $1 AND environment = $5 AND last_at < now() - CASE $3 WHEN 'second' THEN interval '2 minutes' ELSE interval '2 hours' END AND slice_at <> date_trunc($3, now())
     )
     INSERT INTO run_starts (scope_id, environment, slice_at, tenant_id, count, last_at) VALUES ($1, $5, date_trunc($3, now()), $2, $4, clock_timestamp())
     ON CONFLICT (scope_id, environment, slice_at) DO UPDATE SET count = run_starts.count + excluded.count, last_at = excluded.last_at`,
    [scopeId, tenantId, slice, count, environment],
  );
}

/**
 * Counts the starts of the last window from the runs, for a scope without counts. The row of the current slice marks the scope as
 * counted, even if there were no starts.
 */
async function seedStarts(
  tx: Transaction,
  { tenantId, environment }: ConcurrencyQueue,
  scopeId: string,
  slice: 'second' | 'minute',
): Promise<void> {
  await tx.query(
    'seed_starts',
    `INSERT INTO run_starts (scope_id, environment, slice_at, tenant_id, count, last_at)
     SELECT $1::uuid, $4::text, slice_at, $2::uuid, sum(n)::int, max(last_at) FROM (
       SELECT date_trunc($3, started_at) AS slice_at, count(*) AS n, max(started_at) AS last_at FROM runs
       WHERE tenant_id = $2::uuid AND environment = $4 AND started_at > now() - CASE $3 WHEN 'second' THEN interval '1 minute' ELSE interval '1 hour' END AND ($1::uuid = $2::uuid OR workflow_id = $1::uuid)
       GROUP BY 1
       UNION ALL SELECT date_trunc($3, now()), 0, now() - interval '1 day'
     ) s GROUP BY slice_at
     ON CONFLICT (scope_id, environment, slice_at) DO NOTHING`,
    [scopeId, tenantId, slice, environment],
  );
}
