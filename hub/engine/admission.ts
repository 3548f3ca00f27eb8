import type { QuietHours } from '../../shared/contract/automations/policies.ts';
import type { RunHold } from '../../shared/contract/automations/run-status.ts';
import type { WorkflowLimits } from '../../shared/contract/automations/workflows.ts';
import { endOfPeriod } from '../platform/calendar/calendar.ts';
import type { Transaction } from '../platform/db/database.ts';
import { noteWorkspaceChange } from '../platform/events/workspace-topic.ts';
import type { PromisedJob } from './accept-runs.ts';

/**
 * Lets runs begin as the limits of their workflow and the policy of their workspace say. Runs that must wait stand in the line of
 * their workflow, by id, and cost nothing: whoever makes room (a run that ends, a changed limit) begins the first ones in its own
 * transaction, and where time alone makes room the first of the line is woken at that time. `started_at` is set by whoever lets a
 * run begin, so that it counts from then on, whenever a worker takes it.
 *
 * Two transactions never judge the same line at once. The locks are taken after those of runs, the workspace's before a
 * workflow's, and no row of another run is waited for under them.
 */

/** Runs that are let in by one transaction; a longer line goes on in the next one. */
const maxAtOnce = 100;
/** Workflows of a workspace whose lines one transaction moves on when the hour has room again. */
const maxLinesAtOnce = 50;

const minuteMs = 60_000;
const hourMs = 3_600_000;

interface Room {
  places: number;
  hold: RunHold;
  /** When there is more; null when that depends on something else than time. */
  moreAt: Date | null;
}

interface Rules {
  [column: string]: unknown;
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

/** A run in the hands of a worker, which may begin in it at once. */
export interface ClaimedForAdmission {
  id: string;
  fence: string;
  leaseSeconds: number;
}

export interface Admission {
  /** Whether the claimed run may go on; otherwise it stands in its line and nobody holds it. */
  began: boolean;
  jobs: PromisedJob[];
}

/**
 * Puts a claimed run into the line of its workflow and lets in whoever there is room for, first the first.
 * Answers null when somebody else has the run.
 */
export async function admitClaimedRun(
  tx: Transaction,
  tenantId: string,
  workflowId: string,
  claimed: ClaimedForAdmission,
): Promise<Admission | null> {
  const { rowCount } = await tx.query(
    'join_line',
    `UPDATE runs SET waits_for = coalesce(waits_for, 'earlier_runs'), wake_at = NULL, lease_expires_at = NULL WHERE id = $1 AND fence = $2 AND finished_at IS NULL AND started_at IS NULL`,
    [claimed.id, claimed.fence],
  );
  if (rowCount !== 1) return null;
  return admit(tx, tenantId, workflowId, claimed);
}

/** Lets in whoever waits for room in one of these workflows; part of whatever makes room, in its transaction. */
export async function admitWaitingRuns(
  tx: Transaction,
  tenantId: string,
  workflowIds: readonly string[],
): Promise<PromisedJob[]> {
  const jobs: PromisedJob[] = [];
  for (const workflowId of [...new Set(workflowIds)].toSorted())
    jobs.push(...(await admit(tx, tenantId, workflowId, null)).jobs);
  return jobs;
}

async function admit(
  tx: Transaction,
  tenantId: string,
  workflowId: string,
  claimed: ClaimedForAdmission | null,
): Promise<Admission> {
  await lockLine(tx, tenantId, workflowId);
  if (claimed === null && !(await mayMove(tx, tenantId, workflowId))) return { began: false, jobs: [] };
  const first = await moveLine(tx, tenantId, workflowId, claimed);
  const admission: Admission = { began: first.began, jobs: first.jobs };
  if (!first.sharesHour) return admission;
  // Under the workspace's lock: the lines of its other workflows that wait for the same hour, oldest run first.
  const moved = [workflowId];
  for (let { room } = first; moved.length < maxLinesAtOnce && room?.hold !== 'max_runs_per_hour';) {
    const { rows } = await tx.query<{ workflow_id: string }>(
      'first_held_by_hour',
      `SELECT workflow_id FROM runs WHERE tenant_id = $1 AND waits_for = 'max_runs_per_hour' AND workflow_id <> ALL($2::uuid[]) ORDER BY id LIMIT 1`,
      [tenantId, moved],
    );
    const next = rows[0]?.workflow_id;
    if (next === undefined) return admission;
    moved.push(next);
    await tx.query('lock_line', lockWorkflowLine, [next]);
    const line = await moveLine(tx, tenantId, next, null);
    admission.jobs.push(...line.jobs);
    room = line.room;
  }
  return admission;
}

/**
 * The advisory lock that a transaction which ends a run shares before it looks whether anybody is to follow, and that a change of limits
 * takes alone: so that one of them sees the other. As SQL, of the expression that names the workflow.
 */
export const endsLock = (workflowId: string) => `hashtextextended(${workflowId}::text, 3)`;

const lockWorkflowLine = `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 2))`;

/**
 * Lets one transaction at a time judge a line, and of a workspace with an hourly limit all its lines; whoever changes the policy
 * waits for all who judge by the old one.
 */
async function lockLine(tx: Transaction, tenantId: string, workflowId: string): Promise<void> {
  await tx.query(
    'lock_lines',
    `SELECT CASE WHEN EXISTS (SELECT 1 FROM automation_policies WHERE tenant_id = $1::uuid AND max_runs_per_hour IS NOT NULL)
         THEN pg_advisory_xact_lock(hashtextextended($1::text, 1)) ELSE pg_advisory_xact_lock_shared(hashtextextended($1::text, 1)) END,
       pg_advisory_xact_lock(hashtextextended($2::text, 2))`,
    [tenantId, workflowId],
  );
}

/** Whether anybody stands in this line, or in one that waits for the same hour: a run that left may have been the one that was to be woken for all. */
async function mayMove(tx: Transaction, tenantId: string, workflowId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'may_move',
    `(SELECT 1 FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND waits_for IS NOT NULL LIMIT 1)
     UNION ALL (SELECT 1 FROM runs WHERE tenant_id = $1 AND waits_for = 'max_runs_per_hour' LIMIT 1) LIMIT 1`,
    [tenantId, workflowId],
  );
  return rowCount === 1;
}

/** Begins whoever there is room for; answers with the room that is left when somebody still waits for it. */
async function moveLine(
  tx: Transaction,
  tenantId: string,
  workflowId: string,
  claimed: ClaimedForAdmission | null,
): Promise<Admission & { room: Room | null; sharesHour: boolean }> {
  const rules = await readRules(tx, tenantId, workflowId);
  const sharesHour = rules.max_runs_per_hour !== null;
  const before = roomOf(rules, 0, new Date());
  const wanted = Math.min(before?.places ?? maxAtOnce, maxAtOnce);
  const begun = wanted <= 0 ? [] : await begin(tx, tenantId, workflowId, wanted, claimed);
  if (begun.length > 0) {
    if (rules.limits?.maxRunsPerMinute !== undefined)
      await countStarts(tx, tenantId, workflowId, 'second', begun.length);
    if (sharesHour) await countStarts(tx, tenantId, tenantId, 'minute', begun.length);
  }
  const jobs = begun.flatMap(({ job }) => (job === null ? [] : [job]));
  const began = begun.some(({ id }) => id === claimed?.id);
  if (wanted > 0 && begun.length < wanted) return { began, jobs, room: null, sharesHour };
  const room = roomOf(rules, begun.length, new Date()) ?? { places: maxAtOnce, hold: 'earlier_runs', moreAt: null };
  const { isEmpty, timer } = await holdFirst(
    tx,
    tenantId,
    workflowId,
    room.places > 0 ? { ...room, moreAt: new Date() } : room,
  );
  return {
    began,
    jobs: timer === null ? jobs : [...jobs, timer],
    room: isEmpty || room.places > 0 ? null : room,
    sharesHour,
  };
}

/** What a line is judged by: the limits as they are now, and how many runs count against them. */
async function readRules(tx: Transaction, tenantId: string, workflowId: string): Promise<Rules> {
  const read = async () => {
    const { rows } = await tx.query<Rules>(
      'read_rules',
      `SELECT w.limits, w.trigger->'schedule'->>'overlap' AS overlap, p.quiet_hours, p.max_runs_per_hour,
         (SELECT count(*)::int FROM (SELECT 1 FROM runs WHERE workflow_id = w.id AND started_at IS NOT NULL AND finished_at IS NULL
            LIMIT coalesce((w.limits->>'maxConcurrentRuns')::int, CASE WHEN w.trigger->'schedule'->>'overlap' = 'queue' THEN 1 ELSE 0 END)) u) AS under_way,
         CASE WHEN w.limits ? 'maxRunsPerMinute' THEN (SELECT json_agg(s ORDER BY s.last_at) FROM (SELECT count, last_at FROM run_starts WHERE scope_id = w.id) s) END AS minute,
         CASE WHEN p.max_runs_per_hour IS NOT NULL THEN (SELECT json_agg(s ORDER BY s.last_at) FROM (SELECT count, last_at FROM run_starts WHERE scope_id = w.tenant_id) s) END AS hour
       FROM workflows w LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id WHERE w.id = $1 AND w.tenant_id = $2`,
      [workflowId, tenantId],
    );
    // Workflows are kept when they are deleted; without one there is nothing that could hold its runs.
    return (
      rows[0] ?? {
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
  if (unseeded.minute) await seedStarts(tx, tenantId, workflowId, 'second');
  if (unseeded.hour) await seedStarts(tx, tenantId, tenantId, 'minute');
  return unseeded.minute || unseeded.hour ? read() : rules;
}

/** How many runs may begin when `more` have begun since the rules were read; null for any number. */
function roomOf(rules: Rules, more: number, now: Date): Room | null {
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

/**
 * Begins the first of a line. The claimed run goes on in the hands of its worker; the others want one.
 * One that somebody else has in hand, to take or to cancel it, is overtaken by none: that transaction judges the line when this one is over.
 */
async function begin(
  tx: Transaction,
  tenantId: string,
  workflowId: string,
  count: number,
  claimed: ClaimedForAdmission | null,
): Promise<{ id: string; job: PromisedJob | null }[]> {
  noteWorkspaceChange(tx, tenantId);
  const { rows } = await tx.query<{ id: string; outbox_id: string | null; job_id: string | null }>(
    'begin_held',
    `WITH line AS MATERIALIZED (
       SELECT id, row_number() OVER (ORDER BY id) AS place FROM (
         SELECT id FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND waits_for IS NOT NULL ORDER BY id LIMIT $3) l
     ), free AS MATERIALIZED (
       SELECT id FROM runs WHERE id = ANY(ARRAY(SELECT id FROM line)) AND waits_for IS NOT NULL ORDER BY id FOR UPDATE SKIP LOCKED
     ), first AS (
       SELECT line.id FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM free) f JOIN line USING (id, place)
     ), begun AS (
       UPDATE runs SET waits_for = NULL, started_at = clock_timestamp(), wake_at = now(),
         status = CASE WHEN runs.id = $4::uuid THEN 'running' ELSE status END,
         lease_expires_at = CASE WHEN runs.id = $4::uuid THEN now() + make_interval(secs => $5) END,
         wake_count = wake_count + CASE WHEN runs.id = $4::uuid THEN 0 ELSE 1 END
       FROM first WHERE runs.id = first.id RETURNING runs.id, runs.tenant_id, runs.wake_count
     ), promised AS (
       INSERT INTO outbox (tenant_id, job, job_id, data)
       SELECT tenant_id, 'run', 'run-' || id || '-' || wake_count, jsonb_build_object('runId', id, 'tenantId', tenant_id) FROM begun WHERE id IS DISTINCT FROM $4::uuid
       RETURNING id AS outbox_id, job_id, data->>'runId' AS run_id
     )
     SELECT begun.id, promised.outbox_id, promised.job_id FROM begun LEFT JOIN promised ON promised.run_id = begun.id::text ORDER BY begun.id`,
    [tenantId, workflowId, count, claimed?.id ?? null, claimed?.leaseSeconds ?? 0],
  );
  return rows.map(({ id, outbox_id, job_id }) => ({
    id,
    job:
      outbox_id === null || job_id === null
        ? null
        : { outboxId: Number(outbox_id), job: 'run', jobId: job_id, data: { runId: id, tenantId }, notBefore: null },
  }));
}

/**
 * Notes why the first of a line is held, and wakes it when there will be room; one that was first until an earlier run came waits for that.
 * Of the lines that wait for the same hour one is woken.
 * Answers the job that wakes it, if that is new.
 */
async function holdFirst(
  tx: Transaction,
  tenantId: string,
  workflowId: string,
  { hold, moreAt }: Room,
): Promise<{ isEmpty: boolean; timer: PromisedJob | null }> {
  const { rows } = await tx.query<{ run_id: string; outbox_id: string | null; job_id: string | null }>(
    'hold_first',
    `WITH first AS (
       SELECT id, CASE WHEN $3 = 'max_runs_per_hour' AND EXISTS (SELECT 1 FROM runs o WHERE o.tenant_id = $1 AND o.waits_for = 'max_runs_per_hour' AND o.wake_at IS NOT NULL AND o.workflow_id <> $2)
         THEN NULL ELSE $4::timestamptz END AS at
       FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND waits_for IS NOT NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
     ), held AS (
       UPDATE runs SET waits_for = $3, wake_at = first.at, lease_expires_at = NULL, wake_count = wake_count + CASE WHEN first.at IS NULL THEN 0 ELSE 1 END
       FROM first WHERE runs.id = first.id AND (runs.waits_for <> $3 OR runs.wake_at IS DISTINCT FROM first.at) RETURNING runs.id, runs.wake_count, runs.wake_at
     ), overtaken AS (
       SELECT r.id FROM runs r WHERE r.id = (SELECT id FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND waits_for IS NOT NULL ORDER BY id OFFSET 1 LIMIT 1)
         AND r.waits_for <> 'earlier_runs' AND r.lease_expires_at IS NULL FOR UPDATE SKIP LOCKED
     ), demoted AS (
       UPDATE runs SET waits_for = 'earlier_runs', wake_at = NULL FROM overtaken WHERE runs.id = overtaken.id
     ), promised AS (
       INSERT INTO outbox (tenant_id, job, job_id, data, not_before)
       SELECT $1::uuid, 'run', 'run-' || id || '-' || wake_count, jsonb_build_object('runId', id, 'tenantId', $1::uuid), wake_at FROM held WHERE wake_at IS NOT NULL
       RETURNING id AS outbox_id, job_id
     )
     SELECT first.id AS run_id, promised.outbox_id, promised.job_id FROM first LEFT JOIN promised ON true`,
    [tenantId, workflowId, hold, moreAt],
  );
  const row = rows[0];
  if (row === undefined) return { isEmpty: true, timer: null };
  if (row.outbox_id === null || row.job_id === null) return { isEmpty: false, timer: null };
  return {
    isEmpty: false,
    timer: {
      outboxId: Number(row.outbox_id),
      job: 'run',
      jobId: row.job_id,
      data: { runId: row.run_id, tenantId },
      notBefore: moreAt,
    },
  };
}

async function countStarts(
  tx: Transaction,
  tenantId: string,
  scopeId: string,
  slice: 'second' | 'minute',
  count: number,
): Promise<void> {
  await tx.query(
    'count_starts',
    `WITH gone AS (
       DELETE FROM run_starts WHERE scope_id = $1 AND last_at < now() - CASE $3 WHEN 'second' THEN interval '2 minutes' ELSE interval '2 hours' END AND slice_at <> date_trunc($3, now())
     )
     INSERT INTO run_starts (scope_id, slice_at, tenant_id, count, last_at) VALUES ($1, date_trunc($3, now()), $2, $4, clock_timestamp())
     ON CONFLICT (scope_id, slice_at) DO UPDATE SET count = run_starts.count + excluded.count, last_at = excluded.last_at`,
    [scopeId, tenantId, slice, count],
  );
}

/** Counts the runs that began before anybody kept count. The row of now stands for `they were counted` even where there were none. */
async function seedStarts(
  tx: Transaction,
  tenantId: string,
  scopeId: string,
  slice: 'second' | 'minute',
): Promise<void> {
  await tx.query(
    'seed_starts',
    `INSERT INTO run_starts (scope_id, slice_at, tenant_id, count, last_at)
     SELECT $1::uuid, slice_at, $2::uuid, sum(n)::int, max(last_at) FROM (
       SELECT date_trunc($3, started_at) AS slice_at, count(*) AS n, max(started_at) AS last_at FROM runs
       WHERE tenant_id = $2::uuid AND started_at > now() - CASE $3 WHEN 'second' THEN interval '1 minute' ELSE interval '1 hour' END AND ($1::uuid = $2::uuid OR workflow_id = $1::uuid)
       GROUP BY 1
       UNION ALL SELECT date_trunc($3, now()), 0, now() - interval '1 day'
     ) s GROUP BY slice_at
     ON CONFLICT (scope_id, slice_at) DO NOTHING`,
    [scopeId, tenantId, slice],
  );
}

/**
 * Has the lines of a workflow, or of all workflows of a workspace, judged anew, in the transaction that changed what they are judged by.
 * The starts before it are counted anew: they were counted by another limit, or not at all.
 */
export async function reopenLines(
  tx: Transaction,
  tenantId: string,
  workflowId: string | null,
): Promise<PromisedJob[]> {
  // Whoever judges a line now, or ends a run, does so by what was; it must have written its runs before they are looked for.
  if (workflowId === null) {
    await tx.query('lock_workspace_lines', `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 1))`, [tenantId]);
  } else {
    await tx.query('lock_ends', `SELECT pg_advisory_xact_lock(${endsLock('$1')})`, [workflowId]);
    await lockLine(tx, tenantId, workflowId);
  }
  await tx.query('forget_starts', 'DELETE FROM run_starts WHERE scope_id = $1', [workflowId ?? tenantId]);
  return wakeFirst(
    tx,
    workflowId === null ? 'reopen_lines' : 'reopen_line',
    'TRUE',
    workflowId === null ? [tenantId] : [tenantId, workflowId],
  );
}

/**
 * Wakes the first of each line that has room and no time at which it looks: its wake-up was lost, with a process or because a limit came
 * while runs were under way. Only in a transaction that sees every workspace; part of the sweep.
 */
export function wakeForgottenLines(tx: Transaction): Promise<PromisedJob[]> {
  const hasRoom = `CASE r.waits_for
      WHEN 'max_runs_per_hour' THEN NOT EXISTS (SELECT 1 FROM runs o WHERE o.tenant_id = r.tenant_id AND o.waits_for = 'max_runs_per_hour' AND o.wake_at IS NOT NULL)
      WHEN 'max_concurrent_runs' THEN coalesce((SELECT count(*) FROM (SELECT 1 FROM runs u WHERE u.workflow_id = r.workflow_id AND u.started_at IS NOT NULL AND u.finished_at IS NULL LIMIT m.most) c) < m.most, true)
      ELSE true END`;
  return wakeFirst(tx, 'wake_forgotten_lines', `r.wake_at IS NULL AND r.lease_expires_at IS NULL AND ${hasRoom}`, []);
}

/** Wakes the first of lines, found by stepping from line to line through the index, whatever their length. */
async function wakeFirst(tx: Transaction, name: string, where: string, values: string[]): Promise<PromisedJob[]> {
  const [byTenant, byWorkflow] = [
    values.length > 0 ? 'AND h.tenant_id = $1' : '',
    values.length > 1 ? 'AND h.workflow_id = $2' : '',
  ];
  const { rows } = await tx.query<{ outbox_id: string; job_id: string; run_id: string; tenant_id: string }>(
    name,
    `WITH RECURSIVE line AS (
       (SELECT tenant_id, workflow_id, id FROM runs h WHERE waits_for IS NOT NULL ${byTenant} ${byWorkflow} ORDER BY tenant_id, workflow_id, id LIMIT 1)
       UNION ALL
       SELECT n.* FROM line CROSS JOIN LATERAL (
         SELECT tenant_id, workflow_id, id FROM runs h WHERE waits_for IS NOT NULL AND (h.tenant_id, h.workflow_id) > (line.tenant_id, line.workflow_id) ${byTenant} ${byWorkflow}
         ORDER BY tenant_id, workflow_id, id LIMIT 1) n
     ), first AS (
       SELECT r.id FROM runs r JOIN workflows w ON w.id = r.workflow_id
       CROSS JOIN LATERAL (SELECT coalesce((w.limits->>'maxConcurrentRuns')::int, CASE WHEN w.trigger->'schedule'->>'overlap' = 'queue' THEN 1 END) AS most) m
       WHERE r.id = ANY(ARRAY(SELECT id FROM line)) AND r.waits_for IS NOT NULL AND ${where} FOR UPDATE OF r SKIP LOCKED
     ), woken AS (
       UPDATE runs SET wake_at = now(), wake_count = wake_count + 1 FROM first WHERE runs.id = first.id RETURNING runs.id, runs.tenant_id, runs.wake_count
     )
     INSERT INTO outbox (tenant_id, job, job_id, data)
     SELECT tenant_id, 'run', 'run-' || id || '-' || wake_count, jsonb_build_object('runId', id, 'tenantId', tenant_id) FROM woken
     RETURNING id AS outbox_id, job_id, data->>'runId' AS run_id, tenant_id`,
    values,
  );
  return rows.map((row) => ({
    outboxId: Number(row.outbox_id),
    job: 'run',
    jobId: row.job_id,
    data: { runId: row.run_id, tenantId: row.tenant_id },
    notBefore: null,
  }));
}
