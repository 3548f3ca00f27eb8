import type { Step } from '../../../shared/contract/automations/steps.ts';
import { AppError } from '../../../shared/errors.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { throughOutages } from '../../platform/db/outage.ts';
import { refuseOpenCall } from '../agent/agent-state.ts';
import { writeSunk } from '../calls/row-sink.ts';
import { LeaseLost, StepFailure, toStepFailure } from '../failure.ts';
import { admitWaitingRuns } from '../limits/admission.ts';
import { admitClaimed } from '../limits/admit-claimed.ts';
import { VersionSteps } from '../queue/claim-runs.ts';
import { ExecutingRuns } from '../queue/executing-runs.ts';
import { cancelTopic, wakeRuns } from '../queue/wake-runs.ts';
import { maxWaitMs } from '../queue/worker-pool.ts';
import type { RunFailure } from '../schema.ts';
import type { SkillOutcome } from '../skill.ts';
import { stepsOf } from '../skills/skill-run.ts';
import type { StepOutcome } from '../steps/outcome.ts';
import { callOf, runStep } from '../steps/steps.ts';
import { outputUses } from './output-uses.ts';
import { ProgressWriter } from './progress-writer.ts';
import type { DoneStep } from './progress-writer.ts';
import type { EngineDependencies, RunContext, Slot } from './run-context.ts';
import {
  assertOutputFits,
  outputBytesOf,
  outputOfFailure,
  setAside,
  setAsideInput,
  smallOutputBytes,
  withOutput,
} from './run-outputs.ts';
import { readRunPeople } from './run-people.ts';
import { lockLimits } from './run-rows.ts';
import { RunTrace } from './run-trace.ts';
import { RunWrites } from './run-writes.ts';
import {
  advanceRun,
  hasAdvanced,
  keepStateForRetry,
  releaseRun,
  secondsSince,
  writeLastStep,
  writeReceipt,
  writeRetry,
  stepUnderWay,
  writeStep,
} from './store.ts';
import type { ClaimedRun, RunClaim, RunAdvance, StepRecord, StepRow } from './store.ts';
import { suspend } from './suspend.ts';

/** Leases in a row that may run out, with no step done between, before a run is held to kill its workers. */
const maxLostLeases = 5;
/** Ends of a process in the midst of its work on one step, after which the run is held to cause them. */
const maxProcessDeaths = 2;
const maxOutputTextLength = 200_000;

/** How a step ended, as it is written. */
interface StepEnding {
  advance: RunAdvance;
  done: DoneStep;
  persist: SkillOutcome['persist'];
  /** Whether it may be written with what comes next: doing it again, with its key where it has one, does no harm. */
  repeatable: boolean;
  /** Whether its commit waits for the disk. */
  durable: boolean;
}

/** The place of a run that shares none. */
const unsharedSlot: Slot = { outside: (work) => work(), release: () => undefined };

/**
 * Runs workflows. A run is claimed with a fence token and executed step by step. Each write names the fence, so that a worker
 * that was overtaken writes nothing. A run that waits for a person, a node or a time leaves the worker.
 *
 * Over 300 lines: it is one state machine; parts of it elsewhere would hide the order of its writes, which is what survives a crash.
 */
export class Engine {
  readonly #deps: EngineDependencies;
  readonly #progress: ProgressWriter;
  readonly #versionSteps: VersionSteps;
  /** The runs that this engine executes. */
  readonly executing = new ExecutingRuns();

  constructor(dependencies: EngineDependencies) {
    this.#deps = dependencies;
    this.#progress = new ProgressWriter(dependencies.db);
    this.#versionSteps = new VersionSteps(dependencies.db);
  }

  /**
   * Executes a run that this process holds, until it ends or waits.
   * @param shutdown aborts when this worker must go: the run is given back for another to take.
   * @param place what it may give to others while it waits for an answer from outside.
   */
  async execute(claimed: ClaimedRun, shutdown: AbortSignal, slot: Slot = unsharedSlot): Promise<void> {
    if (performance.now() - (claimed.held_since ?? 0) > maxWaitMs) {
      // The run may have been cancelled, and its terms may have changed: the next claim reads them again.
      await this.giveBack(claimed);
      return;
    }
    const runId = claimed.id;
    await this.#versionSteps.complete(claimed);
    setAsideInput(claimed);
    const run = { ...claimed, steps: stepsOf(claimed) };
    const claim: RunClaim = { runId, fence: run.fence };
    using entry = this.executing.add(claim);
    const { lost } = entry;
    const signal = AbortSignal.any([lost, shutdown]);
    const working: RunContext['working'] = (step, work) =>
      this.#deps.mark.during({ runId, fence: run.fence, step }, work);
    using memory = this.#deps.memory.open(run.tenant_id);
    using writes = new RunWrites({
      db: this.#deps.db,
      logger: this.#deps.logger,
      progress: this.#progress,
      run,
      // What has happened is worth writing until the very end of this process, or somebody else has the run.
      lost,
      working,
      onWritten: () => ctx.trace?.written(),
    });
    const ctx: RunContext = {
      ...claim,
      slot,
      run,
      trace: this.#deps.tracing === null ? null : new RunTrace(this.#deps.tracing, run),
      // What a skill's own call was given is no template.
      uses: outputUses(claimed.steps),
      memory,
      results: new Map(run.results.map((row) => [row.index, row])),
      called: null,
      signal,
      working,
      read: (work) =>
        this.#through(runId, signal, () => this.#deps.db.workspace(run.tenant_id, work, { durable: false })),
      writes,
      write: (work, durable = true) => writes.alone(work, durable),
    };
    using _cancelled = this.#deps.events.subscribe(cancelTopic(runId), () =>
      this.executing.lose(claim, new LeaseLost('the run was cancelled')),
    );
    try {
      const began = await this.#through(runId, signal, () => admitClaimed(this.#deps.db, run));
      if (began && (await this.#refuse(ctx))) await this.#advance(ctx);
    } catch (error) {
      if (error instanceof LeaseLost || ctx.signal.reason instanceof LeaseLost) {
        this.#deps.logger.info(
          { runId, reason: error instanceof Error ? error.message : String(error) },
          'left a run that somebody else has',
        );
        // After a crash of the database the run can still have the fence of this worker.
        await this.#release(ctx.run, {});
      } else if (shutdown.aborted) {
        await writes.catchUp().catch(() => undefined);
        await this.#release(ctx.run, {});
      } else {
        throw error;
      }
    }
  }

  #through<Result>(runId: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    return throughOutages(signal, work, (error) =>
      this.#deps.logger.warn({ err: error, runId, part: 'database' }, 'a run waits for the database'),
    );
  }

  /** Fails the steps that are not to be worked on; answers whether the run goes on after them. */
  async #refuse(ctx: RunContext): Promise<boolean> {
    const { run } = ctx;
    for (let failure = refusalOf(run); failure !== null; failure = refusalOf(run)) {
      if (
        !(await this.#finishStep(ctx, run.next_step, {
          kind: 'failed',
          attempt: ctx.results.get(run.next_step)?.attempts ?? 1,
          failure,
        }))
      )
        return false;
      run.next_step += 1;
      run.lost_leases = 0;
    }
    return true;
  }

  async #advance(ctx: RunContext): Promise<void> {
    const { run } = ctx;
    for (let index = run.next_step; index < run.steps.length; index += 1) {
      ctx.signal.throwIfAborted();
      // The steps before it may not have been written when the processes died in it.
      const deadly = index === run.next_step ? null : deathsAt(run, index);
      if (deadly !== null) {
        if (!(await this.#finishStep(ctx, index, { kind: 'failed', attempt: 1, failure: deadly }))) return;
        continue;
      }
      const pass = () => this.#passStep(ctx, index);
      const passed = await (ctx.trace === null
        ? pass()
        : ctx.trace.withinStep(index, ctx.results.get(index)?.started_at ?? null, pass));
      if (passed === 'left') return;
      if (passed === 'again') index -= 1;
    }
  }

  /** Tries a step and writes what became of it; whether the run goes on, with this very step, or is left. */
  async #passStep(ctx: RunContext, index: number): Promise<'on' | 'again' | 'left'> {
    const beganAt = performance.now();
    let outcome = await this.#tryStep(ctx, index);
    if (outcome.kind === 'waiting') {
      const refusal = await suspend(this.#deps, ctx, index, outcome);
      if (refusal === null) return 'left';
      if (outcome.state !== null && ctx.run.steps[index]?.type === 'agent') {
        const { state } = outcome;
        await this.#goOn(
          ctx,
          index,
          outcome.attempt,
          ctx.working(index, () => refuseOpenCall(state, refusal)),
        );
        return 'again';
      }
      outcome = {
        kind: 'failed',
        attempt: outcome.attempt,
        failure: refusal,
        ...(outcome.state === null ? {} : { state: outcome.state }),
      };
    }
    if (outcome.kind === 'delayed') {
      await this.#delay(ctx, index, outcome);
      return 'left';
    }
    return (await this.#finishStep(ctx, index, outcome, beganAt)) ? 'on' : 'left';
  }

  /** Writes a new state of a step that goes on at once. */
  async #goOn(ctx: RunContext, index: number, attempt: number, state: JsonObject): Promise<void> {
    await ctx.write(async (tx) => {
      await Promise.all([
        advanceRun(tx, ctx, { fromStep: index, nextStep: index, ends: null, error: null }),
        writeStep(tx, ctx, stepUnderWay(index, attempt, { state })),
      ]);
    });
    ctx.results.set(index, {
      index,
      status: 'running',
      attempts: attempt,
      wait: null,
      state,
      output: null,
      output_text: null,
      output_bytes: 0,
      error: null,
      started_at: null,
    });
  }

  async #tryStep(ctx: RunContext, index: number): Promise<StepOutcome> {
    const attempt = ctx.results.get(index)?.attempts ?? 1;
    try {
      return await runStep(this.#deps, ctx, index);
    } catch (error) {
      // Losing the run is not the step's failure: nobody may write that it was.
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

  /** Records how a step ended and moves the run on; answers whether it goes on. */
  async #finishStep(
    ctx: RunContext,
    index: number,
    outcome: Exclude<StepOutcome, { kind: 'waiting' | 'delayed' }>,
    beganAt = performance.now(),
  ): Promise<boolean> {
    const { run } = ctx;
    if (outcome.kind === 'succeeded') {
      try {
        assertOutputFits(
          ctx,
          index,
          ctx.working(index, () => outputBytesOf(outcome.output, textWithin(outcome.outputText))),
        );
      } catch (tooLarge) {
        const refused = { kind: 'failed' as const, attempt: outcome.attempt, failure: toStepFailure(tooLarge) };
        return this.#finishStep(ctx, index, refused, beganAt);
      }
    }
    const step = run.steps[index];
    const failed = outcome.kind === 'failed';
    const retry = failed && step !== undefined ? this.#retryOf(step) : undefined;
    if (failed && retry !== undefined && outcome.failure.retryable && outcome.attempt < retry.maxAttempts) {
      // The other side knows better than a backoff how long it wants to be left alone.
      const seconds = Math.max(
        retry.backoffSeconds * retry.factor ** (outcome.attempt - 1),
        Math.min(outcome.failure.retryAfterSeconds ?? 0, 3_600),
      );
      await this.#retryLater(ctx, index, outcome, beganAt, Math.min(seconds, 86_400));
      return false;
    }
    const error = failed ? outcome.failure.toRecord(index) : null;
    const isFatal = failed && step?.continueOnError !== true;
    const ends = isFatal ? 'failed' : index === run.steps.length - 1 ? 'succeeded' : null;
    const output =
      outcome.kind === 'succeeded' ? outcome.output : failed ? outputOfFailure(ctx, index, outcome.failure) : null;
    const outputText = outcome.kind === 'succeeded' ? textWithin(outcome.outputText) : null;
    const outputBytes = ctx.working(index, () => outputBytesOf(output, outputText));
    const attempt = outcome.attempt;
    const state = ('state' in outcome ? outcome.state : undefined) ?? null;
    // What comes before the end of a run may be lost with the machine only if running it again does no harm.
    const durable = ends !== null || (outcome.kind === 'succeeded' && outcome.effect !== 'pure');
    const record: StepRecord = {
      index,
      status: outcome.kind,
      attempts: attempt,
      wait: null,
      state,
      output,
      outputText,
      outputBytes,
      error,
      finished: true,
    };
    const succeeded = outcome.kind === 'succeeded' ? outcome : null;
    const ending: StepEnding = {
      advance: { fromStep: index, nextStep: index + (isFatal ? 0 : 1), ends, error: isFatal ? error : null },
      done: {
        record,
        called: ctx.called?.index === index ? ctx.called : null,
        beganAt,
        endedAt: performance.now(),
        rows: succeeded?.rows ?? [],
        receipt:
          succeeded === null || succeeded.effect === 'pure'
            ? null
            : { runId: run.id, stepIndex: index, attempt, call: 0 },
      },
      persist: succeeded?.persist,
      repeatable: succeeded?.effect !== 'once',
      durable,
    };
    // A large output is work until it is written: the write makes copies of it.
    if (ends !== null && outputBytes <= smallOutputBytes) ctx.slot.release();
    try {
      await this.#writeEnding(ctx, ending);
    } catch (writeError) {
      if (outcome.kind !== 'succeeded' || writeError instanceof LeaseLost || ctx.signal.aborted) throw writeError;
      const failure = this.#failureOf(ctx, index, writeError);
      // What it did to the world is done: doing it again is not for the hub to decide.
      const final =
        outcome.effect === 'pure'
          ? failure
          : new StepFailure(failure.code, failure.message, { retryable: false, cause: writeError });
      const refused = { kind: 'failed' as const, attempt, failure: final, ...(state === null ? {} : { state }) };
      return this.#finishStep(ctx, index, refused, beganAt);
    }
    const result: StepRow = {
      index,
      status: outcome.kind,
      attempts: attempt,
      wait: null,
      state: null,
      output: null,
      output_text: null,
      output_bytes: outputBytes,
      error,
      started_at: null,
    };
    ctx.results.set(index, withOutput(result, output, outputText));
    ctx.called = null;
    if (ends === null) await setAside(ctx, index + 1);
    ctx.trace?.stepEnded(index, {
      type: step?.type,
      what:
        step === undefined || step.type === 'agent' || step.type === 'approval'
          ? (step?.type ?? 'step')
          : callOf(step).skillId,
      status: outcome.kind,
      attempts: attempt,
      ...(error === null ? {} : { code: error.code }),
    });
    if (ends === null) return true;
    ctx.trace?.ended(ends, isFatal ? error?.code : undefined);
    this.#deps.onFinished(ends, (Date.now() - run.queued_at.getTime()) / 1000);
    return false;
  }

  /** Writes how a step ended, or sees to it that this is written soon: in the cheapest way that keeps what it must. */
  async #writeEnding(ctx: RunContext, ending: StepEnding): Promise<void> {
    const { run } = ctx;
    const { advance, done, persist, repeatable, durable } = ending;
    const { ends } = advance;
    const setsOff =
      persist !== undefined ||
      (ends !== null && run.parent_run_id !== null) ||
      (ends === 'failed' && errorWorkflowOf(run) !== null);
    if (ends === null && repeatable && !setsOff) {
      ctx.writes.later(done);
      return;
    }
    const isWritten = !setsOff && (await ctx.writes.together(done, { advance, durable }));
    if (!isWritten) await this.#writeAlone(ctx, ending);
  }

  /** Writes how a step ended in a transaction of its own, with all that this sets going. */
  #writeAlone(ctx: RunContext, { advance, done, persist, durable }: StepEnding): Promise<void> {
    const { run } = ctx;
    const { ends, error } = advance;
    let tries = 0;
    return ctx.write(async (tx) => {
      tries += 1;
      // Before anything is waited for: the start of a step is counted back from that of the transaction.
      const beganAgo = secondsSince(done.beganAt);
      const errorWorkflow = ends === 'failed' ? errorWorkflowOf(run) : null;
      if (errorWorkflow !== null) await lockLimits(tx, errorWorkflow);
      // The connection may have broken between the commit and the word of it.
      if (tries > 1 && (await hasAdvanced(tx, ctx, advance))) return;
      // In this order, and one behind the other without waiting: should another worker have the run, all of it is undone.
      const [, last] = await Promise.all([
        advanceRun(tx, ctx, advance),
        ends === null ? writeStep(tx, ctx, done.record, beganAgo) : writeLastStep(tx, ctx, done.record, beganAgo),
        done.receipt === null ? undefined : writeReceipt(tx, done.receipt),
        writeSunk(tx, done.rows),
        (async () => persist?.(tx))(),
      ]);
      const othersMayWait = last?.othersMayWait === true;
      if (ends !== null) await this.#endWithin(tx, ctx, ends, error);
      if (othersMayWait) await admitWaitingRuns(tx, [run]);
    }, durable);
  }

  /** How a step is tried again: as it says, or as its skill does by itself. */
  #retryOf(step: Step): { maxAttempts: number; backoffSeconds: number; factor: number } | undefined {
    if (step.retry !== undefined) return step.retry;
    if (step.type === 'agent' || step.type === 'approval') return undefined;
    const skill = this.#deps.skills.find(callOf(step).skillId);
    return skill?.kind === 'direct' ? skill.retry : undefined;
  }

  /** What the end of a run sets going, in the transaction that ends it. */
  async #endWithin(
    tx: Transaction,
    { run }: RunContext,
    status: 'succeeded' | 'failed',
    error: RunFailure | null,
  ): Promise<void> {
    if (run.parent_run_id !== null) await wakeRuns(tx, [run.parent_run_id], [run.id]);
    if (status !== 'failed' || errorWorkflowOf(run) === null) return;
    const payload = {
      run: {
        id: run.id,
        workflowId: run.workflow_id,
        attempt: run.attempt,
        trigger: run.trigger,
        error: error as unknown as JsonObject,
      },
    };
    try {
      const { starters, authors } = await readRunPeople(tx, run.tenant_id, run.id);
      await this.#deps.startChild(tx, {
        tenantId: run.tenant_id,
        workflowId: run.error_workflow_id as string,
        trigger: { type: 'error', runId: run.id },
        context: null,
        payload,
        environment: run.environment,
        depth: run.depth + 1,
        requestedBy: starters,
        authoredBy: authors,
      });
    } catch (refusal) {
      if (!(refusal instanceof AppError) || refusal.code === 'unavailable') throw refusal;
      this.#deps.logger.info(
        { runId: run.id, workflowId: run.error_workflow_id, code: refusal.code },
        'an error workflow was not started',
      );
    }
  }

  async #retryLater(
    ctx: RunContext,
    index: number,
    { attempt, failure }: Extract<StepOutcome, { kind: 'failed' }>,
    beganAt: number,
    afterSeconds: number,
  ): Promise<void> {
    const { run } = ctx;
    const isAgent = run.steps[index]?.type === 'agent';
    const failed = { index, attempt, error: failure.toRecord(index), beganAt, endedAt: performance.now() };
    await ctx.write(async (tx) => {
      await releaseRun(tx, ctx, run.tenant_id, afterSeconds);
      // An agent goes on where it was written last: what its tools have done is not done again.
      const isKept = isAgent && (await keepStateForRetry(tx, run, failed));
      if (!isKept) await writeRetry(tx, ctx, failed);
    });
  }

  /** Lets a run go until a time. */
  async #delay(
    ctx: RunContext,
    index: number,
    { attempt, seconds }: Extract<StepOutcome, { kind: 'delayed' }>,
  ): Promise<void> {
    const { run } = ctx;
    await ctx.write(async (tx) => {
      await releaseRun(tx, ctx, run.tenant_id, seconds);
      await writeStep(tx, ctx, stepUnderWay(index, attempt, { wait: { kind: 'delay' } }));
    });
  }

  /** Gives a run that this process holds to others. Never rejects. */
  async giveBack(run: ClaimedRun): Promise<void> {
    // A run that started with its claim starts again with the next one, by the limits of that time.
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
      // Somebody else has it, or it has ended.
      if (error instanceof LeaseLost) return;
      this.#deps.logger.warn({ err: error, runId }, 'could not give a run back; a worker continues it within a minute');
    }
  }
}

/** A text as long as it may be; cut in the midst of a character it would be none that can be stored. */
const textWithin = (text: string) => text.slice(0, maxOutputTextLength).toWellFormed();

/** Why the next step of a run is not worked on, before anything is done for it; null when it is. */
function refusalOf(run: ClaimedRun): StepFailure | null {
  const deadly = deathsAt(run, run.next_step);
  if (deadly !== null) return deadly;
  if (run.lost_leases >= maxLostLeases)
    return new StepFailure('worker_lost', `The worker was lost ${run.lost_leases} times in a row at this step.`, {
      retryable: false,
    });
  if (run.entitlements.automations) return null;
  return new StepFailure(
    'product_not_entitled',
    'This workspace is not entitled to automations any more; its runs end where they waited.',
    { retryable: false },
  );
}

/** Why a step in which processes of the hub ended is not tried again; null for any other. */
function deathsAt({ process_deaths: deaths }: ClaimedRun, index: number): StepFailure | null {
  if (deaths?.step !== index || deaths.fences.length < maxProcessDeaths) return null;
  return new StepFailure(
    'worker_lost',
    'The process of the hub ended twice while it worked on this step, so it is not tried again. Let the step take in less, or split it.',
    { retryable: false },
  );
}

/** The workflow that is told of a run's failure. Its own failures start nothing, or they would for ever. */
function errorWorkflowOf(run: ClaimedRun): string | null {
  return run.trigger['type'] === 'error' || run.error_workflow_id === run.workflow_id ? null : run.error_workflow_id;
}

function attemptOf(error: unknown): number | undefined {
  return error instanceof Error && 'attempt' in error && typeof error.attempt === 'number' ? error.attempt : undefined;
}
