import { toStorableJson, toStorableText } from '../../../shared/json.ts';
import { DatabaseOutage } from '../../platform/db/database.ts';
import { retryOnOutage } from '../../platform/db/outage.ts';
import { newId } from '../../platform/ids.ts';
import { StepFailure, toStepFailure } from '../failure.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import { stepUnderWay } from '../runs/store.ts';
import type { DirectSkill, SkillContext } from '../skill.ts';
import type { CallOutcome, CallSite } from './call.ts';

/** Maximum size of the output of a step, as JSON, in bytes. Outputs of direct skills are measured in characters. */
export const maxOutputBytes = 4 * 1024 * 1024;

/**
 * Calls a skill in this process. If a `once` skill fails unexpectedly after its intent was written, the step fails with
 * `outcome_unknown`, because the effect could have happened.
 * @throws StepFailure; any error of the skill.
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
    // The key of a step has no attempt, because a retry repeats the same call. A tool call keeps the attempt that requested it.
    idempotencyKey: call === 0 ? `${run.id}-${index}` : `${run.id}-${index}-${attempt}-${call}`,
    signal,
  };
  // Whether the effect of a `once` skill could have happened.
  let isEffectPossible = false;
  try {
    const lookedUp =
      skill.lookUp === undefined
        ? undefined
        : await retryOnOutage(signal, () =>
            rejectOnAbort(
              ctx.working(index, () => skill.lookUp?.(input, context) as Promise<unknown>),
              signal,
            ),
          );
    const execute = () =>
      rejectOnAbort(
        ctx.working(index, () => skill.execute(input, context, lookedUp)),
        signal,
      );
    const executeWithIntent = async () => {
      if (skill.effect !== 'pure') await recordIntent(ctx, site, skill.id, skill.effect);
      isEffectPossible = skill.effect === 'once';
      return skill.effect === 'once' ? execute() : retryOnOutage(signal, execute);
    };
    // The slot is released before the intent is written: the more runs wait for the disk together, the fewer flushes are needed.
    const outcome = await (skill.waitsForThirdParty === true
      ? ctx.slot.outside(executeWithIntent)
      : executeWithIntent());
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
        retryable: !isEffectPossible,
        cause: error,
      });
    }
    if (error instanceof DatabaseOutage && isEffectPossible) {
      throw new StepFailure(
        'outcome_unknown',
        `The database was out of reach while ${skill.id} was under way; find out what happened before you retry.`,
        { retryable: false, cause: error },
      );
    }
    if (isEffectPossible && !ctx.signal.aborted && toStepFailure(error).code === 'internal') {
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

/** Writes the intent of a call to disk before its effect. After a crash, the next worker finds that the effect could have happened. */
async function recordIntent(
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

/** Settles with the promise, or rejects when the signal aborts. A skill that ignores its signal cannot block the worker. */
export async function rejectOnAbort<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
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
