import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { isCallOfStep, isLatestAttempt, reopenRun } from '../../../engine/index.ts';
import type { RunFailure, StepWait } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { LockedCommand, NodeCommandRow } from '../commands/index.ts';
import { textOfOutput } from './output-text.ts';

/**
 * Maximum time since a run failed for the run to be reopened, in seconds. After it, users no longer expect a change.
 */
const reopenWithinSeconds = 3_600;

interface Outcome {
  output?: NodeCommandRow['output'];
  error?: NonNullable<NodeCommandRow['error']>;
}

/** Error codes of commands that failed because the hub had closed their page or ended their run. */
const cleanUpCodes = ['page_closed', 'withdrawn'];

interface FailureContext {
  [column: string]: unknown;
  status: string;
  /** Whether the run failed at this step, so that no later step read its error. */
  failed_at_step: boolean;
  /** Whether the run failed recently at this step because of this error, and the failure had no consequences. */
  can_reopen: boolean;
  flow_id: string;
  step_status: string | null;
  /** Whether the command belongs to the current attempt of the step. */
  is_current: boolean | null;
  step_wait: StepWait | null;
  step_error: RunFailure | null;
}

/**
 * Records the result of a command that the hub ended because it received no result in time.
 * The result is written to the command and to the audit log.
 *
 * - A run that still waits for the command resumes.
 * - A run that failed only because of the missing result resumes if the command succeeded. It does not resume if a
 *   later attempt, a parent run or an error workflow used the failure, or if the time limit of the step has passed.
 * - If the run does not resume and the command succeeded, the failed step becomes succeeded. A retry then does not
 *   repeat the command. Any other ended step keeps its status and error.
 *
 * The caller holds the locks of the run and of the command.
 */
export async function recordLateResult(
  tx: Transaction,
  row: LockedCommand,
  status: 'succeeded' | 'failed',
  outcome: Outcome,
): Promise<void> {
  const { id: commandId, runId, stepIndex, tenantId, nodeId } = row;
  const code = row.error?.code ?? null;
  const context = await readFailureContext(tx, row, code);
  const isCleanUpError = isFinal(context.status) && cleanUpCodes.includes(outcome.error?.code ?? '');
  await tx.query(
    'correct_command',
    'UPDATE node_commands SET status = $2, output = $3, error = $4, overdue = false, finished_at = now() WHERE id = $1',
    [commandId, status, json(outcome.output), json(isCleanUpError ? (row.error ?? undefined) : outcome.error)],
  );
  const { step_wait: stepWait } = context;
  const wait = stepWait?.kind === 'retry' ? stepWait.of : stepWait;
  const isWaitedFor = wait?.kind === 'node_command' && wait.commandId === commandId && !isFinal(context.status);
  const isUsable =
    status === 'succeeded' &&
    context.failed_at_step &&
    context.is_current === true &&
    (await isLatestAttempt(tx, context.flow_id, runId));
  const reopens = isWaitedFor || (isUsable && context.can_reopen);
  const details: JsonObject = { commandId, type: row.type, stepIndex, endedBefore: code, status, runGoesOn: reopens };
  await recordAudit(tx, {
    tenantId,
    actor: `node:${nodeId}`,
    action: 'node_command.late_result',
    targetType: 'run',
    targetId: runId,
    details,
  });
  if (reopens) return reopenRun(tx, { tenantId, runId }, stepIndex, { kind: 'node_command', commandId });
  const isStepError = row.call === 0 && context.step_status === 'failed' && context.step_error?.code === code;
  if (isUsable && isStepError) await completeStep(tx, row, outcome.output ?? null);
}

async function readFailureContext(tx: Transaction, row: LockedCommand, code: string | null): Promise<FailureContext> {
  const { rows } = await tx.query<FailureContext>(
    'read_late_result_context',
    `SELECT r.status, r.flow_id, r.status = 'failed' AND r.next_step = $2 AS failed_at_step, s.status AS step_status, ${isCallOfStep} AS is_current, s.wait AS step_wait, s.error AS step_error,
       (r.status = 'failed' AND r.next_step = $2 AND r.error->>'code' = $3 AND (r.error->>'stepIndex')::int = $2
         AND r.finished_at > now() - make_interval(secs => $5) AND r.parent_run_id IS NULL AND coalesce($4::timestamptz > now(), true)
         AND NOT EXISTS (
           SELECT 1 FROM runs handler
           WHERE handler.tenant_id = r.tenant_id AND handler.id > r.id AND handler.trigger->>'type' = 'error' AND handler.trigger->>'runId' = r.id::text
         )) AS can_reopen
     FROM runs r LEFT JOIN run_steps s ON s.run_id = r.id AND s.index = $2 CROSS JOIN (SELECT $6::int AS call, $7::int AS attempt) c WHERE r.id = $1`,
    [row.runId, row.stepIndex, code, row.deadlineAt, reopenWithinSeconds, row.call, row.attempt],
  );
  return rows[0] as FailureContext;
}

/** Marks the step at which a run failed as succeeded, so that a retry continues after it. The run keeps its error. */
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
