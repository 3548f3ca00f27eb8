import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { Schedule } from '../../../../shared/contract/automations/triggers.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import { isGated, termColumns, workspaceStamp } from '../../../engine/index.ts';
import type { HeldStarts, PromisedJob, RunIntake } from '../../../engine/index.ts';
import { DatabaseBusy, DatabaseOutage } from '../../../platform/db/database.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { Runs } from '../runs/index.ts';
import { batchesOf, batchSize, isLarge, listDue } from './due-list.ts';
import type { DueSchedule } from './due-list.ts';
import { dueFires } from './due.ts';
import type { DueFires } from './due.ts';
import { scheduleOf, startFires } from './fires.ts';
import type { DueWorkflow, Fire } from './fires.ts';

export interface SchedulesDependencies {
  db: Database;
  logger: Logger;
  dispatch: (jobs: PromisedJob[]) => void;
  runs: Pick<Runs, 'admit' | 'takeRoom'>;
  /** Null where no runs are worked on. */
  intake: Pick<RunIntake, 'openStarts'> | null;
  validateSteps: (steps: readonly Step[], entitlements: Record<Entitlement, boolean>) => void;
}

/** What one look fires: what is to be handed over, and told, after its transactions. */
interface Look {
  /** Whether runs may be held by this process at once. */
  holds: boolean;
  /** What is fired together; what others keep from that is divided behind it. */
  parts: (readonly string[])[];
  /** Until when parts are fired, by `performance.now()`; null as long as nothing was kept waiting. */
  until: number | null;
  jobs: PromisedJob[];
  after: (() => void)[];
  started: number;
  failures: unknown[];
}

/** Schedules that are planned in one turn of the event loop; each takes some milliseconds after a downtime. */
const plansPerTurn = 20;
/** For how long a schedule that failed is left alone, in milliseconds. */
const failingMs = 60_000;
/** What a batch of fires waits for a lock, and what a part of one that did so in vain does, in milliseconds: meanwhile no other schedule fires. */
const lockTimeoutMs = 1_000;
const partLockTimeoutMs = 100;
/** For so long one look goes on once a batch waited in vain, and then with schedules that wait by themselves, in milliseconds. */
const partsMs = 2_000;
const waitingMs = 1_000;
/** For so long one look fires large definitions, in milliseconds: the schedules that fall due meanwhile wait for it. */
const largeMs = 1_000;

/** Fires what is due. Any number of processes may look: a unique row of workflow and time decides who starts the run. */
export class Schedules {
  readonly #deps: SchedulesDependencies;
  /** Schedules that could not be fired even by themselves: they keep the others from nothing. */
  readonly #failing = new LRUCache<string, true>({ max: 10_000, ttl: failingMs });
  /** Due schedules that wait for what somebody else holds, each fired by itself; the one tried longest ago comes first. */
  readonly #waiting = new Set<string>();
  /** The latest turn of each workspace with large definitions. */
  readonly #largeTurns = new LRUCache<string, number>({ max: 10_000 });
  #turn = 0;

  constructor(dependencies: SchedulesDependencies) {
    this.#deps = dependencies;
  }

  /** Fires every schedule that is due; part of the sweep. Answers how many runs it started. @throws what the first of those threw that could not be fired. */
  async fireDue(): Promise<number> {
    const listed = await listDue(this.#deps.db);
    const due = listed.filter(({ id }) => !this.#failing.has(id));
    const isListed = new Set(listed.map(({ id }) => id));
    for (const id of this.#waiting) if (!isListed.has(id)) this.#waiting.delete(id);
    const waiting = [...this.#waiting].filter((id) => !this.#failing.has(id));
    const free = due.filter(({ id }) => !this.#waiting.has(id));
    const large = free.filter(isLarge);
    const parts = batchesOf(free.filter((schedule) => !isLarge(schedule)));
    // Runs that this process holds may not wait for further batches to be fired.
    const holds = parts.length <= 1 && due.length <= batchSize;
    const look: Look = { holds, parts, until: null, jobs: [], after: [], started: 0, failures: [] };
    try {
      await this.#fireParts(look);
      this.#handOver(look);
      const until = performance.now() + waitingMs;
      for (const id of waiting) if (performance.now() < until) await this.#fire([id], look, partLockTimeoutMs);
      await this.#fireLarge(look, large);
    } finally {
      // A batch that fails takes nothing back of those that are committed.
      this.#handOver(look);
    }
    if (look.failures.length > 0) throw look.failures[0];
    return look.started;
  }

  #handOver(look: Look): void {
    for (const tell of look.after.splice(0)) tell();
    this.#deps.dispatch(look.jobs.splice(0));
  }

  /** Fires some in one transaction; those that fail it in halves, down to what fails by itself, which is left alone for a while. */
  async #fire(ids: readonly string[], look: Look, waitsMs: number): Promise<void> {
    const [first] = ids;
    const half = Math.ceil(ids.length / 2);
    try {
      using held = look.holds ? (this.#deps.intake?.openStarts() ?? null) : null;
      const { jobs, after } = await this.#deps.db.system(
        (tx) => {
          held?.[Symbol.dispose]();
          return this.#fireBatch(tx, ids, held);
        },
        { lockTimeoutMs: waitsMs },
      );
      look.jobs.push(...jobs);
      look.after.push(...after);
      look.started += jobs.length + (held?.begin() ?? 0);
      for (const id of ids) this.#waiting.delete(id);
    } catch (error) {
      if (error instanceof DatabaseBusy && first !== undefined) {
        look.until ??= performance.now() + partsMs;
        if (ids.length === 1) this.#leaveWaiting(first, error);
        else look.parts.push(ids.slice(0, half), ids.slice(half));
        return;
      }
      if (error instanceof DatabaseOutage) throw error;
      if (ids.length === 1 && first !== undefined) {
        this.#failing.set(first, true);
        look.failures.push(error);
        this.#deps.logger.error(
          { err: error, workflowId: first },
          'a schedule could not be fired; it is tried again later',
        );
        return;
      }
      await this.#fire(ids.slice(0, half), look, waitsMs);
      await this.#fire(ids.slice(half), look, waitsMs);
    }
  }

  /** Fires what is fired together, down to what waits by itself; once something waited, what there is no time for is for the next look. */
  async #fireParts(look: Look): Promise<void> {
    for (const ids of look.parts) {
      if (look.until === null) {
        // Whatever is due is fired before the first of it runs: a run that begins a little later does no harm, a late fire does.
        await this.#fire(ids, look, lockTimeoutMs);
      } else if (performance.now() < look.until) {
        this.#handOver(look);
        await this.#fire(ids, look, partLockTimeoutMs);
      } else {
        this.#deps.logger.warn('schedules that are due wait for the database; the next look goes on with them');
        return;
      }
    }
  }

  /** Fires large definitions for a while: workspaces take turns, and the next look begins with the one whose turn was longest ago. */
  async #fireLarge(look: Look, large: readonly DueSchedule[]): Promise<void> {
    const until = performance.now() + largeMs;
    look.holds = false;
    const byTenant = Map.groupBy(large, (schedule) => schedule.tenant_id);
    const turnOf = (tenantId: string) => this.#largeTurns.get(tenantId) ?? 0;
    const tenants = [...byTenant].toSorted(([left], [right]) => turnOf(left) - turnOf(right));
    for (let round = 0; round < large.length; round += 1) {
      for (const [tenantId, schedules] of tenants) {
        const schedule = schedules[round];
        if (schedule === undefined) continue;
        this.#largeTurns.set(tenantId, (this.#turn += 1));
        await this.#fire([schedule.id], look, partLockTimeoutMs);
        this.#handOver(look);
        if (performance.now() >= until) return;
      }
    }
  }

  #leaveWaiting(id: string, error: DatabaseBusy): void {
    if (!this.#waiting.delete(id))
      this.#deps.logger.warn(
        { err: error, workflowId: id },
        'a schedule waits for what somebody else holds; it is fired by itself as soon as that is free',
      );
    this.#waiting.add(id);
  }

  async #fireBatch(
    tx: Transaction,
    ids: readonly string[],
    held: HeldStarts | null,
  ): Promise<Pick<Look, 'jobs' | 'after'>> {
    const { rows: due } = await tx.query<DueWorkflow>(
      'due_schedules',
      `SELECT w.id, w.tenant_id, w.version, w.trigger, w.steps, w.limits, w.inputs, w.environment, w.next_run_at, now() AS now, ${termColumns}, ${workspaceStamp} AS workspace_stamp, ${isGated} AS is_gated,
         EXISTS (SELECT 1 FROM runs r WHERE r.workflow_id = w.id AND r.finished_at IS NULL) AS is_open
       FROM workflows w JOIN tenants t ON t.id = w.tenant_id LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id
       WHERE w.id = ANY($1) AND w.next_run_at <= now() ORDER BY w.next_run_at FOR UPDATE OF w SKIP LOCKED`,
      [ids],
    );
    if (due.length === 0) return { jobs: [], after: [] };
    const fires: Fire[] = [];
    const next: { id: string; next_run_at: string | null }[] = [];
    const after: (() => void)[] = [];
    for (const [place, workflow] of due.entries()) {
      if (place % plansPerTurn === plansPerTurn - 1) await nextTurn();
      const schedule = scheduleOf(workflow.trigger);
      if (schedule === null) {
        next.push({ id: workflow.id, next_run_at: null });
        continue;
      }
      const plan = this.#plan(workflow, schedule);
      if (plan.missed > 0)
        this.#deps.logger.warn(
          { workflowId: workflow.id, missed: plan.missed, onMissed: schedule.onMissed },
          'a schedule was missed and is not made up for',
        );
      next.push({ id: workflow.id, next_run_at: plan.next?.toISOString() ?? null });
      for (const [index, fireAt] of plan.start.entries()) {
        fires.push({
          workflow,
          fireAt,
          outcome: this.#outcome(workflow, schedule, index),
          isLatest: index === plan.start.length - 1,
        });
      }
    }
    await this.#takeRoom(tx, fires);
    for (const fire of fires)
      if (fire.outcome === 'started') fire.outcome = await this.#admit(tx, fire.workflow, fire.isLatest, after);
    await tx.query(
      'advance_schedules',
      'UPDATE workflows w SET next_run_at = n.next_run_at FROM jsonb_to_recordset($1::jsonb) AS n(id uuid, next_run_at timestamptz) WHERE w.id = n.id',
      [JSON.stringify(next)],
    );
    return { jobs: await startFires(tx, fires, held), after };
  }

  /** What is due of a schedule. One that can't be reckoned any more is switched off, so that it holds up no other. */
  #plan(workflow: DueWorkflow, schedule: Schedule): DueFires {
    try {
      return dueFires(schedule, workflow.next_run_at, workflow.now);
    } catch (error) {
      this.#deps.logger.error(
        { err: error, workflowId: workflow.id },
        'a schedule can not be reckoned and is switched off',
      );
      return { start: [], missed: 0, next: null };
    }
  }

  /** Lets as many fires of each workspace start a run as it has room for among its queued runs; the others are skipped. */
  async #takeRoom(tx: Transaction, fires: readonly Fire[]): Promise<void> {
    const byTenant = Map.groupBy(
      fires.filter(({ outcome }) => outcome === 'started'),
      ({ workflow }) => workflow.tenant_id,
    );
    for (const [tenantId, starting] of byTenant) {
      const room = await this.#deps.runs.takeRoom(tx, tenantId, starting.length);
      const skipped = starting.slice(room);
      for (const fire of skipped) fire.outcome = 'queue_full';
      if (skipped.length > 0)
        this.#deps.logger.warn(
          { tenantId, skipped: skipped.length },
          'schedules of a workspace started nothing: too many of its runs wait to begin',
        );
    }
  }

  /** Makes room for a run by the limits of its workflow, or says that there is none. Of several fires at once only the last asks. */
  async #admit(
    tx: Transaction,
    workflow: DueWorkflow,
    isLast: boolean,
    after: (() => void)[],
  ): Promise<Fire['outcome']> {
    if (workflow.limits === null || workflow.limits.onLimit === 'queue') return 'started';
    if (!isLast) return 'overlapped';
    try {
      after.push(
        await this.#deps.runs.admit(tx, { tenantId: workflow.tenant_id, id: workflow.id, limits: workflow.limits }),
      );
      return 'started';
    } catch (error) {
      if (error instanceof AppError && error.code === 'workflow_limit_reached') return 'overlapped';
      throw error;
    }
  }

  #outcome(workflow: DueWorkflow, schedule: Schedule, index: number): Fire['outcome'] {
    if (schedule.overlap === 'skip' && (workflow.is_open || index > 0)) return 'overlapped';
    try {
      if (!workflow.entitlements.automations) return 'refused';
      this.#deps.validateSteps(workflow.steps, workflow.entitlements);
      return 'started';
    } catch (error) {
      // A fault of ours is no reason either to fire no other schedule.
      this.#deps.logger[error instanceof AppError ? 'warn' : 'error'](
        { workflowId: workflow.id, err: error },
        'a schedule could not start its workflow',
      );
      return 'refused';
    }
  }
}
