import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { isCallOfStep, isLatestAttempt, reopenRun } from '../../engine/index.ts';
import type { PromisedJob } from '../../engine/index.ts';
import type { RunFailure, StepWait } from '../../engine/schema.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { recordAudit } from '../core/audit/index.ts';
import type { LockedCommand, NodeCommandRow } from './command-rows.ts';
import { textOfOutput } from './output-text.ts';

/** A run that failed longer ago is not taken up again: whoever saw it fail has gone on without it. */
const reopenWithinSeconds = 3_600;

interface Outcome {
  output?: NodeCommandRow['output'];
  error?: NonNullable<NodeCommandRow['error']>;
}

interface Circumstances {
  [column: string]: unknown;
  status: string;
  /** Whether the run failed at this step, for this error, lately, and nothing came of it. */
  failed_of_it: boolean;
  flow_id: string;
  step_status: string | null;
  /** Whether the command belongs to the step as it stands, and not to an earlier attempt. */
  is_current: boolean | null;
  step_wait: StepWait | null;
  step_error: RunFailure | null;
}

/**
 * Takes the result of a command that the hub had ended for want of one: its row, the log of changes and the step of its run show
 * what is true. A run that waits for it still, or failed for nothing else, goes on from there as if it had come in time, unless
 * that failure had consequences: a later attempt, a parent or an error workflow that went on with it, or the end of the step's own
 * time. The caller holds the locks of the run and the command.
 */
export async function takeLateResult(
  tx: Transaction,
  row: LockedCommand,
  status: 'succeeded' | 'failed',
  outcome: Outcome,
): Promise<PromisedJob[]> {
  const { id: commandId, runId, stepIndex, tenantId, nodeId } = row;
  const code = row.error?.code ?? null;
  await tx.query(
    'correct_command',
    'UPDATE node_commands SET status = $2, output = $3, error = $4, overdue = false, finished_at = now() WHERE id = $1',
    [commandId, status, json(outcome.output), json(outcome.error)],
  );
  const circumstances = await readCircumstances(tx, row, code);
  const { step_wait: stepWait } = circumstances;
  const wait = stepWait?.kind === 'retry' ? stepWait.of : stepWait;
  const isWaitedFor = wait?.kind === 'node_command' && wait.commandId === commandId && !isFinal(circumstances.status);
  const reopens =
    isWaitedFor ||
    (circumstances.failed_of_it &&
      circumstances.is_current === true &&
      (await isLatestAttempt(tx, circumstances.flow_id, runId)));
  const details: JsonObject = { commandId, type: row.type, stepIndex, endedBefore: code, status, runGoesOn: reopens };
  await recordAudit(tx, {
    tenantId,
    actor: `node:${nodeId}`,
    action: 'node_command.late_result',
    targetType: 'run',
    targetId: runId,
    details,
  });
  if (reopens) return [await reopenRun(tx, { tenantId, runId }, stepIndex, { kind: 'node_command', commandId })];
  const isStepOfIt =
    row.call === 0 &&
    circumstances.step_status === 'failed' &&
    circumstances.is_current === true &&
    circumstances.step_error?.code === code;
  if (isStepOfIt) await correctStep(tx, row, status, outcome);
  return [];
}

async function readCircumstances(tx: Transaction, row: LockedCommand, code: string | null): Promise<Circumstances> {
  const { rows } = await tx.query<Circumstances>(
    'late_result_circumstances',
    `SELECT r.status, r.flow_id, s.status AS step_status, ${isCallOfStep} AS is_current, s.wait AS step_wait, s.error AS step_error,
       (r.status = 'failed' AND r.next_step = $2 AND r.error->>'code' = $3 AND (r.error->>'stepIndex')::int = $2
         AND r.finished_at > now() - make_interval(secs => $5) AND r.parent_run_id IS NULL AND coalesce($4::timestamptz > now(), true)
         AND NOT EXISTS (
           SELECT 1 FROM automation_policies p JOIN runs handler ON handler.tenant_id = r.tenant_id AND handler.workflow_id = p.error_workflow_id AND handler.id > r.id
           WHERE p.tenant_id = r.tenant_id AND handler.trigger->>'type' = 'error' AND handler.trigger->>'runId' = r.id::text
         )) AS failed_of_it
     FROM runs r LEFT JOIN run_steps s ON s.run_id = r.id AND s.index = $2 CROSS JOIN (SELECT $6::int AS call, $7::int AS attempt) c WHERE r.id = $1`,
    [row.runId, row.stepIndex, code, row.deadlineAt, reopenWithinSeconds, row.call, row.attempt],
  );
  return rows[0] as Circumstances;
}

/** Shows at a step of a run that went on or stays ended what its command came to: a retry goes on after a step that succeeded. */
async function correctStep(
  tx: Transaction,
  { runId, stepIndex }: LockedCommand,
  status: 'succeeded' | 'failed',
  { output, error }: Outcome,
): Promise<void> {
  const text = status === 'succeeded' ? textOfOutput(output ?? null).slice(0, 200_000) : null;
  const failure = error === undefined ? null : { ...error, stepIndex };
  await tx.query(
    'correct_step',
    'UPDATE run_steps SET status = $3, output = $4::jsonb, output_text = $5::text, error = $6, output_bytes = coalesce(octet_length($4::jsonb::text), 0) + coalesce(octet_length($5::text), 0) WHERE run_id = $1 AND index = $2',
    [runId, stepIndex, status, json(output), text, json(failure)],
  );
}

const isFinal = (status: string) => status === 'succeeded' || status === 'failed' || status === 'cancelled';

function json(value: JsonValue | RunFailure | { code: string; message: string } | undefined): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}
