import { AppError } from '../../../shared/errors.ts';
import { toStorableJson } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { retryOnOutage } from '../../platform/db/outage.ts';
import { heapOf } from '../../platform/process/memory-budget.ts';
import type { CallOutcome, CallSite } from '../calls/call.ts';
import { rejectOnAbort } from '../calls/direct-call.ts';
import { writeSinkRows } from '../calls/row-sink.ts';
import { assertNotInDoubt, beginCall, resumeCall } from '../calls/skill-call.ts';
import { isInDoubt, LeaseLost, StepFailure, toStepFailure } from '../failure.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import {
  otherOutputBytesOf,
  outputBytesOf,
  readLargeState,
  readState,
  refuseOutput,
  reserve,
  setAside,
} from '../runs/run-outputs.ts';
import { noteRunAuthors } from '../runs/run-people.ts';
import { advanceRun, isStepState, secondsSince, stepUnderWay, writeReceipt, writeStep } from '../runs/store.ts';
import type { StepRow } from '../runs/store.ts';
import type { StepWait } from '../schema.ts';
import type { StepOutcome } from '../steps/outcome.ts';
import { recordInput } from '../steps/step-input.ts';
import { readTurn } from './agent-answer.ts';
import { assertWithinBudget, remainingSeconds } from './agent-budget.ts';
import { readAgentContext } from './agent-context.ts';
import type { AgentContext } from './agent-context.ts';
import { summarise, writeAnswer } from './agent-conversation.ts';
import { maxToolDepth } from './agent-protocol.ts';
import { messagesOf, newState, toJson } from './agent-state.ts';
import type { AgentState, AgentStep, ToolCall } from './agent-state.ts';

/**
 * Starts or continues the loop of an agent: calls the model, executes its tool calls, and sends it their results, until the model
 * ends with FINAL. Each turn and each tool result is written before the next one starts, so a crash repeats none of them.
 *
 * Over 300 lines: the order of turns, writes and memory reservations must be reviewed together.
 */
export async function runAgentStep(
  deps: EngineDependencies,
  ctx: RunContext,
  index: number,
  step: AgentStep,
  attempt: number,
  row: StepRow | undefined,
): Promise<StepOutcome> {
  const isNew = (row?.state ?? null) === null && row?.unread_state !== true;
  const initialState = isNew ? ctx.working(index, () => newState(ctx, index, step)) : null;
  if (initialState !== null) recordInput(ctx, index, { prompt: initialState.prompt });
  const agentContext = await ctx.read((tx) => readAgentContext(tx, deps, ctx, index, step));
  // The templates of the step are rendered, so the outputs that they read are no longer needed.
  await setAside(ctx, index + 1);
  const state = initialState ?? ((row?.state ?? (await readLargeState(ctx, row))) as unknown as AgentState);
  // Each attempt has the full time limit of the step.
  if (row?.wait?.kind === 'retry') state.activeMs = 0;
  if (row !== undefined) ctx.results.set(index, { ...row, state: null });
  const loop = new AgentLoop(deps, ctx, index, step, attempt, state, agentContext);
  try {
    return await loop.run(openWaitOf(row));
  } catch (error) {
    if (error instanceof StepFailure) return { kind: 'failed', attempt, failure: error, state: loop.toJson() };
    throw error;
  }
}

/** What the open tool call of a step waits for. Null if it has not started to wait. */
function openWaitOf(row: StepRow | undefined): StepWait | null {
  const wait = row?.wait ?? null;
  if (wait?.kind === 'retry') return wait.of ?? null;
  return wait?.kind === 'delay' ? null : wait;
}

class AgentLoop {
  readonly #deps: EngineDependencies;
  readonly #ctx: RunContext;
  readonly #index: number;
  readonly #step: AgentStep;
  readonly #attempt: number;
  /** Start of this execution, by `performance.now()`. */
  readonly #beganAt = performance.now();
  #state: AgentState;
  /** Heap of the state at its last write, in bytes. */
  #stateHeap: number;
  readonly #agentContext: AgentContext;

  constructor(
    deps: EngineDependencies,
    ctx: RunContext,
    index: number,
    step: AgentStep,
    attempt: number,
    state: AgentState,
    agentContext: AgentContext,
  ) {
    this.#deps = deps;
    this.#ctx = ctx;
    this.#index = index;
    this.#step = step;
    this.#attempt = attempt;
    this.#state = state;
    this.#stateHeap = ctx.working(index, () => heapOf(state as unknown as JsonObject));
    this.#agentContext = agentContext;
  }

  async run(wait: StepWait | null): Promise<StepOutcome> {
    let openWait = wait;
    for (;;) {
      this.#ctx.signal.throwIfAborted();
      await this.#reserveMemory();
      if (this.#openCall() !== undefined) {
        const outcome = await this.#callTool(openWait);
        openWait = null;
        if (outcome !== null) return outcome;
        continue;
      }
      const final = this.#state.turns.at(-1)?.final;
      if (final !== undefined) return this.#finish(final);
      assertWithinBudget(this.#step, this.#state);
      await this.#callModel();
    }
  }

  #openCall(): ToolCall | undefined {
    return this.#state.turns.at(-1)?.calls.find((call) => call.status === 'pending');
  }

  toJson(): JsonObject {
    return this.#working(() => toJson(this.#state));
  }

  /**
   * Reserves memory for the state, for the request to the model, and for the next result of `resultHeap` bytes. If there is not
   * enough memory, or another run has waited long for memory, the state stays in the database only until memory is available.
   */
  async #reserveMemory(resultHeap = 0): Promise<void> {
    const { memory, signal } = this.#ctx;
    const heap = 2 * this.#stateHeap + resultHeap;
    const isWritten = this.#state.turns.length > 0;
    const shouldYield = isWritten && memory.isWanted;
    if (!shouldYield && memory.tryResize(heap)) return;
    if (isWritten) this.#state = { ...this.#state, prompt: '', turns: [] };
    if (shouldYield) memory.tryResize(0);
    const { activeMs } = this.#state;
    const failure = await reserve(this.#ctx, heap).catch((error: unknown) => error);
    // After an abort nothing is written: the state is not in memory.
    signal.throwIfAborted();
    if (isWritten) {
      const state = (await readState(this.#ctx, this.#index)) as unknown as AgentState;
      this.#state = { ...state, activeMs };
    }
    if (failure !== undefined) throw failure;
  }

  #working<Result>(work: () => Result): Result {
    return this.#ctx.working(this.#index, work);
  }

  async #callModel(): Promise<void> {
    const { signal, run } = this.#ctx;
    const seconds = remainingSeconds(this.#step, this.#state);
    const timeout = seconds === undefined ? null : AbortSignal.timeout(Math.ceil(seconds * 1000));
    const callSignal = timeout === null ? signal : AbortSignal.any([signal, timeout]);
    const startedAt = performance.now();
    const { instructions, model, history, authors } = this.#agentContext;
    const messages = this.#working(() => messagesOf(history, this.#state));
    const { maxTokens } = this.#step;
    const remainingTokens =
      maxTokens === undefined
        ? undefined
        : Math.max(1, maxTokens - this.#state.usage.inputTokens - this.#state.usage.outputTokens);
    try {
      const generate = () =>
        retryOnOutage(callSignal, () =>
          this.#working(() =>
            this.#deps.agents.generate({
              tenantId: run.tenant_id,
              preferredModel: model,
              instructions,
              messages,
              ...(remainingTokens === undefined ? {} : { maxOutputTokens: remainingTokens }),
              signal: callSignal,
            }),
          ),
        );
      const answer = await this.#ctx.slot.outside(() => rejectOnAbort(generate(), callSignal));
      authors.push(...(answer.authors ?? []));
      const { text, parsed } = this.#working(() => readTurn(answer.text, instructions, messages));
      const earlierCalls = this.#state.turns.reduce((count, turn) => count + turn.calls.length, 0);
      this.#state.turns.push({
        text,
        model: answer.model,
        latencyMs: answer.latencyMs,
        answeredAt: new Date().toISOString(),
        usage: answer.usage,
        attempts: answer.attempts,
        calls: parsed.calls.map(({ skillId, input }, index) => ({
          call: earlierCalls + index + 1,
          attempt: this.#attempt,
          skillId,
          input,
          status: 'pending',
        })),
        problems: parsed.problems,
        ...(parsed.final === null ? {} : { final: parsed.final }),
      });
      this.#state.usage.inputTokens += answer.usage.inputTokens;
      this.#state.usage.outputTokens += answer.usage.outputTokens;
    } catch (error) {
      if (timeout?.aborted === true && !signal.aborted)
        throw new StepFailure('timeout', `The agent took longer than ${this.#step.timeoutSeconds} s.`, {
          retryable: false,
          cause: error,
        });
      if (error instanceof AppError) throw toStepFailure(error);
      throw error;
    } finally {
      this.#state.activeMs += performance.now() - startedAt;
    }
    await this.#save((tx) => noteRunAuthors(tx, this.#ctx.runId, authors));
  }

  /** Executes the open tool call. Returns how the step waits for it, or null once its result is written. */
  async #callTool(wait: StepWait | null): Promise<StepOutcome | null> {
    let call = this.#openCall() as ToolCall;
    const skill = this.#agentContext.tools.find((known) => known.id === call.skillId);
    const attempt = call.attempt ?? this.#attempt;
    const site: CallSite = {
      index: this.#index,
      attempt,
      stepAttempt: this.#attempt,
      call: call.call,
      label: undefined,
      timeoutSeconds: remainingSeconds(this.#step, this.#state),
      state: () => this.toJson(),
      reserve: async (heapBytes) => {
        const waitStartedAt = performance.now();
        await this.#reserveMemory(heapBytes).catch((error: unknown) => {
          memoryFailure = error;
          throw error;
        });
        startedAt += performance.now() - waitStartedAt;
        // `#reserveMemory` can replace the state by a new copy from the database.
        call = this.#openCall() as ToolCall;
      },
    };
    let memoryFailure: unknown;
    let startedAt = performance.now();
    let outcome: CallOutcome;
    try {
      if (skill === undefined)
        throw new StepFailure('unknown_tool', `there is no tool "${call.skillId.slice(0, 100)}" that you may call`, {
          retryable: false,
        });
      const tool = skill;
      if (wait === null) await assertNotInDoubt(this.#ctx, site, tool);
      const begin = () => beginCall(this.#deps, this.#ctx, site, tool, call.input);
      outcome = wait === null ? await begin() : await resumeCall(this.#deps, this.#ctx, site, tool, wait, begin);
      if (outcome.kind === 'done') {
        const { output } = outcome;
        this.#working(() => toStorableJson(output, maxToolDepth));
      }
    } catch (error) {
      if (this.#ctx.signal.aborted) throw this.#ctx.signal.reason;
      if (error instanceof LeaseLost) throw error;
      // Fails the attempt of the step. The next attempt reads the result once there is memory for it.
      if (error === memoryFailure) throw error;
      const failure = toStepFailure(error);
      // The step fails too: the model must not repeat a call that could have had an effect.
      if (isInDoubt(failure)) throw failure;
      if (failure.code === 'internal')
        this.#deps.logger.error(
          { err: error, runId: this.#ctx.runId, skillId: call.skillId },
          'a tool of an agent failed unexpectedly',
        );
      Object.assign(call, {
        status: 'failed',
        error: { code: failure.code, message: failure.message },
        ...(failure.output === null ? {} : { output: failure.output }),
      });
      this.#state.activeMs += performance.now() - startedAt;
      await this.#save();
      return null;
    }
    this.#state.activeMs += performance.now() - startedAt;
    if (outcome.kind === 'waiting') return { ...outcome, attempt: this.#attempt, state: this.toJson() };
    const { output, outputText, effect, rows, persist } = outcome;
    Object.assign(call, { status: 'succeeded', output, outputText });
    const writeCallReceipt = async (tx: Transaction) => {
      if (effect !== 'pure')
        await writeReceipt(tx, {
          runId: this.#ctx.runId,
          stepIndex: this.#index,
          attempt,
          call: call.call,
        });
    };
    try {
      await this.#save(async (tx) => {
        await writeCallReceipt(tx);
        await writeSinkRows(tx, rows);
        await persist?.(tx);
      });
    } catch (error) {
      if (!(error instanceof AppError || error instanceof StepFailure) || this.#ctx.signal.aborted) throw error;
      const failure = toStepFailure(error);
      delete call.output;
      delete call.outputText;
      Object.assign(call, { status: 'failed', error: { code: failure.code, message: failure.message } });
      await this.#save(writeCallReceipt);
    }
    return null;
  }

  /** Writes the state of the step, and `writeMore` in the same transaction. */
  async #save(writeMore?: (tx: Transaction) => Promise<void>): Promise<void> {
    // The final output of the step contains all turns and tool results, so the state counts as output.
    const { state, bytes, heap } = this.#working(() => {
      const json = toJson(this.#state);
      return { state: json, bytes: outputBytesOf(json, null), heap: heapOf(json) };
    });
    const refusal = refuseOutput(otherOutputBytesOf(this.#ctx, this.#index), bytes);
    if (refusal !== null) throw refusal;
    this.#stateHeap = heap;
    let attempts = 0;
    await this.#ctx.write(async (tx) => {
      attempts += 1;
      const beganAgo = secondsSince(this.#beganAt);
      // A lost connection can hide that the first attempt was committed.
      if (attempts > 1 && (await this.#working(() => isStepState(tx, this.#ctx, this.#index, state)))) return;
      await advanceRun(tx, this.#ctx, { fromStep: this.#index, nextStep: this.#index, ends: null, error: null });
      await writeStep(tx, this.#ctx, stepUnderWay(this.#index, this.#attempt, { state }), beganAgo);
      await writeMore?.(tx);
    });
    this.#ctx.called = null;
  }

  async #finish(final: string): Promise<StepOutcome> {
    const { turns, usage, prompt } = this.#state;
    const { session, model } = this.#agentContext;
    const output = this.#working(() =>
      toStorableJson({
        text: final,
        turns,
        usage,
        model: turns.at(-1)?.model ?? null,
        // Missing in turns of earlier releases.
        attempts: turns.flatMap((turn) => turn.attempts ?? []),
        sessionId: session?.id ?? null,
      }),
    );
    if (session === null || (session.environment === 'live' && this.#ctx.run.environment === 'test'))
      return { kind: 'succeeded', attempt: this.#attempt, output, outputText: final, effect: 'pure', rows: [] };
    const summary = await summarise(this.#deps, this.#ctx, model, session);
    return {
      kind: 'succeeded',
      attempt: this.#attempt,
      output,
      outputText: final,
      effect: 'pure',
      rows: [],
      persist: (tx) => writeAnswer(tx, this.#deps, this.#ctx, session, { prompt, final, summary }),
    };
  }
}
