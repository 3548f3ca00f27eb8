import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { Schedule, Trigger } from '../../../../shared/contract/automations/triggers.ts';
import type { WorkflowLimits } from '../../../../shared/contract/automations/workflows.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import { fillPayload } from '../../../../shared/inputs-check.ts';
import type { WorkflowInputs } from '../../../../shared/inputs-schema.ts';
import { acceptRuns } from '../../../engine/index.ts';
import type { NewRun, PromisedJob } from '../../../engine/index.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Runs } from '../runs/index.ts';
import { dueFires } from './due.ts';
import type { DueFires } from './due.ts';

export interface SchedulesDependencies {
  db: Database;
  logger: Logger;
  dispatch: (jobs: PromisedJob[]) => void;
  runs: Pick<Runs, 'admit' | 'takeRoom'>;
  validateSteps: (steps: readonly Step[], entitlements: Record<Entitlement, boolean>) => void;
}

interface DueWorkflow {
  [column: string]: unknown;
  id: string;
  tenant_id: string;
  version: number;
  trigger: Trigger;
  steps: Step[];
  limits: WorkflowLimits | null;
  inputs: WorkflowInputs | null;
  environment: 'live' | 'test';
  next_run_at: Date;
  entitlements: Record<Entitlement, boolean>;
  is_open: boolean;
}

interface Fire {
  workflow: DueWorkflow;
  fireAt: Date;
  outcome: 'started' | 'overlapped' | 'queue_full' | 'refused';
  /** Whether it is the latest of those of its schedule that are due. */
  isLatest: boolean;
}

const batchSize = 1_000;
/** Schedules that one look fires; those that fell due meanwhile and those beyond it are for the next one. */
const maxAtOnce = 20_000;

/** Fires what is due. Any number of processes may look: a unique row of workflow and time decides who starts the run. */
export class Schedules {
  readonly #deps: SchedulesDependencies;

  constructor(dependencies: SchedulesDependencies) {
    this.#deps = dependencies;
  }

  /** Fires every schedule that is due; part of the sweep. Answers how many runs it started. */
  async fireDue(): Promise<number> {
    const jobs: PromisedJob[] = [];
    const after: (() => void)[] = [];
    try {
      // Whatever is due is fired before the first of it runs: a run that begins a little later does no harm, a late fire does.
      const due = await this.#listDue();
      for (let from = 0; from < due.length; from += batchSize) {
        const ids = due.slice(from, from + batchSize);
        const batch = await this.#deps.db.system((tx) => this.#fireBatch(tx, ids));
        jobs.push(...batch.jobs);
        after.push(...batch.after);
      }
    } finally {
      // A batch that fails takes nothing back of those that are committed.
      after.forEach((tell) => tell());
      this.#deps.dispatch(jobs);
    }
    return jobs.length;
  }

  /** The workflows whose schedules are due: the first of each workspace, then the second of each, and so on. */
  async #listDue(): Promise<string[]> {
    const rows = await this.#deps.db.systemStatement<{ id: string }>(
      'list_due_schedules',
      `SELECT id FROM (SELECT id, next_run_at, row_number() OVER (PARTITION BY tenant_id ORDER BY next_run_at) AS turn FROM workflows WHERE next_run_at <= now()) d
       ORDER BY turn, next_run_at LIMIT $1`,
      [maxAtOnce],
    );
    return rows.map(({ id }) => id);
  }

  async #fireBatch(tx: Transaction, ids: readonly string[]): Promise<{ jobs: PromisedJob[]; after: (() => void)[] }> {
    const { rows: due } = await tx.query<DueWorkflow>(
      'due_schedules',
      `SELECT w.id, w.tenant_id, w.version, w.trigger, w.steps, w.limits, w.inputs, w.environment, w.next_run_at, t.entitlements,
         EXISTS (SELECT 1 FROM runs r WHERE r.workflow_id = w.id AND r.finished_at IS NULL) AS is_open
       FROM workflows w JOIN tenants t ON t.id = w.tenant_id
       WHERE w.id = ANY($1) AND w.next_run_at <= now() ORDER BY w.next_run_at FOR UPDATE OF w SKIP LOCKED`,
      [ids],
    );
    if (due.length === 0) return { jobs: [], after: [] };
    const now = new Date();
    const fires: Fire[] = [];
    const next: { id: string; next_run_at: string | null }[] = [];
    const after: (() => void)[] = [];
    for (const workflow of due) {
      const schedule = scheduleOf(workflow.trigger);
      if (schedule === null) {
        next.push({ id: workflow.id, next_run_at: null });
        continue;
      }
      const plan = this.#plan(workflow, schedule, now);
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
    return { jobs: await startFires(tx, fires), after };
  }

  /** What is due of a schedule. One that can't be reckoned any more is switched off, so that it holds up no other. */
  #plan(workflow: DueWorkflow, schedule: Schedule, now: Date): DueFires {
    try {
      return dueFires(schedule, workflow.next_run_at, now);
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

/** The schedule of a trigger that has one. */
export function scheduleOf(trigger: Trigger): Schedule | null {
  return trigger.type === 'schedule' || trigger.type === 'heartbeat' ? trigger.schedule : null;
}

/** Enters fires and starts the runs of those that nobody entered before. */
async function startFires(tx: Transaction, fires: Fire[]): Promise<PromisedJob[]> {
  if (fires.length === 0) return [];
  const entered = await tx.query<{ workflow_id: string; fire_at: Date }>(
    'enter_fires',
    `INSERT INTO schedule_fires (workflow_id, fire_at, tenant_id, outcome)
     SELECT * FROM jsonb_to_recordset($1::jsonb) AS f(w uuid, f timestamptz, t uuid, o text)
     ON CONFLICT (workflow_id, fire_at) DO NOTHING RETURNING workflow_id, fire_at`,
    [
      JSON.stringify(
        fires.map((fire) => ({
          w: fire.workflow.id,
          f: fire.fireAt.toISOString(),
          t: fire.workflow.tenant_id,
          o: fire.outcome,
        })),
      ),
    ],
  );
  const fresh = new Set(entered.rows.map((row) => `${row.workflow_id} ${row.fire_at.getTime()}`));
  const starting = fires.filter(
    (fire) => fire.outcome === 'started' && fresh.has(`${fire.workflow.id} ${fire.fireAt.getTime()}`),
  );
  const newRuns = starting.map(({ workflow, fireAt }): NewRun => {
    const schedule = scheduleOf(workflow.trigger);
    const delayMs = Math.random() * (schedule?.jitterSeconds ?? 0) * 1000;
    return {
      tenantId: workflow.tenant_id,
      workflowId: workflow.id,
      workflowVersion: workflow.version,
      trigger: { type: workflow.trigger.type, fireAt: fireAt.toISOString() },
      context: null,
      payload: workflow.inputs === null ? null : fillPayload(workflow.inputs, null),
      environment: workflow.environment,
      notBefore: delayMs > 0 ? new Date(Date.now() + delayMs) : null,
    };
  });
  const accepted = await acceptRuns(tx, newRuns);
  await tx.query(
    'note_runs_of_fires',
    `UPDATE schedule_fires s SET run_id = f.r FROM jsonb_to_recordset($1::jsonb) AS f(w uuid, f timestamptz, r uuid)
     WHERE s.workflow_id = f.w AND s.fire_at = f.f`,
    [
      JSON.stringify(
        starting.map(({ workflow, fireAt }, index) => ({
          w: workflow.id,
          f: fireAt.toISOString(),
          r: accepted[index]?.runId,
        })),
      ),
    ],
  );
  return accepted.map(({ job }) => job);
}
