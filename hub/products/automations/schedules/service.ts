import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { Schedule } from '../../../../shared/contract/automations/triggers.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import { StartBatch, isGated, termColumns, workspaceStamp } from '../../../engine/index.ts';
import type { RunIntake } from '../../../engine/index.ts';
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
  runs: Pick<Runs, 'admit' | 'reserveQueueSlots'>;
  /** Null in a process that runs no worker. */
  intake: Pick<RunIntake, 'openStartBatch'> | null;
  validateSteps: (steps: readonly Step[], entitlements: Record<Entitlement, boolean>) => void;
}

/** State of one pass: its batches, and the workspaces whose runs its transactions started. */
interface Pass {
  /** Whether this process may execute started runs directly, without the queue. */
  runsDirectly: boolean;
  /** Batches of workflow ids. A batch that waits for a lock is halved, and its halves are appended. */
  batches: (readonly string[])[];
  /** Deadline for further batches, in `performance.now()` time; null until a batch waits for a lock. */
  deadline: number | null;
  /** Workspaces with due runs, of which workers are not told yet. */
  due: Set<string>;
  started: number;
  failures: unknown[];
}

/** Schedules planned per turn of the event loop. After a downtime, planning one schedule takes several milliseconds. */
const plansPerTurn = 20;
/** How long a failed schedule is skipped, in milliseconds. */
const failureBackoffMs = 60_000;
/**
 * Lock timeout of a batch, and of the halves of a batch that timed out, in milliseconds. No other schedule fires during
 * this time.
 */
const batchLockTimeoutMs = 1_000;
const retryLockTimeoutMs = 100;
/**
 * Time limits of a pass in milliseconds: for batches after the first lock timeout, and for schedules that wait for a
 * lock on their own.
 */
const batchRetriesMs = 2_000;
const waitingSchedulesMs = 1_000;
/**
 * Maximum time that one pass spends on schedules with large definitions, in milliseconds. Other schedules that become due
 * wait until the pass ends.
 */
const largeDefinitionsMs = 1_000;

/**
 * Fires due schedules. Any number of processes may run it: a unique row per workflow and time decides which process
 * starts the run.
 */
export class Schedules {
  readonly #deps: SchedulesDependencies;
  /**
   * Schedules that failed in their own transaction. They are skipped for a while so that they block no other schedule.
   */
  readonly #failing = new LRUCache<string, true>({ max: 10_000, ttl: failureBackoffMs });
  /** Due schedules that wait for a lock, least recently tried first. Each is fired in its own transaction. */
  readonly #waiting = new Set<string>();
  /** The last turn of each workspace with large definitions. */
  readonly #largeTurns = new LRUCache<string, number>({ max: 10_000 });
  #turn = 0;

  constructor(dependencies: SchedulesDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Fires every due schedule; part of the sweep. @returns the number of runs it started. @throws the error of the first
   * schedule that failed.
   */
  async fireDue(): Promise<number> {
    const listed = await listDue(this.#deps.db);
    const due = listed.filter(({ id }) => !this.#failing.has(id));
    const isListed = new Set(listed.map(({ id }) => id));
    for (const id of this.#waiting) if (!isListed.has(id)) this.#waiting.delete(id);
    const waiting = [...this.#waiting].filter((id) => !this.#failing.has(id));
    const free = due.filter(({ id }) => !this.#waiting.has(id));
    const large = free.filter(isLarge);
    const batches = batchesOf(free.filter((schedule) => !isLarge(schedule)));
    // Runs that this process executes directly would have to wait until further batches are fired.
    const runsDirectly = batches.length <= 1 && due.length <= batchSize;
    const pass: Pass = { runsDirectly, batches, deadline: null, due: new Set(), started: 0, failures: [] };
    try {
      await this.#fireBatches(pass);
      this.#wakeWorkers(pass);
      const deadline = performance.now() + waitingSchedulesMs;
      for (const id of waiting) if (performance.now() < deadline) await this.#fire([id], pass, retryLockTimeoutMs);
      await this.#fireLarge(pass, large);
    } finally {
      // A failed batch does not affect committed batches.
      this.#wakeWorkers(pass);
    }
    if (pass.failures.length > 0) throw pass.failures[0];
    return pass.started;
  }

  #wakeWorkers(pass: Pass): void {
    this.#deps.db.wakeWorkers(pass.due);
    pass.due = new Set();
  }

  /**
   * Fires schedules in one transaction. When it fails, each half is retried, down to single schedules, which are then
   * skipped for a while.
   */
  async #fire(ids: readonly string[], pass: Pass, lockTimeoutMs: number): Promise<void> {
    const [first] = ids;
    const half = Math.ceil(ids.length / 2);
    try {
      using starts =
        (pass.runsDirectly ? this.#deps.intake?.openStartBatch() : undefined) ?? new StartBatch(() => null);
      const queued = await this.#deps.db.system(
        (tx) => {
          starts[Symbol.dispose]();
          return this.#fireBatch(tx, ids, starts);
        },
        { lockTimeoutMs, collectDue: (tenantIds) => tenantIds.forEach((id) => pass.due.add(id)) },
      );
      pass.started += queued + starts.begin();
      for (const id of ids) this.#waiting.delete(id);
    } catch (error) {
      if (error instanceof DatabaseBusy && first !== undefined) {
        pass.deadline ??= performance.now() + batchRetriesMs;
        if (ids.length === 1) this.#addWaiting(first, error);
        else pass.batches.push(ids.slice(0, half), ids.slice(half));
        return;
      }
      if (error instanceof DatabaseOutage) throw error;
      if (ids.length === 1 && first !== undefined) {
        this.#failing.set(first, true);
        pass.failures.push(error);
        this.#deps.logger.error({ err: error, workflowId: first }, 'a schedule could not be fired; retrying later');
        return;
      }
      await this.#fire(ids.slice(0, half), pass, lockTimeoutMs);
      await this.#fire(ids.slice(half), pass, lockTimeoutMs);
    }
  }

  /**
   * Fires the batches of a pass. After the first lock timeout, batches beyond the time limit are left to the next pass.
   */
  async #fireBatches(pass: Pass): Promise<void> {
    for (const ids of pass.batches) {
      if (pass.deadline === null) {
        // All due schedules fire before workers are woken: a run may start slightly later, but a fire must not
        // be late.
        await this.#fire(ids, pass, batchLockTimeoutMs);
      } else if (performance.now() < pass.deadline) {
        this.#wakeWorkers(pass);
        await this.#fire(ids, pass, retryLockTimeoutMs);
      } else {
        this.#deps.logger.warn('due schedules wait for locks; the next pass continues');
        return;
      }
    }
  }

  /**
   * Fires large definitions within a time limit. Workspaces take turns, and the next pass starts with the workspace
   * whose turn was longest ago.
   */
  async #fireLarge(pass: Pass, large: readonly DueSchedule[]): Promise<void> {
    const deadline = performance.now() + largeDefinitionsMs;
    pass.runsDirectly = false;
    const byTenant = Map.groupBy(large, (schedule) => schedule.tenant_id);
    const turnOf = (tenantId: string) => this.#largeTurns.get(tenantId) ?? 0;
    const tenants = [...byTenant].toSorted(([left], [right]) => turnOf(left) - turnOf(right));
    for (let round = 0; round < large.length; round += 1) {
      for (const [tenantId, schedules] of tenants) {
        const schedule = schedules[round];
        if (schedule === undefined) continue;
        this.#largeTurns.set(tenantId, (this.#turn += 1));
        await this.#fire([schedule.id], pass, retryLockTimeoutMs);
        this.#wakeWorkers(pass);
        if (performance.now() >= deadline) return;
      }
    }
  }

  #addWaiting(id: string, error: DatabaseBusy): void {
    if (!this.#waiting.delete(id))
      this.#deps.logger.warn(
        { err: error, workflowId: id },
        'a schedule waits for a lock; it fires when the lock is released',
      );
    this.#waiting.add(id);
  }

  async #fireBatch(tx: Transaction, ids: readonly string[], starts: StartBatch): Promise<number> {
    const { rows: due } = await tx.query<DueWorkflow>(
      'due_schedules',
      `SELECT w.id, w.tenant_id, w.version, w.trigger, w.steps, w.limits, w.inputs, w.environment, w.next_run_at, now() AS now, ${termColumns}, ${workspaceStamp} AS workspace_stamp, ${isGated} AS is_gated,
         EXISTS (SELECT 1 FROM runs r WHERE r.workflow_id = w.id AND r.environment = w.environment AND r.finished_at IS NULL) AS is_open
       FROM workflows w JOIN tenants t ON t.id = w.tenant_id LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id
       WHERE w.id = ANY($1) AND w.next_run_at <= now() ORDER BY w.next_run_at FOR UPDATE OF w SKIP LOCKED`,
      [ids],
    );
    if (due.length === 0) return 0;
    const fires: Fire[] = [];
    const next: { id: string; next_run_at: string | null }[] = [];
    for (const [position, workflow] of due.entries()) {
      if (position % plansPerTurn === plansPerTurn - 1) await nextTurn();
      const schedule = scheduleOf(workflow.trigger);
      if (schedule === null) {
        next.push({ id: workflow.id, next_run_at: null });
        continue;
      }
      const plan = this.#plan(workflow, schedule);
      if (plan.missed > 0)
        this.#deps.logger.warn(
          { workflowId: workflow.id, missed: plan.missed, onMissed: schedule.onMissed },
          'missed fires of a schedule were skipped',
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
    await this.#limitToQueueCapacity(tx, fires);
    for (const fire of fires)
      if (fire.outcome === 'started') fire.outcome = await this.#admit(tx, fire.workflow, fire.isLatest);
    await tx.query(
      'advance_schedules',
      'UPDATE workflows w SET next_run_at = n.next_run_at FROM jsonb_to_recordset($1::jsonb) AS n(id uuid, next_run_at timestamptz) WHERE w.id = n.id',
      [JSON.stringify(next)],
    );
    return startFires(tx, fires, starts);
  }

  /**
   * The due fires of a schedule. A schedule that cannot be evaluated is disabled, so that it blocks no other schedule.
   */
  #plan(workflow: DueWorkflow, schedule: Schedule): DueFires {
    try {
      return dueFires(schedule, workflow.next_run_at, workflow.now);
    } catch (error) {
      this.#deps.logger.error(
        { err: error, workflowId: workflow.id },
        'a schedule could not be evaluated and is disabled',
      );
      return { start: [], missed: 0, next: null };
    }
  }

  /** Limits the fires to the free capacity of their run queues. The other fires are skipped. */
  async #limitToQueueCapacity(tx: Transaction, fires: readonly Fire[]): Promise<void> {
    const byQueue = Map.groupBy(
      fires.filter(({ outcome }) => outcome === 'started'),
      ({ workflow }) => `${workflow.tenant_id} ${workflow.environment}`,
    );
    for (const starting of byQueue.values()) {
      const { tenant_id: tenantId, environment } = (starting[0] as Fire).workflow;
      const accepted = await this.#deps.runs.reserveQueueSlots(tx, { tenantId, environment }, starting.length);
      const skipped = starting.slice(accepted);
      for (const fire of skipped) fire.outcome = 'queue_full';
      if (skipped.length > 0)
        this.#deps.logger.warn(
          { tenantId, environment, skipped: skipped.length },
          'fires of schedules were skipped: the run queue of the workspace is full',
        );
    }
  }

  /**
   * Admits a run by the limits of its workflow, cancelling open runs if necessary. Of several due fires of a schedule
   * only the last is admitted.
   */
  async #admit(tx: Transaction, workflow: DueWorkflow, isLast: boolean): Promise<Fire['outcome']> {
    if (workflow.limits === null || workflow.limits.onLimit === 'queue') return 'started';
    if (!isLast) return 'overlapped';
    try {
      await this.#deps.runs.admit(
        tx,
        { tenantId: workflow.tenant_id, id: workflow.id, limits: workflow.limits },
        workflow.environment,
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
      // An internal error must not block other schedules either.
      this.#deps.logger[error instanceof AppError ? 'warn' : 'error'](
        { workflowId: workflow.id, err: error },
        'a schedule could not start its workflow',
      );
      return 'refused';
    }
  }
}
