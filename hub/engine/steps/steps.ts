import type { Step } from '../../../shared/contract/automations/steps.ts';
import { canonicalJson, toStorableJson } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { TemplateError, isTruthy, renderTemplates } from '../../../shared/template.ts';
import type { TemplateScope } from '../../../shared/template.ts';
import { runAgentStep } from '../agent/agent-step.ts';
import type { CallOutcome, CallSite } from '../calls/call.ts';
import {
  assertGranted,
  assertNotInDoubt,
  beginCall,
  requestApprovalOnce,
  requireSkill,
  resumeCall,
} from '../calls/skill-call.ts';
import { StepFailure } from '../failure.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import { readInputs, reserve } from '../runs/run-outputs.ts';
import type { StepRow } from '../runs/store.ts';
import { isSkillRun } from '../skills/skill-run.ts';
import { buildApprovalWait, checkApproval, defaultApprovalTerms } from './approval-gate.ts';
import { approvalMessage } from './approval-message.ts';
import type { StepOutcome } from './outcome.ts';
import { buildTemplateScope } from './scope.ts';
import { recordInput } from './step-input.ts';

/** Executes a step: from its start, or from where it waited or a crashed worker left it. */
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
    const hasResult = row?.wait?.kind === 'node_command' || row?.wait?.kind === 'run';
    if (step.type === 'agent' || !hasResult) await readInputs(ctx, index);
    if (
      step.when !== undefined &&
      attempt === 1 &&
      (isNew || row.wait?.kind === 'delay') &&
      !ctx.working(index, () => isTruthy(renderTemplates(step.when as string, buildTemplateScope(ctx, index))))
    )
      return { kind: 'skipped', attempt: 0 };
    if (step.type === 'agent' && !ctx.run.entitlements.ai_agent) throw notEntitled('an agent step', 'ai_agent');
    if (step.type === 'agent') assertGranted(ctx, 'ai.invoke', {});
    if (step.type === 'agent') return await runAgentStep(deps, ctx, index, step, attempt, row);
    if (step.type === 'approval') return await runApprovalStep(deps, ctx, index, step, attempt, row);
    return toStepOutcome(await runSkillStep(deps, ctx, index, step, attempt, row), attempt);
  } catch (error) {
    // The engine needs the number of the failed attempt to decide about a retry.
    if (error instanceof Error && !('attempt' in error)) Object.assign(error, { attempt });
    throw error;
  }
}

/** The failure for a missing entitlement. A workspace can lose an entitlement while its runs wait. */
const notEntitled = (what: string, entitlement: string) =>
  new StepFailure(
    'product_not_entitled',
    `${what} needs the entitlement ${entitlement}, which this workspace has no longer.`,
    { retryable: false },
  );

function toStepOutcome(outcome: CallOutcome, attempt: number): StepOutcome {
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

/** Converts a rendered value to text, at most 10,000 characters. A reference can render any JSON. */
const toText = (value: JsonValue) =>
  (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 10_000).toWellFormed();

/** The skill that a step calls, with its unrendered input. */
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
  // Users read these fields, so they must be text.
  if (step.type === 'log')
    return { ...(rendered as JsonObject), message: toText((rendered as JsonObject)['message'] ?? '') };
  if (step.type === 'deliver')
    return { ...(rendered as JsonObject), text: toText((rendered as JsonObject)['text'] ?? '') };
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
  const skill = requireSkill(deps, callOf(step).skillId);
  const site: CallSite = {
    index,
    attempt,
    stepAttempt: attempt,
    call: 0,
    label: step.name,
    timeoutSeconds: step.timeoutSeconds,
    state: () => null,
    // Not retryable: a retry would repeat the command or child run that the step has waited for.
    reserve: (heapBytes) => reserve(ctx, heapBytes, { retryable: false }),
  };
  const missing = skill.requires.find((entitlement) => !ctx.run.entitlements[entitlement]);
  if (missing !== undefined) throw notEntitled(skill.id, missing);
  const begin = async () => {
    const approved = await readPrecedingApproval(deps, ctx, index);
    const [rendered, isApprovedInput] = ctx.working(index, () => {
      const call = resolveInput(ctx, step, () => buildTemplateScope(ctx, index, approved?.at));
      return [
        call,
        approved === null || approved.skillId !== skill.id || canonicalJson(approved.input) === canonicalJson(call),
      ];
    });
    recordInput(ctx, index, rendered);
    if (approved !== null && !isApprovedInput) {
      const request = { skillId: skill.id, input: toStorableJson(rendered) };
      const title = `${step.name ?? skill.title} (changed)`.slice(0, 500);
      return requestApprovalOnce(deps, ctx, site, skill, () =>
        buildApprovalWait(ctx, site, {
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
  // A worker crashed in this step. The effect of the skill decides whether the call can be repeated.
  await assertNotInDoubt(ctx, site, skill);
  return begin();
}

/** The input of a skill step. The input of a direct call of a skill is not rendered, because it contains no templates. */
const resolveInput = (ctx: RunContext, step: SkillStep, scope: () => TemplateScope): JsonValue =>
  isSkillRun(ctx.run) ? callOf(step).input : renderCall(step, scope());

type ApprovalStep = Extract<Step, { type: 'approval' }>;

/** Requests the approval of an approval step. If the call of the next step can be rendered, the approval shows it and is bound to it. */
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
  const approvalState = row?.wait?.kind === 'approval' ? await checkApproval(deps, ctx, site) : null;
  if (approvalState !== null && 'row' in approvalState) {
    const { decidedBy, decider, decidedAt, note } = approvalState.row;
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
  if (approvalState !== null) return { ...approvalState, attempt, state: null };
  const scope = buildTemplateScope(ctx, index);
  const { title, message, next } = ctx.working(index, () => ({
    title: String(renderTemplates(step.title, scope)).slice(0, 500),
    message: String(renderTemplates(step.message, scope)).slice(0, 20_000),
    next: renderNextCall(ctx, index),
  }));
  recordInput(ctx, index, { title, message });
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
  return { ...ctx.working(index, () => buildApprovalWait(ctx, site, approval)), attempt, state: null };
}

/** Renders the call of the step after an approval. Returns null if it depends on the approval, or cannot be rendered yet. */
function renderNextCall(ctx: RunContext, index: number): { skillId: string; input: JsonValue; at: string } | null {
  const step = ctx.run.steps[index + 1];
  if (step === undefined || step.type === 'agent' || step.type === 'approval') return null;
  const at = new Date();
  // For the next step, the last result is the result of the approval, which does not exist yet.
  const { last: _unknown, ...scope } = buildTemplateScope(ctx, index + 1, at);
  try {
    return {
      skillId: callOf(step).skillId,
      input: toStorableJson(resolveInput(ctx, step, () => scope as TemplateScope)),
      at: at.toISOString(),
    };
  } catch (error) {
    if (error instanceof TemplateError) return null;
    throw error;
  }
}

/** Reads the call of this step that the preceding approval step showed. Null if there is no such step, or if it showed no call. */
async function readPrecedingApproval(deps: EngineDependencies, ctx: RunContext, index: number) {
  const preceding = ctx.run.steps[index - 1];
  const result = ctx.results.get(index - 1);
  if (preceding?.type !== 'approval' || result?.status !== 'succeeded') return null;
  const row = await ctx.read((tx) => deps.approvals.find(tx, ctx.runId, index - 1, result.attempts, 0));
  const next = row?.request['next'];
  if (row === null || typeof next !== 'object' || next === null || Array.isArray(next)) return null;
  const { skillId, input, at } = next;
  if (typeof skillId !== 'string' || input === undefined || typeof at !== 'string') return null;
  const terms = {
    ...defaultApprovalTerms,
    // The approvers of the policy are read again when the approval is created.
    approvers: row.usesDefaultApprovers ? [] : row.approvers,
    required: row.required,
    expiresInSeconds: preceding.expiresInSeconds,
  };
  return { skillId, input, at: new Date(at), terms, row };
}
