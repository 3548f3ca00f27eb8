import type { Step } from '../../../shared/contract/automations/steps.ts';
import { canonicalJson, toStorableJson } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { TemplateError, isTruthy, renderTemplates } from '../../../shared/template.ts';
import type { TemplateScope } from '../../../shared/template.ts';
import { runAgentStep } from '../agent/agent-step.ts';
import type { CallOutcome, CallSite } from '../calls/call.ts';
import { askOnce, assertGranted, assertNotInDoubt, beginCall, resumeCall, skillOf } from '../calls/skill-call.ts';
import { StepFailure } from '../failure.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import { readInputs, reserve } from '../runs/run-outputs.ts';
import type { StepRow } from '../runs/store.ts';
import { isSkillRun } from '../skills/skill-run.ts';
import { askApproval, openApproval, settledApproval } from './approval-gate.ts';
import { approvalMessage } from './approval-message.ts';
import type { StepOutcome } from './outcome.ts';
import { scopeOf } from './scope.ts';
import { noteInput } from './step-input.ts';

/** Visits a step: begins it, or goes on where it waited or was left by a worker that died. */
export async function runStep(deps: EngineDependencies, ctx: RunContext, index: number): Promise<StepOutcome> {
  const step = ctx.run.steps[index] as Step;
  const row = ctx.results.get(index);
  const attempt =
    row === undefined || row.status === 'pending' ? 1 : row.wait?.kind === 'retry' ? row.attempts + 1 : row.attempts;
  const isNew = row === undefined || row.status === 'pending';
  if (isNew && step.delaySeconds !== undefined && step.delaySeconds > 0)
    return { kind: 'delayed', attempt, seconds: step.delaySeconds };
  try {
    // A result of a node or a child run needs no templates. `resumeCall` reserves memory for the result.
    const hasAnswer = row?.wait?.kind === 'node_command' || row?.wait?.kind === 'run';
    if (step.type === 'agent' || !hasAnswer) await readInputs(ctx, index);
    if (
      step.when !== undefined &&
      attempt === 1 &&
      (isNew || row.wait?.kind === 'delay') &&
      !ctx.working(index, () => isTruthy(renderTemplates(step.when as string, scopeOf(ctx, index))))
    )
      return { kind: 'skipped', attempt: 0 };
    if (step.type === 'agent' && !ctx.run.entitlements.ai_agent) throw notEntitled('an agent step', 'ai_agent');
    if (step.type === 'agent') assertGranted(ctx, 'ai.invoke', {});
    if (step.type === 'agent') return await runAgentStep(deps, ctx, index, step, attempt, row);
    if (step.type === 'approval') return await runApprovalStep(deps, ctx, index, step, attempt, row);
    return withAttempt(await runSkillStep(deps, ctx, index, step, attempt, row), attempt);
  } catch (error) {
    // The try that failed must be known to whoever counts tries.
    if (error instanceof Error && !('attempt' in error)) Object.assign(error, { attempt });
    throw error;
  }
}

/** What was given to a workspace may be taken from it while its runs wait. */
const notEntitled = (what: string, entitlement: string) =>
  new StepFailure(
    'product_not_entitled',
    `${what} needs the entitlement ${entitlement}, which this workspace has no longer.`,
    { retryable: false },
  );

function withAttempt(outcome: CallOutcome, attempt: number): StepOutcome {
  if (outcome.kind === 'waiting') return { ...outcome, attempt, state: null };
  const { output, outputText, effect, rows, persist } = outcome;
  return {
    kind: 'succeeded',
    attempt,
    output,
    outputText,
    effect,
    rows,
    ...(persist === undefined ? {} : { persist }),
  };
}

type SkillStep = Extract<Step, { type: 'skill' | 'log' | 'deliver' }>;

/** A log line is text, whatever a reference in it refers to. */
const asLine = (value: JsonValue) =>
  (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 10_000).toWellFormed();

/** The skill that a step calls, with its input still unrendered. */
export function callOf(step: SkillStep): { skillId: string; input: JsonObject } {
  if (step.type === 'skill') return { skillId: step.skillId, input: step.input };
  if (step.type === 'log') return { skillId: 'log.write', input: { message: step.message, level: step.level } };
  if (step.provider === 'email' && step.channelId === undefined) {
    return { skillId: 'email.send', input: { to: [step.to], subject: step.subject ?? 'Message', text: step.text } };
  }
  const optional = { channelId: step.channelId, subject: step.subject, mediaUrl: step.mediaUrl };
  return {
    skillId: 'channel.deliver',
    input: {
      provider: step.provider,
      to: step.to,
      text: step.text,
      ...(JSON.parse(JSON.stringify(optional)) as JsonObject),
    },
  };
}

function renderCall(step: SkillStep, scope: TemplateScope): JsonValue {
  const rendered = renderTemplates(callOf(step).input, scope);
  // Whatever a reference brings, these are lines for people.
  if (step.type === 'log')
    return { ...(rendered as JsonObject), message: asLine((rendered as JsonObject)['message'] ?? '') };
  if (step.type === 'deliver')
    return { ...(rendered as JsonObject), text: asLine((rendered as JsonObject)['text'] ?? '') };
  return rendered;
}

async function runSkillStep(
  deps: EngineDependencies,
  ctx: RunContext,
  index: number,
  step: SkillStep,
  attempt: number,
  row: StepRow | undefined,
): Promise<CallOutcome> {
  const skill = skillOf(deps, callOf(step).skillId);
  const site: CallSite = {
    index,
    attempt,
    stepAttempt: attempt,
    call: 0,
    label: step.name,
    timeoutSeconds: step.timeoutSeconds,
    state: () => null,
    // A retry would repeat what the step has waited for.
    reserve: (heapBytes) => reserve(ctx, heapBytes, { retryable: false }),
  };
  const missing = skill.requires.find((entitlement) => !ctx.run.entitlements[entitlement]);
  if (missing !== undefined) throw notEntitled(skill.id, missing);
  const begin = async () => {
    const approved = await approvedBefore(deps, ctx, index);
    const [rendered, isAsShown] = ctx.working(index, () => {
      const call = inputOf(ctx, step, () => scopeOf(ctx, index, approved?.at));
      return [
        call,
        approved === null || approved.skillId !== skill.id || canonicalJson(approved.input) === canonicalJson(call),
      ];
    });
    noteInput(ctx, index, rendered);
    if (approved !== null && !isAsShown) {
      const request = { skillId: skill.id, input: toStorableJson(rendered) };
      const title = `${step.name ?? skill.title} (changed)`.slice(0, 500);
      return askOnce(deps, ctx, site, skill, () =>
        askApproval(ctx, site, {
          ...approved.terms,
          kind: 'step',
          title,
          message: approvalMessage({ kind: 'changed', skillId: skill.id }, null),
          request,
          onTimeout: 'reject',
        }),
      );
    }
    return beginCall(deps, ctx, approved === null ? site : { ...site, approval: approved.row }, skill, rendered);
  };
  if (row === undefined || row.status === 'pending' || row.wait?.kind === 'retry' || row.wait?.kind === 'delay')
    return begin();
  if (row.wait !== null) return resumeCall(deps, ctx, site, skill, row.wait, begin);
  // A worker died in this step; what may be done now depends on what the step does to the world.
  await assertNotInDoubt(ctx, site, skill);
  return begin();
}

/** What a skill step is called with: of a skill's own call what came with it, as it stands. */
const inputOf = (ctx: RunContext, step: SkillStep, scope: () => TemplateScope): JsonValue =>
  isSkillRun(ctx.run) ? callOf(step).input : renderCall(step, scope());

type ApprovalStep = Extract<Step, { type: 'approval' }>;

/** An approval step shows, and binds, what the step after it would do, as far as that is known. */
async function runApprovalStep(
  deps: EngineDependencies,
  ctx: RunContext,
  index: number,
  step: ApprovalStep,
  attempt: number,
  row: StepRow | undefined,
): Promise<StepOutcome> {
  const site: CallSite = {
    index,
    attempt,
    stepAttempt: attempt,
    call: 0,
    label: step.name,
    timeoutSeconds: undefined,
    state: () => null,
    reserve: (heapBytes) => reserve(ctx, heapBytes),
  };
  const settled = row?.wait?.kind === 'approval' ? await settledApproval(deps, ctx, site) : null;
  if (settled !== null && 'row' in settled) {
    const { decidedBy, decider, decidedAt, note } = settled.row;
    return {
      kind: 'succeeded',
      attempt,
      output: {
        decision: 'approved',
        decidedBy,
        decider: decider === null ? null : { ...decider },
        decidedAt: decidedAt?.toISOString() ?? null,
        note,
      },
      outputText: note ?? '',
      effect: 'pure',
      rows: [],
    };
  }
  if (settled !== null) return { ...settled, attempt, state: null };
  const scope = scopeOf(ctx, index);
  const { title, message, next } = ctx.working(index, () => ({
    title: String(renderTemplates(step.title, scope)).slice(0, 500),
    message: String(renderTemplates(step.message, scope)).slice(0, 20_000),
    next: boundNext(ctx, index),
  }));
  noteInput(ctx, index, { title, message });
  const approval = {
    kind: 'step' as const,
    title,
    message,
    request: { title, message, ...(next === null ? {} : { next }) },
    onTimeout: step.onTimeout,
    expiresInSeconds: step.expiresInSeconds,
    approvers: step.approvers ?? [],
    required: step.required ?? 1,
    escalateAfterSeconds: step.escalateAfterSeconds,
    escalateTo: step.escalateTo ?? [],
  };
  return { ...ctx.working(index, () => askApproval(ctx, site, approval)), attempt, state: null };
}

/** What the step after an approval would do; null when that depends on the approval itself, or can't be told yet. */
function boundNext(ctx: RunContext, index: number): { skillId: string; input: JsonValue; at: string } | null {
  const step = ctx.run.steps[index + 1];
  if (step === undefined || step.type === 'agent' || step.type === 'approval') return null;
  const at = new Date();
  // To the step after it, the last result is that of the approval, which there is not yet.
  const { last: _unknown, ...scope } = scopeOf(ctx, index + 1, at);
  try {
    return {
      skillId: callOf(step).skillId,
      input: toStorableJson(inputOf(ctx, step, () => scope as TemplateScope)),
      at: at.toISOString(),
    };
  } catch (error) {
    if (error instanceof TemplateError) return null;
    throw error;
  }
}

/** What the approval step just before this one showed of it; null when there is none, or it showed nothing. */
async function approvedBefore(deps: EngineDependencies, ctx: RunContext, index: number) {
  const before = ctx.run.steps[index - 1];
  const result = ctx.results.get(index - 1);
  if (before?.type !== 'approval' || result?.status !== 'succeeded') return null;
  const row = await ctx.read((tx) => deps.approvals.find(tx, ctx.runId, index - 1, result.attempts, 0));
  const next = row?.request['next'];
  if (row === null || typeof next !== 'object' || next === null || Array.isArray(next)) return null;
  const { skillId, input, at } = next;
  if (typeof skillId !== 'string' || input === undefined || typeof at !== 'string') return null;
  const terms = {
    ...openApproval,
    // Those of the policy are read again.
    approvers: row.usesDefaultApprovers ? [] : row.approvers,
    required: row.required,
    expiresInSeconds: before.expiresInSeconds,
  };
  return { skillId, input, at: new Date(at), terms, row };
}
