import { retryOnOutage } from '../../platform/db/outage.ts';
import { refuseOpenCall } from '../agent/agent-state.ts';
import { LeaseLost, toStepFailure } from '../failure.ts';
import type { StepFailure } from '../failure.ts';
import { admitClaimed } from '../limits/admit-claimed.ts';
import { VersionSteps } from '../queue/claim-runs.ts';
import { ExecutingRuns } from '../queue/executing-runs.ts';
import { cancelTopic } from '../queue/wake-runs.ts';
import { maxWaitMs } from '../queue/worker-pool.ts';
import { stepsOf } from '../skills/skill-run.ts';
import type { StepOutcome } from '../steps/outcome.ts';
import { callOf, runStep } from '../steps/steps.ts';
import { decide, deathsAt, outcomeOfFailedWrite, refusalOf } from './decide.ts';
import type { FinalOutcome, RetryPolicy, StepEnd } from './decide.ts';
import { outputUses } from './output-uses.ts';
import { ProgressWriter } from './progress-writer.ts';
import type { EngineDependencies, RunContext, Slot } from './run-context.ts';
import { otherOutputBytesOf, setAside, setAsideInput, smallOutputBytes, withOutput } from './run-outputs.ts';
import { RunTrace } from './run-trace.ts';
import { RunWriteQueue } from './run-write-queue.ts';
import { RunWriter } from './run-writer.ts';
import { releaseRun } from './store.ts';
import type { ClaimedRun, RunClaim, StepRecord, StepRow } from './store.ts';
import { suspend } from './suspend.ts';

/** The slot of a run that is executed without a worker pool. */
const unsharedSlot: Slot = { outside: (work) => work(), release: () => undefined };

/**
 * Executes runs that this process holds, step by step. `runStep` executes a step, `decide` decides what follows its outcome, and
 * `RunWriter` writes the decision. Every write contains the fence token of the claim, so a process that has lost the run writes
 * nothing. A run that waits for an approval, a node, a child run or a time is released until then.
 */
export class Engine {
  readonly #deps: EngineDependencies;
  readonly #progress: ProgressWriter;
  readonly #writer: RunWriter;
  readonly #versionSteps: VersionSteps;
  /** The runs that this engine executes. */
  readonly executing = new ExecutingRuns();

  constructor(dependencies: EngineDependencies) {
    this.#deps = dependencies;
    this.#progress = new ProgressWriter(dependencies.db);
    this.#writer = new RunWriter(dependencies);
    this.#versionSteps = new VersionSteps(dependencies.db);
  }

  /**
   * Executes a run that this process holds until the run ends or waits.
   * @param shutdown aborts when this process stops. The run is then released for another process.
   * @param slot the slot of the run in the worker pool, which the run lends to other runs while it waits for an external response.
   */
  async execute(claimed: ClaimedRun, shutdown: AbortSignal, slot: Slot = unsharedSlot): Promise<void> {
    if (performance.now() - (claimed.held_since ?? 0) > maxWaitMs) {
      // The run may have been cancelled and its entitlements may have changed. The next claim reads both again.
      await this.releaseClaim(claimed);
      return;
    }
    const claim: RunClaim = { runId: claimed.id, fence: claimed.fence };
    const { runId } = claim;
    using entry = this.executing.add(claim);
    const { lost } = entry;
    await this.#versionSteps.complete(claimed);
    setAsideInput(claimed);
    const run = { ...claimed, steps: stepsOf(claimed) };
    const signal = AbortSignal.any([lost, shutdown]);
    const working: RunContext['working'] = (step, work) => this.#deps.mark.during({ ...claim, step }, work);
    const trace = this.#deps.tracing === null ? null : new RunTrace(this.#deps.tracing, run);
    using memory = this.#deps.memory.open(run.tenant_id);
    using writes = new RunWriteQueue({
      db: this.#deps.db,
      logger: this.#deps.logger,
      progress: this.#progress,
      run,
      // Not `signal`: what has happened is written also while the process stops.
      lost,
      working,
      onWritten: () => trace?.written(),
    });
    const ctx: RunContext = {
      ...claim,
      slot,
      run,
      trace,
      // The input of a skill that a caller runs directly contains no templates.
      uses: outputUses(claimed.steps),
      memory,
      results: new Map(run.results.map((row) => [row.index, row])),
      called: null,
      signal,
      working,
      read: (work) =>
        this.#retryOnOutage(runId, signal, () => this.#deps.db.workspace(run.tenant_id, work, { durable: false })),
      writes,
      write: (work, durable = true) => writes.write(work, durable),
    };
    using _cancelled = this.#deps.events.subscribe(cancelTopic(runId), () =>
      this.executing.lose(claim, new LeaseLost('the run was cancelled')),
    );
    try {
      const isStarted = await this.#retryOnOutage(runId, signal, () => admitClaimed(this.#deps.db, run));
      if (isStarted && (await this.#refuseSteps(ctx))) await this.#executeSteps(ctx);
    } catch (error) {
      const loss = [error, signal.reason as unknown].find((each) => each instanceof LeaseLost);
      if (loss !== undefined) {
        // The message of another error can contain data of the workspace, so it is not logged.
        this.#deps.logger.info({ runId, reason: loss.message }, 'stopped executing a run that another process has');
        // After a crash of the database, the run can have the fence token of this process again.
        await this.#release(run, {});
      } else if (shutdown.aborted) {
        await writes.catchUp().catch(() => undefined);
        await this.#release(run, {});
      } else {
        throw error;
      }
    }
  }

  #retryOnOutage<Result>(runId: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    return retryOnOutage(signal, work, (error) =>
      this.#deps.logger.warn({ err: error, runId, part: 'database' }, 'a run waits for the database'),
    );
  }

  /** Fails the next steps as long as they must not be executed. Returns whether the run continues. */
  async #refuseSteps(ctx: RunContext): Promise<boolean> {
    const { run } = ctx;
    for (let failure = refusalOf(run); failure !== null; failure = refusalOf(run)) {
      const attempt = ctx.results.get(run.next_step)?.attempts ?? 1;
      const outcome = { kind: 'failed', attempt, failure } as const;
      if ((await this.#conclude(ctx, run.next_step, outcome)) === 'stop') return false;
      run.next_step += 1;
      run.lost_leases = 0;
    }
    return true;
  }

  async #executeSteps(ctx: RunContext): Promise<void> {
    const { run } = ctx;
    for (let index = run.next_step; index < run.steps.length; index += 1) {
      ctx.signal.throwIfAborted();
      // The steps before this one may not have been written when the processes ended in this one.
      const deadly = index === run.next_step ? null : deathsAt(run, index);
      const next =
        deadly === null
          ? await this.#executeTraced(ctx, index)
          : await this.#conclude(ctx, index, { kind: 'failed', attempt: 1, failure: deadly });
      if (next === 'stop') return;
      if (next === 'repeat') index -= 1;
    }
  }

  #executeTraced(ctx: RunContext, index: number): Promise<'next' | 'repeat' | 'stop'> {
    const execute = () => this.#executeStep(ctx, index);
    const startedAt = ctx.results.get(index)?.started_at ?? null;
    return ctx.trace === null ? execute() : ctx.trace.withinStep(index, startedAt, execute);
  }

  /** Executes a step and writes what follows its outcome: the next step, the same step again, or no step for now. */
  async #executeStep(ctx: RunContext, index: number): Promise<'next' | 'repeat' | 'stop'> {
    const beganAt = performance.now();
    const outcome = await this.#runStep(ctx, index);
    if (outcome.kind === 'delayed') {
      await this.#writer.writeDelay(ctx, index, outcome);
      return 'stop';
    }
    if (outcome.kind !== 'waiting') return this.#conclude(ctx, index, outcome, beganAt);
    const refusal = await suspend(this.#deps, ctx, index, outcome);
    if (refusal === null) return 'stop';
    const { attempt, state } = outcome;
    if (state === null || ctx.run.steps[index]?.type !== 'agent') {
      const failed = { kind: 'failed', attempt, failure: refusal, ...(state === null ? {} : { state }) } as const;
      return this.#conclude(ctx, index, failed, beganAt);
    }
    // The model of an agent receives the refusal as the result of its tool call.
    const answered = ctx.working(index, () => refuseOpenCall(state, refusal));
    await this.#writer.writeState(ctx, index, attempt, answered);
    ctx.results.set(index, resultOf({ index, status: 'running', attempts: attempt, state: answered }));
    return 'repeat';
  }

  async #runStep(ctx: RunContext, index: number): Promise<StepOutcome> {
    const attempt = ctx.results.get(index)?.attempts ?? 1;
    try {
      return await runStep(this.#deps, ctx, index);
    } catch (error) {
      // A lost run is not a failure of the step.
      if (ctx.signal.aborted) throw ctx.signal.reason;
      if (error instanceof LeaseLost) throw error;
      return { kind: 'failed', attempt: attemptOf(error) ?? attempt, failure: this.#failureOf(ctx, index, error) };
    }
  }

  #failureOf(ctx: RunContext, index: number, error: unknown): StepFailure {
    const failure = toStepFailure(error);
    if (failure.code === 'internal')
      this.#deps.logger.error({ err: error, runId: ctx.runId, stepIndex: index }, 'a step failed unexpectedly');
    return failure;
  }

  /** Writes what follows an outcome: the next attempt, the next step or the end of the run. */
  async #conclude(
    ctx: RunContext,
    index: number,
    outcome: FinalOutcome,
    beganAt = performance.now(),
  ): Promise<'next' | 'stop'> {
    const { run } = ctx;
    const situation = {
      run,
      index,
      retry: this.#retryPolicyOf(ctx, index),
      otherOutputBytes: otherOutputBytesOf(ctx, index),
    };
    const decision = ctx.working(index, () => decide(situation, outcome));
    if (decision.kind === 'retry') {
      await this.#writer.writeRetry(ctx, decision, beganAt);
      return 'stop';
    }
    const { record, advance } = decision;
    // A large output keeps the slot until it is written, because the write copies the output.
    if (advance.ends !== null && (record.outputBytes ?? 0) <= smallOutputBytes) ctx.slot.release();
    try {
      await this.#writer.writeEnd(ctx, decision, beganAt);
    } catch (error) {
      if (outcome.kind !== 'succeeded' || error instanceof LeaseLost || ctx.signal.aborted) throw error;
      return this.#conclude(ctx, index, outcomeOfFailedWrite(outcome, this.#failureOf(ctx, index, error)), beganAt);
    }
    ctx.results.set(index, withOutput(resultOf({ ...record, state: null }), record.output, record.outputText));
    ctx.called = null;
    if (advance.ends === null) await setAside(ctx, index + 1);
    this.#reportEnd(ctx, decision);
    return advance.ends === null ? 'next' : 'stop';
  }

  /** The retry policy of a step: its own, otherwise that of its skill. */
  #retryPolicyOf({ run }: RunContext, index: number): RetryPolicy | undefined {
    const step = run.steps[index];
    if (step?.retry !== undefined) return step.retry;
    if (step === undefined || step.type === 'agent' || step.type === 'approval') return undefined;
    const skill = this.#deps.skills.find(callOf(step).skillId);
    return skill?.kind === 'direct' ? skill.retry : undefined;
  }

  /** Reports the end of a step, and that of its run, to traces and metrics. */
  #reportEnd({ run, trace }: RunContext, { record, advance }: StepEnd): void {
    const { index, status, attempts, error } = record;
    const step = run.steps[index];
    trace?.stepEnded(index, {
      type: step?.type,
      what:
        step === undefined || step.type === 'agent' || step.type === 'approval'
          ? (step?.type ?? 'step')
          : callOf(step).skillId,
      status,
      attempts,
      ...(error === null ? {} : { code: error.code }),
    });
    if (advance.ends === null) return;
    trace?.ended(advance.ends, advance.error?.code);
    this.#deps.onFinished(advance.ends, (Date.now() - run.queued_at.getTime()) / 1000);
  }

  /** Releases a run that this process holds, so that another process can execute it. Never rejects. */
  async releaseClaim(run: ClaimedRun): Promise<void> {
    // A run that started with this claim starts again with the next one, under the limits of that time.
    await this.#release(run, { isUnstarted: run.is_unstarted === true });
  }

  async #release(
    { id: runId, fence, tenant_id: tenantId }: ClaimedRun,
    { isUnstarted = false }: { isUnstarted?: boolean },
  ): Promise<void> {
    try {
      await this.#deps.db.workspace(tenantId, (tx) => releaseRun(tx, { runId, fence }, tenantId, 0, { isUnstarted }), {
        durable: false,
      });
    } catch (error) {
      // Another process has the run, or it has ended.
      if (error instanceof LeaseLost) return;
      this.#deps.logger.warn({ err: error, runId }, 'could not release a run; a worker continues it within a minute');
    }
  }
}

/** The result of a step without its output. */
const resultOf = ({
  index,
  status,
  attempts,
  state,
  outputBytes = 0,
  error = null,
}: Pick<StepRecord, 'index' | 'status' | 'attempts' | 'state'> & Partial<StepRecord>): StepRow => ({
  index,
  status,
  attempts,
  wait: null,
  state,
  output: null,
  output_text: null,
  output_bytes: outputBytes,
  error,
  started_at: null,
});

function attemptOf(error: unknown): number | undefined {
  return error instanceof Error && 'attempt' in error && typeof error.attempt === 'number' ? error.attempt : undefined;
}
