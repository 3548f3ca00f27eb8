import { z } from 'zod';
import { AppError, errorCodes } from '../../../shared/errors.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { heapOfText } from '../../platform/process/memory-budget.ts';
import { StepFailure } from '../failure.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import { smallOutputBytes } from '../runs/run-outputs.ts';
import { readRunPeople } from '../runs/run-people.ts';
import type { SpawnSkill } from '../skill.ts';
import { maxRunDepth } from '../starts/accept-runs.ts';
import type { CallOutcome, CallSite, ChildWait } from './call.ts';

/** How often a run checks its child run if no wake-up arrives, in seconds. */
const childPollSeconds = 300;

const spawnInput = z.object({
  workflowId: z.string(),
  context: z.string().optional(),
  payload: z.record(z.string(), z.unknown()).optional(),
});

/** Builds the wait for a new child run. @throws StepFailure `depth_exceeded`. */
export function buildChildWait(
  { run }: RunContext,
  { timeoutSeconds = Infinity }: CallSite,
  skill: SpawnSkill,
  input: Record<string, unknown>,
): ChildWait {
  const { workflowId, context, payload } = spawnInput.parse(input);
  if (run.depth + 1 >= maxRunDepth)
    throw new StepFailure('depth_exceeded', `${run.depth + 1} runs each started the next; a loop is ended here.`, {
      retryable: false,
    });
  return {
    kind: 'waiting',
    for: 'child',
    wakeInSeconds: Math.min(childPollSeconds, timeoutSeconds),
    skillId: skill.id,
    request: {
      tenantId: run.tenant_id,
      workflowId,
      trigger: { type: 'subagent', parentRunId: run.id },
      parentRunId: run.id,
      depth: run.depth + 1,
      context: context ?? null,
      payload: (payload as JsonObject | undefined) ?? null,
      environment: run.environment,
    },
  };
}

/** Starts a child run and returns its id. @throws StepFailure `subagent_refused` if its workflow cannot be started. */
export async function startChildRun(
  tx: Transaction,
  { startChild }: Pick<EngineDependencies, 'startChild'>,
  { run }: RunContext,
  { skillId, request }: ChildWait,
): Promise<string> {
  try {
    const { starters, authors } = await readRunPeople(tx, run.tenant_id, run.id);
    const { runId } = await startChild(tx, { ...request, requestedBy: starters, authoredBy: authors });
    return runId;
  } catch (error) {
    if (error instanceof AppError && error.code !== 'unavailable')
      throw new StepFailure('subagent_refused', `${skillId} could not start its workflow: ${error.message}`, {
        retryable: errorCodes[error.code].retryable,
        cause: error,
      });
    throw error;
  }
}

interface ChildRow {
  [column: string]: unknown;
  status: string;
  error: { code: string; message: string } | null;
  /** Null also if the output exceeds the requested size. */
  output: JsonValue;
  output_text: string | null;
  /** Size of output and text by `outputBytesOf`, in bytes. Null if no step succeeded. */
  output_bytes: number | null;
  /** Seconds since the child run was accepted, by the clock of the database. The wake-up of the parent run uses the same clock. */
  age_seconds: number;
}

/** Reads a child run, and the output of its last successful step if the output has at most `maxOutputBytes`. */
const readChild = (ctx: RunContext, runId: string, maxOutputBytes: number): Promise<ChildRow | undefined> =>
  ctx.read(async (tx) => {
    const { rows } = await tx.query<ChildRow>(
      'read_child',
      `SELECT r.status, r.error, s.output_bytes, extract(epoch from now() - r.queued_at)::float8 AS age_seconds, CASE WHEN s.output_bytes <= $2 THEN s.output END AS output,
         CASE WHEN s.output_bytes <= $2 THEN s.output_text END AS output_text
       FROM runs r
       LEFT JOIN LATERAL (SELECT output, output_text, output_bytes FROM run_steps WHERE run_id = r.id AND status = 'succeeded' ORDER BY index DESC LIMIT 1) s ON true
       WHERE r.id = $1`,
      [runId, maxOutputBytes],
    );
    return rows[0];
  });

/**
 * Continues a call whose child run has ended, or waits again. A child run that has not ended after `timeoutSeconds` is not cancelled.
 * @throws StepFailure if the child run failed, was cancelled or deleted, or did not end in time.
 */
export async function resumeChild(ctx: RunContext, site: CallSite, runId: string): Promise<CallOutcome> {
  const { timeoutSeconds = Infinity } = site;
  let child = await readChild(ctx, runId, smallOutputBytes);
  const outputBytes = child?.output_bytes ?? 0;
  if (child?.status === 'succeeded' && outputBytes > smallOutputBytes) {
    await site.reserve(heapOfText(outputBytes));
    child = await readChild(ctx, runId, outputBytes);
  }
  if (child === undefined) throw new StepFailure('subagent_failed', `The run ${runId} is gone.`, { retryable: false });
  switch (child.status) {
    case 'succeeded':
      return {
        kind: 'done',
        output: { runId, status: 'succeeded', output: child.output ?? null },
        outputText: child.output_text ?? '',
        effect: 'pure',
        rows: [],
      };
    case 'failed':
      throw new StepFailure(
        'subagent_failed',
        `The run ${runId} failed: ${child.error?.message ?? 'it gave no reason'}`,
        { retryable: false },
      );
    case 'cancelled':
      throw new StepFailure('subagent_cancelled', `The run ${runId} was cancelled.`, { retryable: false });
    default: {
      const remainingSeconds = timeoutSeconds - child.age_seconds;
      // Not retryable: a retry would start a second child run while the first one continues.
      if (remainingSeconds <= 0)
        throw new StepFailure(
          'timeout',
          `The run ${runId} did not end within ${timeoutSeconds} s. It continues; cancel it if it must not.`,
          { retryable: false },
        );
      return {
        kind: 'waiting',
        for: 'open',
        wakeInSeconds: Math.min(childPollSeconds, remainingSeconds),
        wait: { kind: 'run', runId },
      };
    }
  }
}
