import type { Transaction } from '../../platform/db/database.ts';
import { isAssertionFailed } from '../../platform/db/errors.ts';
import { pipelineCommit } from '../../platform/db/transaction.ts';
import type { Waiting } from '../calls/call.ts';
import { startChildRun } from '../calls/child-run.ts';
import { buildCommandRequest, sendCommand } from '../calls/node-call.ts';
import { StepFailure } from '../failure.ts';
import { runTopic } from '../queue/wake-runs.ts';
import type { StepWait } from '../schema.ts';
import type { StepOutcome } from '../steps/outcome.ts';
import type { EngineDependencies, RunContext } from './run-context.ts';
import { lockLimits } from './run-rows.ts';
import { isSuspended, stepUnderWay, suspendPipelined, suspendRun, writeStep } from './store.ts';

/**
 * Suspends a run, and creates the command, approval or child run that it waits for in the same transaction.
 * @returns why the command, approval or child run could not be created; null when the run is suspended.
 * @throws LeaseLost when another process has the run.
 */
export async function suspend(
  deps: EngineDependencies,
  ctx: RunContext,
  index: number,
  outcome: Extract<StepOutcome, { kind: 'waiting' }>,
): Promise<StepFailure | null> {
  const { run } = ctx;
  const { attempt, state, wakeInSeconds } = outcome;
  const status = isForApproval(outcome) ? 'waiting_approval' : 'running';
  const until = { step: index, status, wakeInSeconds } as const;
  const writeWait = (tx: Transaction, wait: StepWait) =>
    writeStep(tx, ctx, stepUnderWay(index, attempt, { status, wait, state }));
  let tries = 0;
  const write = async (tx: Transaction): Promise<void> => {
    tries += 1;
    if (status === 'waiting_approval') tx.changed(runTopic(run.id));
    if (tries === 1 && outcome.for === 'command') {
      const statements = [
        suspendPipelined(tx, ctx, run, until),
        deps.nodes.dispatchPipelined(tx, buildCommandRequest(outcome)),
        writeWait(tx, { kind: 'node_command', commandId: outcome.request.id }),
      ];
      pipelineCommit(tx);
      await Promise.all(statements);
      return;
    }
    // Lock order: the limits of the child run's workflow come before the run.
    if (outcome.for === 'child') await lockLimits(tx, outcome.request.workflowId);
    if (tries > 1 && (await isSuspended(tx, ctx))) {
      // The commit succeeded, but its acknowledgement was lost, and with it the event that delivers the command.
      if (outcome.for === 'command') await deps.nodes.takeBack(tx, outcome.request.nodeId, outcome.request.id);
      return;
    }
    const [, wait] = await Promise.all([suspendRun(tx, ctx, run, until), create(tx, deps, ctx, outcome)]);
    await writeWait(tx, wait);
  };
  // A read-only command can be sent again, so its commit does not wait until the data is on disk.
  const durable = outcome.for !== 'command' || outcome.request.command.acts;
  try {
    await ctx.write(write, durable).catch((error: unknown) => {
      // The second try waits for each result and finds the reason.
      if (isAssertionFailed(error)) return ctx.write(write, durable);
      throw error;
    });
  } catch (error) {
    if (error instanceof StepFailure) return error;
    throw error;
  }
  return null;
}

const isForApproval = (waiting: Waiting): boolean =>
  waiting.for === 'approval' || (waiting.for === 'open' && waiting.wait.kind === 'approval');

/** Creates what a step waits for, unless it exists. @throws StepFailure when the node or the workflow cannot be used. */
async function create(tx: Transaction, deps: EngineDependencies, ctx: RunContext, waiting: Waiting): Promise<StepWait> {
  switch (waiting.for) {
    case 'command':
      return { kind: 'node_command', commandId: await sendCommand(tx, deps.nodes, waiting) };
    case 'approval':
      return { kind: 'approval', approvalId: await deps.approvals.create(tx, waiting.request) };
    case 'child':
      return { kind: 'run', runId: await startChildRun(tx, deps, ctx, waiting) };
    case 'open':
      return waiting.wait;
  }
}
