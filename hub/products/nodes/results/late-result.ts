import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { isCallOfStep, isLatestAttempt, reopenRun } from '../../../engine/index.ts';
import type { PromisedJob } from '../../../engine/index.ts';
import type { RunFailure, StepWait } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { LockedCommand, NodeCommandRow } from '../commands/index.ts';
import { textOfOutput } from './output-text.ts';

/** A run that failed longer ago is not taken up again: whoever saw it fail has gone on without it. */
const reopenWithinSeconds = 3_600;

interface Outcome {
  output?: NodeCommandRow['output'];
  error?: NonNullable<NodeCommandRow['error']>;
}

/** What a device reports of a command whose page or whose run the hub itself ended meanwhile. */
const codesOfCleanUp = ['page_closed', 'withdrawn'];

interface Circumstances {
  [column: string]: unknown;
  status: string;
  /** Whether the run failed at this step, so that no later step read its error. */
  failed_there: boolean;
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
 * Records the result of a command that the hub had ended because no result came. The row of the command and the audit log show it. A run that still
 * waits for the command goes on. A run that failed only because of the missing result goes on if the command succeeded, unless the failure had
 * consequences: a later attempt, a parent run or an error workflow that used it, or the end of the step's own time.
 * A step that has ended keeps its status and error. One exception: where a run failed at a step and its command succeeded, the step becomes
 * succeeded, so that a retry does not repeat the command. The caller holds the locks of the run and the command.
 */
export async function takeLateResult(
  tx: Transaction,
  row: LockedCommand,
  status: 'succeeded' | 'failed',
  outcome: Outcome,
): Promise<PromisedJob[]> {
  const { id: commandId, runId, stepIndex, tenantId, nodeId } = row;
  const code = row.error?.code ?? null;
  const circumstances = await readCircumstances(tx, row, code);
  const followsFromCleanUp = isFinal(circumstances.status) && codesOfCleanUp.includes(outcome.error?.code ?? '');
  await tx.query(
    'correct_command',
    'UPDATE node_commands SET status = $2, output = $3, error = $4, overdue = false, finished_at = now() WHERE id = $1',
    [commandId, status, json(outcome.output), json(followsFromCleanUp ? (row.error ?? undefined) : outcome.error)],
  );
  const { step_wait: stepWait } = circumstances;
  const wait = stepWait?.kind === 'retry' ? stepWait.of : stepWait;
  const isWaitedFor = wait?.kind === 'node_command' && wait.commandId === commandId && !isFinal(circumstances.status);
  const isNeeded =
    status === 'succeeded' &&
    circumstances.failed_there &&
    circumstances.is_current === true &&
    (await isLatestAttempt(tx, circumstances.flow_id, runId));
  const reopens = isWaitedFor || (isNeeded && circumstances.failed_of_it);
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
    row.call === 0 && circumstances.step_status === 'failed' && circumstances.step_error?.code === code;
  if (isNeeded && isStepOfIt) await completeStep(tx, row, outcome.output ?? null);
  return [];
}

async function readCircumstances(tx: Transaction, row: LockedCommand, code: string | null): Promise<Circumstances> {
  const { rows } = await tx.query<Circumstances>(
    'late_result_circumstances',
    `SELECT r.status, r.flow_id, r.status = 'failed' AND r.next_step = $2 AS failed_there, s.status AS step_status, ${isCallOfStep} AS is_current, s.wait AS step_wait, s.error AS step_error,
       (r.status = 'failed' AND r.next_step = $2 AND r.error->>'code' = $3 AND (r.error->>'stepIndex')::int = $2
         AND r.finished_at > now() - make_interval(secs => $5) AND r.parent_run_id IS NULL AND coalesce($4::timestamptz > now(), true)
         AND NOT EXISTS (
           SELECT 1 FROM runs handler
           WHERE handler.tenant_id = r.tenant_id AND handler.id > r.id AND handler.trigger->>'type' = 'error' AND handler.trigger->>'runId' = r.id::text
         )) AS failed_of_it
     FROM runs r LEFT JOIN run_steps s ON s.run_id = r.id AND s.index = $2 CROSS JOIN (SELECT $6::int AS call, $7::int AS attempt) c WHERE r.id = $1`,
    [row.runId, row.stepIndex, code, row.deadlineAt, reopenWithinSeconds, row.call, row.attempt],
  );
  return rows[0] as Circumstances;
}

/** Marks the step at which a run failed as succeeded, so that a retry goes on after it. The error of the run stays. */
async function completeStep(tx: Transaction, { runId, stepIndex }: LockedCommand, output: JsonValue): Promise<void> {
  await tx.query(
    'complete_step',
    `UPDATE run_steps SET status = 'succeeded', output = $3::jsonb, output_text = $4::text, error = NULL, output_bytes = coalesce(octet_length($3::jsonb::text), 0) + octet_length($4::text) WHERE run_id = $1 AND index = $2`,
    [runId, stepIndex, json(output), textOfOutput(output).slice(0, 200_000)],
  );
}

const isFinal = (status: string) => status === 'succeeded' || status === 'failed' || status === 'cancelled';

function json(value: JsonValue | RunFailure | { code: string; message: string } | undefined): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}
