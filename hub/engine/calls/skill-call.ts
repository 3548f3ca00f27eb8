import { deviceInput } from '../../../shared/commands/define.ts';
import type { CommandDefinition } from '../../../shared/commands/define.ts';
import { approvedRequestText, systemRun } from '../../../shared/commands/system.ts';
import { AppError } from '../../../shared/errors.ts';
import { fieldPath } from '../../../shared/field-path.ts';
import { matchesGlob } from '../../../shared/glob.ts';
import { schemaMessage } from '../../../shared/issue-messages.ts';
import { canonicalJson, toStorableJson } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { nodeSelection } from '../../../shared/node-selection.ts';
import { StepFailure, toStepFailure } from '../failure.ts';
import type { Approval } from '../ports.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import { inDoubt, readEffect } from '../runs/store.ts';
import type { StepWait } from '../schema.ts';
import { splitNodeInput } from '../skill.ts';
import type { Skill } from '../skill.ts';
import { findGrantViolation } from '../skills/grants.ts';
import {
  buildApprovalWait,
  checkApproval,
  defaultApprovalExpirySeconds,
  defaultApprovalTerms,
} from '../steps/approval-gate.ts';
import { approvalMessage } from '../steps/approval-message.ts';
import type { EarlierAttempt } from '../steps/approval-message.ts';
import { recordInput } from '../steps/step-input.ts';
import { hashOf } from './call.ts';
import type { ApprovalWait, CallOutcome, CallSite } from './call.ts';
import { buildChildWait, resumeChild } from './child-run.ts';
import { executeDirect } from './direct-call.ts';
import { beginCommand, buildCommandWait, findEarlierAttempt, resumeCommand } from './node-call.ts';

/** Finds a skill. @throws StepFailure `unknown_skill`. */
export function requireSkill(deps: EngineDependencies, skillId: string): Skill {
  const skill = deps.skills.find(skillId);
  if (skill === undefined)
    throw new StepFailure('unknown_skill', `There is no skill "${skillId.slice(0, 100)}".`, { retryable: false });
  return skill;
}

/** Parses the input of a call. @throws StepFailure `invalid_input` with each invalid field. */
export function parseInput(skill: Skill, input: JsonValue): Record<string, unknown> {
  const parsed = skill.input.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${fieldPath(['input', ...issue.path])} ${schemaMessage(issue)}`);
  throw new StepFailure('invalid_input', `${skill.id} can't use its input: ${problems.join('; ').slice(0, 2000)}`, {
    retryable: false,
  });
}

/** Begins a call: executes a direct skill, or returns the wait for a command, a child run, or the approval that must come first. */
export async function beginCall(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
  requestedInput: JsonValue,
): Promise<CallOutcome> {
  const parsed = ctx.working(site.index, () => parseInput(skill, requestedInput));
  assertGranted(ctx, skill.id, parsed);
  // The approved and sent input selects the node by id, so that a later change of names or tags cannot redirect it.
  const resolvedInput =
    skill.kind === 'node' ? await withNodeId(deps, ctx, skill.command, requestedInput, parsed) : requestedInput;
  const input =
    resolvedInput === requestedInput ? parsed : ctx.working(site.index, () => parseInput(skill, resolvedInput));
  const isGated = ctx.run.approvals_required_for?.some((pattern) => matchesGlob(pattern, skill.id)) === true;
  // A node command that needs approval requests its own, bound to exactly the content that the device checks.
  if (isGated && !(skill.kind === 'node' && skill.command.needsApproval))
    return requestApprovalOnce(deps, ctx, site, skill, async () => {
      const earlier = await findEarlierAttempt(deps, ctx, site, skill);
      return ctx.working(site.index, () => buildSkillApprovalWait(ctx, site, skill, resolvedInput, earlier));
    });
  return executeCall(deps, ctx, site, skill, input);
}

/**
 * The input of a node skill with the id of the node that it selects by name or tag; the same input if it has an id.
 * @throws StepFailure for an unknown name or tag.
 */
async function withNodeId(
  { nodes }: EngineDependencies,
  ctx: RunContext,
  command: CommandDefinition,
  input: JsonValue,
  parsed: Record<string, unknown>,
): Promise<JsonValue> {
  const selection = nodeSelection(parsed);
  if (selection === null || 'id' in selection) return input;
  const nodeId = await ctx
    .read((tx) => nodes.select(tx, { tenantId: ctx.run.tenant_id, runId: ctx.runId, command, selection }))
    .catch((error: unknown) => {
      throw error instanceof AppError && error.code === 'not_found' ? toStepFailure(error) : error;
    });
  const { node: _name, nodeTag: _tag, ...rest } = input as JsonObject;
  return { nodeId, ...rest };
}

/**
 * Requests an approval, unless the call has one. If the approval was given before a worker crashed, executes the approved
 * request.
 */
export async function requestApprovalOnce(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
  buildWait: () => ApprovalWait | Promise<ApprovalWait>,
): Promise<CallOutcome> {
  const existing = await checkApproval(deps, ctx, site);
  if (existing === null) {
    const waiting = await buildWait();
    // An approval of an earlier attempt also covers a retry of exactly the same request.
    const earlier =
      site.attempt === 1
        ? null
        : await ctx.read((tx) =>
            deps.approvals.findApproved(tx, ctx.runId, site.index, site.call, waiting.request.requestHash),
          );
    return earlier === null ? waiting : executeApprovedCall(deps, ctx, site, skill, earlier);
  }
  return 'row' in existing ? executeApprovedCall(deps, ctx, site, skill, existing.row) : existing;
}

/** Continues a call that waited for a command, a child run or an approval. Otherwise calls `restart`, which begins it. */
export async function resumeCall(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
  wait: StepWait,
  restart: () => Promise<CallOutcome>,
): Promise<CallOutcome> {
  switch (wait.kind) {
    case 'node_command':
      return checkOutput(
        deps,
        skill,
        await resumeCommand(deps, ctx, site, {
          commandId: wait.commandId,
          acts: skill.kind !== 'node' || skill.command.acts,
        }),
      );
    case 'run':
      return checkOutput(deps, skill, await resumeChild(ctx, site, wait.runId));
    case 'approval': {
      const approval = await checkApproval(deps, ctx, site);
      if (approval === null) return restart();
      if (!('row' in approval)) return approval;
      return executeApprovedCall(deps, ctx, site, skill, approval.row);
    }
    default:
      return restart();
  }
}

/** Rejects a `once` call that another worker began, with or without a receipt. @throws StepFailure `outcome_unknown`. */
export async function assertNotInDoubt(ctx: RunContext, site: CallSite, skill: Skill | undefined): Promise<void> {
  if (skill?.kind !== 'direct' || skill.effect !== 'once') return;
  const key = { runId: ctx.runId, stepIndex: site.index, attempt: site.attempt, call: site.call };
  const effect = await ctx.read((tx) => readEffect(tx, key));
  if (effect !== 'none') throw inDoubt(skill.id, effect);
}

function buildSkillApprovalWait(
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
  input: JsonValue,
  earlier: EarlierAttempt | null,
): ApprovalWait {
  const request = { skillId: skill.id, input: toStorableJson(input) };
  return buildApprovalWait(ctx, site, {
    ...defaultApprovalTerms,
    kind: 'step',
    title: (site.label ?? skill.title).slice(0, 500),
    message: approvalMessage({ kind: 'policy', skillId: skill.id }, earlier),
    request,
    onTimeout: 'reject',
    expiresInSeconds: defaultApprovalExpirySeconds,
  });
}

/** Executes the stored request of an approval. The templates are not rendered again. */
async function executeApprovedCall(
  deps: EngineDependencies,
  ctx: RunContext,
  unapproved: CallSite,
  skill: Skill,
  approval: Approval,
): Promise<CallOutcome> {
  const site = { ...unapproved, approval };
  const mismatch = () =>
    new StepFailure('approval_mismatch', 'The request is not the one that was approved.', { retryable: false });
  if (approval.kind === 'system.run') {
    if (skill.kind !== 'node') throw mismatch();
    const input = parseInput(skill, approval.request);
    const { nodeId, command } = splitNodeInput(input);
    const requestHash = hashOf(approvedRequestText(nodeId, systemRun.input.parse(deviceInput(systemRun, command))));
    if (requestHash !== approval.requestHash) throw mismatch();
    recordApprovedInput(ctx, site, approval.request);
    return buildCommandWait(ctx, site, skill, input as JsonObject, {
      id: approval.id,
      requestHash,
      approvedBy: approval.decider?.name ?? approval.decidedBy ?? 'unknown',
      approvedAt: (approval.decidedAt ?? new Date()).toISOString(),
    });
  }
  const { skillId, input } = approval.request as { skillId?: string; input?: JsonValue };
  const requestHash = ctx.working(site.index, () => hashOf(canonicalJson(approval.request)));
  if (skillId !== skill.id || input === undefined || requestHash !== approval.requestHash) throw mismatch();
  await assertNotInDoubt(ctx, site, skill);
  recordApprovedInput(ctx, site, input);
  return executeCall(
    deps,
    ctx,
    site,
    skill,
    ctx.working(site.index, () => parseInput(skill, input)),
  );
}

/** Records the approved input as the input of the step. Tool calls are recorded in the output of the agent step instead. */
function recordApprovedInput(ctx: RunContext, site: CallSite, input: JsonValue): void {
  if (site.call === 0) recordInput(ctx, site.index, input);
}

/** @throws StepFailure if a call exceeds the grants of the workflow's pack. Rendered templates and later edits are checked too. */
export function assertGranted(ctx: RunContext, skillId: string, input: Record<string, unknown>): void {
  const { pack_id: packId, pack_grants: grants } = ctx.run;
  if (packId === null) return;
  if (grants === null)
    throw new StepFailure(
      'pack_not_granted',
      `This workflow was made from the pack ${packId} before packs were granted what they may do, so it may do nothing. Install the pack again and make its workflow anew: POST /v1/automations/skills/${packId}/workflow.`,
      { retryable: false },
    );
  const beyond = findGrantViolation(grants, skillId, input);
  if (beyond !== null)
    throw new StepFailure(
      'pack_grant_exceeded',
      `The pack that this workflow was made from may not do this: ${beyond}. Make a workflow of your own for more.`,
      { retryable: false },
    );
}

async function executeCall(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
  input: Record<string, unknown>,
): Promise<CallOutcome> {
  assertGranted(ctx, skill.id, input);
  if (skill.kind === 'direct') return checkOutput(deps, skill, await executeDirect(deps, ctx, site, skill, input));
  if (skill.kind === 'node') return beginCommand(deps, ctx, site, skill, input);
  return buildChildWait(ctx, site, skill, input);
}

/** Checks an output against the schema of its skill, in development and tests. @throws Error for an invalid output. */
function checkOutput({ validateOutputs }: EngineDependencies, skill: Skill, outcome: CallOutcome): CallOutcome {
  if (!validateOutputs || outcome.kind !== 'done') return outcome;
  const { error } = skill.output.safeParse(outcome.output);
  if (error === undefined) return outcome;
  throw new Error(`the output of ${skill.id} is not what it promises: ${error.message}`);
}
