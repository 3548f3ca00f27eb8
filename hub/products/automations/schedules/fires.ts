import type { Schedule, Trigger } from '../../../../shared/contract/automations/triggers.ts';
import type { WorkflowLimits } from '../../../../shared/contract/automations/workflows.ts';
import { fillPayload } from '../../../../shared/inputs-check.ts';
import type { WorkflowInputs } from '../../../../shared/inputs-schema.ts';
import { acceptRuns } from '../../../engine/index.ts';
import type { HeldStarts, LockedDefinition, NewRun, PromisedJob } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';

/** A workflow whose schedule is due, locked. */
export interface DueWorkflow extends LockedDefinition {
  trigger: Trigger;
  limits: WorkflowLimits | null;
  inputs: WorkflowInputs | null;
  environment: 'live' | 'test';
  next_run_at: Date;
  is_open: boolean;
  /** Whether anything may hold its runs back before they begin. */
  is_gated: boolean;
}

/** A time at which a schedule fires. */
export interface Fire {
  workflow: DueWorkflow;
  fireAt: Date;
  outcome: 'started' | 'overlapped' | 'queue_full' | 'refused';
  /** Whether it is the latest of those of its schedule that are due. */
  isLatest: boolean;
}

/** The schedule of a trigger that has one. */
export function scheduleOf(trigger: Trigger): Schedule | null {
  return trigger.type === 'schedule' || trigger.type === 'heartbeat' ? trigger.schedule : null;
}

/** Enters fires and starts the runs of those that nobody entered before. */
export async function startFires(tx: Transaction, fires: Fire[], held: HeldStarts | null): Promise<PromisedJob[]> {
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
  const begins: Starting[] = [];
  const queued: Starting[] = [];
  for (const fire of starting) {
    const run = runOf(fire);
    const mayBegin = !fire.workflow.is_gated && run.notBefore === null && held?.takeRoom(run.tenantId) === true;
    (mayBegin ? begins : queued).push({ fire, run });
  }
  const begunIds = await held?.accept(
    tx,
    begins.map(({ fire, run: { trigger, context, payload, environment } }) => ({
      definition: fire.workflow,
      trigger,
      context,
      payload,
      environment,
    })),
  );
  const accepted = await acceptRuns(
    tx,
    queued.map(({ run }) => run),
  );
  const runIds = [...(begunIds ?? []), ...accepted.map(({ runId }) => runId)];
  await tx.query(
    'note_runs_of_fires',
    `UPDATE schedule_fires s SET run_id = f.r FROM jsonb_to_recordset($1::jsonb) AS f(w uuid, f timestamptz, r uuid)
     WHERE s.workflow_id = f.w AND s.fire_at = f.f`,
    [
      JSON.stringify(
        [...begins, ...queued].map(({ fire: { workflow, fireAt } }, index) => ({
          w: workflow.id,
          f: fireAt.toISOString(),
          r: runIds[index],
        })),
      ),
    ],
  );
  return accepted.map(({ job }) => job);
}

/** A fire with the run that it starts. */
interface Starting {
  fire: Fire;
  run: NewRun & { notBefore: Date | null };
}

function runOf({ workflow, fireAt }: Fire): Starting['run'] {
  const delayMs = Math.random() * (scheduleOf(workflow.trigger)?.jitterSeconds ?? 0) * 1000;
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
}
