import type { QuietHours } from '../../../shared/contract/automations/policies.ts';
import type { QueueReason } from '../../../shared/contract/automations/run-status.ts';
import type { WorkflowLimits } from '../../../shared/contract/automations/workflows.ts';
import { endOfPeriod } from '../../platform/calendar/calendar.ts';
import type { Transaction } from '../../platform/db/database.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** Where runs of a workflow wait for a limit. Test runs and live runs wait separately and do not count against each other's limits. */
export interface Line {
  tenantId: string;
  workflowId: string;
  environment: 'live' | 'test';
}

/** How many runs of a line may begin, and why no more. */
export interface Room {
  places: number;
  hold: QueueReason;
  /** When there is more; null when that depends on something else than time. */
  moreAt: Date | null;
}

interface Rules {
  [column: string]: unknown;
  /** The time at which they were read, by the clock of the database. */
  now: Date;
  limits: WorkflowLimits | null;
  overlap: string | null;
  quiet_hours: QuietHours | null;
  max_runs_per_hour: number | null;
  under_way: number;
  minute: { count: number; last_at: string }[] | null;
  hour: { count: number; last_at: string }[] | null;
}

/** How many runs of a workflow there may be at once, of those that a run has to wait for; null for any number. */
function maxConcurrentRuns(workflow: { limits: WorkflowLimits | null; overlap: string | null }): number | null {
  return workflow.limits?.maxConcurrentRuns ?? (workflow.overlap === 'queue' ? 1 : null);
}

/** What a line is judged by: the limits as they are now, and how many runs of its environment count against them. */
export async function readRules(tx: Transaction, line: Line): Promise<Rules> {
  const { tenantId, workflowId, environment } = line;
  const read = async () => {
    const { rows } = await tx.query<Rules>(
      'read_rules',
      `SELECT clock_timestamp() AS now, w.limits, w.trigger->'schedule'->>'overlap' AS overlap, p.quiet_hours, p.max_runs_per_hour,
         (SELECT count(*)::int FROM (SELECT 1 FROM runs WHERE workflow_id = w.id AND environment = $3 AND started_at IS NOT NULL AND finished_at IS NULL
            LIMIT coalesce((w.limits->>'maxConcurrentRuns')::int, CASE WHEN w.trigger->'schedule'->>'overlap' = 'queue' THEN 1 ELSE 0 END)) u) AS under_way,
         CASE WHEN w.limits ? 'maxRunsPerMinute' THEN (SELECT json_agg(s ORDER BY s.last_at) FROM (SELECT count, last_at FROM run_starts WHERE scope_id = w.id AND environment = $3) s) END AS minute,
         CASE WHEN p.max_runs_per_hour IS NOT NULL THEN (SELECT json_agg(s ORDER BY s.last_at) FROM (SELECT count, last_at FROM run_starts WHERE scope_id = w.tenant_id AND environment = $3) s) END AS hour
       FROM workflows w LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id WHERE w.id = $1 AND w.tenant_id = $2`,
      [workflowId, tenantId, environment],
    );
    // Workflows are kept when they are deleted; without one there is nothing that could hold its runs.
    return (
      rows[0] ?? {
        now: new Date(),
        limits: null,
        overlap: null,
        quiet_hours: null,
        max_runs_per_hour: null,
        under_way: 0,
        minute: null,
        hour: null,
      }
    );
  };
  const rules = await read();
  const unseeded = {
    minute: rules.limits?.maxRunsPerMinute !== undefined && rules.minute === null,
    hour: rules.max_runs_per_hour !== null && rules.hour === null,
  };
  if (unseeded.minute) await seedStarts(tx, line, workflowId, 'second');
  if (unseeded.hour) await seedStarts(tx, line, tenantId, 'minute');
  return unseeded.minute || unseeded.hour ? read() : rules;
}

/** How many runs may begin when `more` have begun since the rules were read; null for any number. */
export function roomOf(rules: Rules, more: number): Room | null {
  const { now } = rules;
  const quiet = rules.quiet_hours === null ? null : endOfPeriod(rules.quiet_hours, now);
  if (quiet !== null) return { places: 0, hold: 'quiet_hours', moreAt: quiet };
  const rooms: Room[] = [];
  const concurrent = maxConcurrentRuns(rules);
  if (concurrent !== null)
    rooms.push({ places: concurrent - rules.under_way - more, hold: 'max_concurrent_runs', moreAt: null });
  const perMinute = rules.limits?.maxRunsPerMinute;
  if (perMinute !== undefined)
    rooms.push({ ...roomOfWindow(rules.minute ?? [], perMinute - more, minuteMs, now), hold: 'max_runs_per_minute' });
  if (rules.max_runs_per_hour !== null)
    rooms.push({
      ...roomOfWindow(rules.hour ?? [], rules.max_runs_per_hour - more, hourMs, now),
      hold: 'max_runs_per_hour',
    });
  // What depends on others alone comes first: until it has room, no time helps.
  return rooms.reduce<Room | null>(
    (least, room) =>
      least === null || room.places < least.places || (least.places <= 0 && room.places <= 0 && later(room, least))
        ? room
        : least,
    null,
  );
}

const later = (one: Room, other: Room) => other.moreAt !== null && (one.moreAt === null || one.moreAt > other.moreAt);

function roomOfWindow(
  slices: { count: number; last_at: string }[],
  most: number,
  windowMs: number,
  now: Date,
): { places: number; moreAt: Date } {
  const counted = slices.filter((slice) => new Date(slice.last_at).getTime() + windowMs > now.getTime());
  const oldest = counted[0];
  return {
    places: most - counted.reduce((sum, slice) => sum + slice.count, 0),
    moreAt: new Date((oldest === undefined ? now : new Date(oldest.last_at)).getTime() + windowMs),
  };
}

/** Counts runs that begin now, of a workflow or of all its workspace, in slices that a window of time is made of. */
export async function countStarts(
  tx: Transaction,
  { tenantId, environment }: Line,
  scopeId: string,
  slice: 'second' | 'minute',
  count: number,
): Promise<void> {
  await tx.query(
    'count_starts',
    `WITH gone AS (
       DELETE FROM run_starts WHERE scope_id = $1 AND environment = $5 AND last_at < now() - CASE $3 WHEN 'second' THEN interval '2 minutes' ELSE interval '2 hours' END AND slice_at <> date_trunc($3, now())
     )
     INSERT INTO run_starts (scope_id, environment, slice_at, tenant_id, count, last_at) VALUES ($1, $5, date_trunc($3, now()), $2, $4, clock_timestamp())
     ON CONFLICT (scope_id, environment, slice_at) DO UPDATE SET count = run_starts.count + excluded.count, last_at = excluded.last_at`,
    [scopeId, tenantId, slice, count, environment],
  );
}

/** Counts the runs that began before anybody kept count. The row of now stands for `they were counted` even where there were none. */
async function seedStarts(
  tx: Transaction,
  { tenantId, environment }: Line,
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
