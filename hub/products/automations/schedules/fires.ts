import type { Schedule, Trigger } from '../../../../shared/contract/automations/triggers.ts';
import type { WorkflowLimits } from '../../../../shared/contract/automations/workflows.ts';
import { fillPayload } from '../../../../shared/inputs-check.ts';
import type { WorkflowInputs } from '../../../../shared/inputs-schema.ts';
import type { LockedDefinition, StartBatch, NewRun } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';

/** A workflow with a due schedule. The transaction has locked its row. */
export interface DueWorkflow extends LockedDefinition {
  trigger: Trigger;
  limits: WorkflowLimits | null;
  inputs: WorkflowInputs | null;
  environment: 'live' | 'test';
  next_run_at: Date;
  /** The time of the pass, by the clock of the database. */
  now: Date;
  is_open: boolean;
  /** Whether a limit or policy may delay the start of its runs. */
  is_gated: boolean;
}

export interface Fire {
  workflow: DueWorkflow;
  fireAt: Date;
  outcome: 'started' | 'overlapped' | 'queue_full' | 'refused';
  /** Whether this is the latest due fire of its schedule. */
  isLatest: boolean;
}

/** The schedule of a trigger; null for triggers without one. */
export function scheduleOf(trigger: Trigger): Schedule | null {
  return trigger.type === 'schedule' || trigger.type === 'heartbeat' ? trigger.schedule : null;
}

/**
 * Records fires and starts the runs of the fires that no other process recorded.
 * @returns the number of queued runs. `starts` holds the others.
 */
export async function startFires(tx: Transaction, fires: Fire[], starts: StartBatch): Promise<number> {
  if (fires.length === 0) return 0;
  const given = fires.map((fire) => ({ fire, run: runOf(fire) }));
  const entered = await tx.query<{ workflow_id: string; fire_at: Date }>(
    'enter_fires',
    `INSERT INTO schedule_fires (workflow_id, fire_at, tenant_id, outcome, run_id)
     SELECT * FROM jsonb_to_recordset($1::jsonb) AS f(w uuid, f timestamptz, t uuid, o text, r uuid)
     ON CONFLICT (workflow_id, fire_at) DO NOTHING RETURNING workflow_id, fire_at`,
    [
      JSON.stringify(
        given.map(({ fire: { workflow, fireAt, outcome }, run }) => ({
          w: workflow.id,
          f: fireAt.toISOString(),
          t: workflow.tenant_id,
          o: outcome,
          r: outcome === 'started' ? run.id : null,
        })),
      ),
    ],
  );
  const fresh = new Set(entered.rows.map((row) => `${row.workflow_id} ${row.fire_at.getTime()}`));
  return starts.accept(
    tx,
    given.flatMap(({ fire: { workflow, fireAt, outcome }, run }) =>
      outcome === 'started' && fresh.has(`${workflow.id} ${fireAt.getTime()}`)
        ? [{ run, definition: workflow, claim: !workflow.is_gated && run.notBefore === null }]
        : [],
    ),
  );
}

/** The run that a fire starts. */
function runOf({ workflow, fireAt }: Fire): NewRun & { id: string; notBefore: Date | null } {
  const delayMs = Math.random() * (scheduleOf(workflow.trigger)?.jitterSeconds ?? 0) * 1000;
  return {
    id: newId(),
    tenantId: workflow.tenant_id,
    workflowId: workflow.id,
    workflowVersion: workflow.version,
    trigger: { type: workflow.trigger.type, fireAt: fireAt.toISOString() },
    context: null,
    payload: workflow.inputs === null ? null : fillPayload(workflow.inputs, null),
    environment: workflow.environment,
    notBefore: delayMs > 0 ? new Date(workflow.now.getTime() + delayMs) : null,
  };
}
