import { toStorableJson, toStorableText } from '../../../shared/json.ts';
import { DatabaseOutage } from '../../platform/db/database.ts';
import { throughOutages } from '../../platform/db/outage.ts';
import { newId } from '../../platform/ids.ts';
import { StepFailure, toStepFailure } from '../failure.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import { stepUnderWay } from '../runs/store.ts';
import type { DirectSkill, SkillContext } from '../skill.ts';
import type { CallOutcome, CallSite } from './call.ts';

/** The largest output of a step, as JSON, in bytes. */
export const maxOutputBytes = 4 * 1024 * 1024;

/**
 * Calls a skill of this process. One that reaches out and may not be repeated leaves its outcome unknown once nobody can say whether it did.
 * @throws StepFailure; whatever the skill throws.
 */
export async function executeDirect(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: DirectSkill,
  input: Record<string, unknown>,
): Promise<CallOutcome> {
  const { run } = ctx;
  const { index, attempt, call, timeoutSeconds } = site;
  const timeout = timeoutSeconds === undefined ? undefined : AbortSignal.timeout(Math.ceil(timeoutSeconds * 1000));
  const signal = timeout === undefined ? ctx.signal : AbortSignal.any([ctx.signal, timeout]);
  const sessionId = run.trigger['sessionId'];
  const context: SkillContext = {
    tenantId: run.tenant_id,
    workflowId: run.workflow_id,
    runId: run.id,
    stepIndex: index,
    attempt,
    depth: run.depth,
    sessionId: typeof sessionId === 'string' ? sessionId : null,
    environment: run.environment,
    // Without the attempt of a step: a retry repeats the same call. An agent's calls differ, and each keeps the attempt that requested it.
    idempotencyKey: call === 0 ? `${run.id}-${index}` : `${run.id}-${index}-${attempt}-${call}`,
    signal,
  };
  let mayHaveLeft = false;
  try {
    const found =
      skill.lookUp === undefined
        ? undefined
        : await throughOutages(signal, () =>
            untilAborted(
              ctx.working(index, () => skill.lookUp?.(input, context) as Promise<unknown>),
              signal,
            ),
          );
    const execute = () =>
      untilAborted(
        ctx.working(index, () => skill.execute(input, context, found)),
        signal,
      );
    const reachOut = async () => {
      if (skill.effect !== 'pure') await declareEffect(ctx, site, skill.id, skill.effect);
      mayHaveLeft = skill.effect === 'once';
      return skill.effect === 'once' ? execute() : throughOutages(signal, execute);
    };
    // The wait for the disk before it is no work either: the more runs wait for that together, the fewer waits there are.
    const outcome = await (skill.waitsForThirdParty === true ? ctx.slot.outside(reachOut) : reachOut());
    const [output, text] = ctx.working(index, () => {
      const storable = toStorableJson(outcome.output);
      return [storable, JSON.stringify(storable)];
    });
    if (text.length > maxOutputBytes)
      throw new StepFailure(
        'output_too_large',
        `The output of ${skill.id} has ${text.length} characters; ${maxOutputBytes} is the most.`,
        { retryable: false },
      );
    return {
      kind: 'done',
      output,
      outputText: toStorableText(outcome.outputText ?? text),
      effect: skill.effect,
      rows: outcome.rows ?? [],
      ...(outcome.persist === undefined ? {} : { persist: outcome.persist }),
    };
  } catch (error) {
    if (timeout?.aborted === true && !ctx.signal.aborted) {
      throw new StepFailure('timeout', `${skill.id} took longer than ${timeoutSeconds} s.`, {
        retryable: !mayHaveLeft,
        cause: error,
      });
    }
    if (error instanceof DatabaseOutage && mayHaveLeft) {
      throw new StepFailure(
        'outcome_unknown',
        `The database was out of reach while ${skill.id} was under way; find out what happened before you retry.`,
        { retryable: false, cause: error },
      );
    }
    if (mayHaveLeft && !ctx.signal.aborted && toStepFailure(error).code === 'internal') {
      deps.logger.error(
        { err: error, runId: ctx.runId, stepIndex: index, skillId: skill.id },
        'a call that may have reached out failed unexpectedly',
      );
      throw new StepFailure(
        'outcome_unknown',
        `${skill.id} failed for a reason of the hub's own, and may have reached out before; find out what happened before you retry.`,
        { retryable: false, cause: error },
      );
    }
    throw error;
  }
}

/** Writes down that a call is about to reach out, so that whoever comes after a death of this worker knows that it may have. */
async function declareEffect(
  ctx: RunContext,
  { index, attempt, stepAttempt, call, state }: CallSite,
  skillId: string,
  kind: 'keyed' | 'once',
): Promise<void> {
  const beganAt = performance.now();
  const step = {
    record: stepUnderWay(index, stepAttempt, { state: state() }),
    called: ctx.called?.index === index ? ctx.called : null,
    beganAt,
    endedAt: beganAt,
    rows: [],
    receipt: null,
  };
  const declarationId = newId();
  await ctx.writes.declare(step, { runId: ctx.runId, stepIndex: index, attempt, call, declarationId, skillId, kind });
  ctx.called = null;
}

/** A skill that does not heed its signal must not hold the worker. */
export async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    aborted.promise.catch(() => undefined);
    promise.catch(() => undefined);
  }
}
