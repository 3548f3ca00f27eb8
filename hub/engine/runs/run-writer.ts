import { AppError } from '../../../shared/errors.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { writeSinkRows } from '../calls/row-sink.ts';
import { admitWaitingRuns } from '../limits/admission.ts';
import { wakeRuns } from '../queue/wake-runs.ts';
import type { RunFailure } from '../schema.ts';
import type { StepOutcome } from '../steps/outcome.ts';
import type { Retry, StepEnd } from './decide.ts';
import type { DoneStep } from './progress-writer.ts';
import type { EngineDependencies, RunContext } from './run-context.ts';
import { readRunPeople } from './run-people.ts';
import { lockLimits } from './run-rows.ts';
import {
  advanceRun,
  hasAdvanced,
  keepStateForRetry,
  releaseRun,
  secondsSince,
  stepUnderWay,
  writeLastStep,
  writeReceipt,
  writeRetry,
  writeStep,
} from './store.ts';

/** Writes the decisions about a run that this process holds. Every write checks the fence token of the claim first. */
export class RunWriter {
  readonly #deps: Pick<EngineDependencies, 'startChild' | 'logger'>;

  constructor(dependencies: Pick<EngineDependencies, 'startChild' | 'logger'>) {
    this.#deps = dependencies;
  }

  /**
   * Writes the end of a step in the cheapest way that `end.write` allows. A deferred write can happen after this resolves.
   * @param beganAt when the execution of the step began, by `performance.now()`.
   * @throws LeaseLost when another process has the run.
   */
  async writeEnd(ctx: RunContext, end: StepEnd, beganAt: number): Promise<void> {
    const { record, advance, durable, rows } = end;
    const { index, attempts: attempt } = record;
    const done: DoneStep = {
      record,
      called: ctx.called?.index === index ? ctx.called : null,
      beganAt,
      endedAt: performance.now(),
      rows,
      receipt: end.completesIntent ? { runId: ctx.runId, stepIndex: index, attempt, call: 0 } : null,
    };
    if (end.write === 'deferred') ctx.writes.defer(done);
    else if (end.write === 'alone' || !(await ctx.writes.writeBatched(done, { advance, durable })))
      await this.#writeAlone(ctx, end, done);
  }

  #writeAlone(ctx: RunContext, { advance, errorWorkflow, persist, durable }: StepEnd, done: DoneStep): Promise<void> {
    const { run } = ctx;
    const { ends, error } = advance;
    let tries = 0;
    return ctx.write(async (tx) => {
      tries += 1;
      // Computed before the first statement waits: the start of the step is stored relative to the start of the transaction.
      const beganAgo = secondsSince(done.beganAt);
      if (errorWorkflow !== null) await lockLimits(tx, errorWorkflow);
      // An earlier try may have been committed although its acknowledgement was lost.
      if (tries > 1 && (await hasAdvanced(tx, ctx, advance))) return;
      // The statements are pipelined in this order. If another process has the run, all of them are rolled back.
      const [, last] = await Promise.all([
        advanceRun(tx, ctx, advance),
        ends === null ? writeStep(tx, ctx, done.record, beganAgo) : writeLastStep(tx, ctx, done.record, beganAgo),
        done.receipt === null ? undefined : writeReceipt(tx, done.receipt),
        writeSinkRows(tx, done.rows),
        (async () => persist?.(tx))(),
      ]);
      if (ends !== null && run.parent_run_id !== null) await wakeRuns(tx, [run.parent_run_id], [run.id]);
      if (errorWorkflow !== null) await this.#startErrorWorkflow(tx, ctx, errorWorkflow, error);
      if (last?.othersMayWait === true) await admitWaitingRuns(tx, [run]);
    }, durable);
  }

  /** Starts the error workflow of a run in the transaction in which the run fails. A refused start does not keep the run from failing. */
  async #startErrorWorkflow(
    tx: Transaction,
    { run }: RunContext,
    workflowId: string,
    error: RunFailure | null,
  ): Promise<void> {
    const { id, workflow_id, attempt, trigger } = run;
    try {
      const { starters, authors } = await readRunPeople(tx, run.tenant_id, id);
      await this.#deps.startChild(tx, {
        tenantId: run.tenant_id,
        workflowId,
        trigger: { type: 'error', runId: id },
        context: null,
        payload: {
          run: { id, workflowId: workflow_id, attempt, trigger, error: error as unknown as JsonObject },
        },
        environment: run.environment,
        depth: run.depth + 1,
        requestedBy: starters,
        authoredBy: authors,
      });
    } catch (refusal) {
      if (!(refusal instanceof AppError) || refusal.code === 'unavailable') throw refusal;
      this.#deps.logger.info({ runId: id, workflowId, code: refusal.code }, 'an error workflow was not started');
    }
  }

  /** Writes a failed attempt and releases the run until the next attempt. */
  async writeRetry(ctx: RunContext, { index, attempt, error, afterSeconds }: Retry, beganAt: number): Promise<void> {
    const { run } = ctx;
    const failed = { index, attempt, error, beganAt, endedAt: performance.now() };
    await ctx.write(async (tx) => {
      await releaseRun(tx, ctx, run.tenant_id, afterSeconds);
      // An agent continues from its stored state, so that the calls of its tools are not repeated.
      const isKept = run.steps[index]?.type === 'agent' && (await keepStateForRetry(tx, run, failed));
      if (!isKept) await writeRetry(tx, ctx, failed);
    });
  }

  /** Releases the run until the delay of a step is over. */
  async writeDelay(
    ctx: RunContext,
    index: number,
    { attempt, seconds }: Extract<StepOutcome, { kind: 'delayed' }>,
  ): Promise<void> {
    await ctx.write(async (tx) => {
      await releaseRun(tx, ctx, ctx.run.tenant_id, seconds);
      await writeStep(tx, ctx, stepUnderWay(index, attempt, { wait: { kind: 'delay' } }));
    });
  }

  /** Writes the state of a step that is executed again immediately. */
  async writeState(ctx: RunContext, index: number, attempt: number, state: JsonObject): Promise<void> {
    await ctx.write(async (tx) => {
      await Promise.all([
        advanceRun(tx, ctx, { fromStep: index, nextStep: index, ends: null, error: null }),
        writeStep(tx, ctx, stepUnderWay(index, attempt, { state })),
      ]);
    });
  }
}
