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
import { beyondGrants } from '../skills/grants.ts';
import { approvalSeconds, askApproval, openApproval, settledApproval } from '../steps/approval-gate.ts';
import { approvalMessage } from '../steps/approval-message.ts';
import type { EarlierTry } from '../steps/approval-message.ts';
import { noteInput } from '../steps/step-input.ts';
import { hashOf } from './call.ts';
import type { ApprovalWait, CallOutcome, CallSite } from './call.ts';
import { childWait, resumeChild } from './child-run.ts';
import { executeDirect } from './direct-call.ts';
import { beginCommand, commandWait, findEarlierTry, resumeCommand } from './node-call.ts';

/** Looks a skill up. @throws StepFailure. */
export function skillOf(deps: EngineDependencies, skillId: string): Skill {
  const skill = deps.skills.find(skillId);
  if (skill === undefined)
    throw new StepFailure('unknown_skill', `There is no skill "${skillId.slice(0, 100)}".`, { retryable: false });
  return skill;
}

/** Parses what a skill is called with. @throws StepFailure that names each field. */
export function parseInput(skill: Skill, rendered: JsonValue): Record<string, unknown> {
  const parsed = skill.input.safeParse(rendered);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${fieldPath(['input', ...issue.path])} ${schemaMessage(issue)}`);
  throw new StepFailure('invalid_input', `${skill.id} can't use its input: ${problems.join('; ').slice(0, 2000)}`, {
    retryable: false,
  });
}

/** Begins a call: carries it out, hands it to a node, starts a run, or asks for the approval that must come first. */
export async function beginCall(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
  asked: JsonValue,
): Promise<CallOutcome> {
  const parsed = ctx.working(site.index, () => parseInput(skill, asked));
  assertGranted(ctx, skill.id, parsed);
  // What is approved and sent names the node by its id: a later change of names or tags can't redirect it.
  const rendered = skill.kind === 'node' ? await withNodeId(deps, ctx, skill.command, asked, parsed) : asked;
  const input = rendered === asked ? parsed : ctx.working(site.index, () => parseInput(skill, rendered));
  const isGated = ctx.run.approvals_required_for?.some((pattern) => matchesGlob(pattern, skill.id)) === true;
  // A node's own gate asks in its own words, for exactly what the device will check.
  if (isGated && !(skill.kind === 'node' && skill.command.needsApproval))
    return askOnce(deps, ctx, site, skill, async () => {
      const earlier = await findEarlierTry(deps, ctx, site, skill);
      return ctx.working(site.index, () => askForSkill(ctx, site, skill, rendered, earlier));
    });
  return carryOut(deps, ctx, site, skill, input);
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

/** Asks for an approval unless that was done before, by a worker that died after it was given: then what was approved is carried out. */
export async function askOnce(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
  ask: () => ApprovalWait | Promise<ApprovalWait>,
): Promise<CallOutcome> {
  const settled = await settledApproval(deps, ctx, site);
  if (settled === null) {
    const waiting = await ask();
    // A further try of the very same thing was approved with the first one.
    const earlier =
      site.attempt === 1
        ? null
        : await ctx.read((tx) =>
            deps.approvals.findApproved(tx, ctx.runId, site.index, site.call, waiting.request.requestHash),
          );
    return earlier === null ? waiting : carryOutApproved(deps, ctx, site, skill, earlier);
  }
  return 'row' in settled ? carryOutApproved(deps, ctx, site, skill, settled.row) : settled;
}

/** Goes on with a call that waited. */
export async function resumeCall(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
  wait: StepWait,
  again: () => Promise<CallOutcome>,
): Promise<CallOutcome> {
  switch (wait.kind) {
    case 'node_command':
      return asPromised(
        deps,
        skill,
        await resumeCommand(deps, ctx, site, {
          commandId: wait.commandId,
          acts: skill.kind !== 'node' || skill.command.acts,
        }),
      );
    case 'run':
      return asPromised(deps, skill, await resumeChild(ctx, site, wait.runId));
    case 'approval': {
      const approval = await settledApproval(deps, ctx, site);
      if (approval === null) return again();
      if (!('row' in approval)) return approval;
      return carryOutApproved(deps, ctx, site, skill, approval.row);
    }
    default:
      return again();
  }
}

/** A `once` call that another worker began is not made again, whether or not its receipt was written. @throws StepFailure `outcome_unknown`. */
export async function assertNotInDoubt(ctx: RunContext, site: CallSite, skill: Skill | undefined): Promise<void> {
  if (skill?.kind !== 'direct' || skill.effect !== 'once') return;
  const key = { runId: ctx.runId, stepIndex: site.index, attempt: site.attempt, call: site.call };
  const effect = await ctx.read((tx) => readEffect(tx, key));
  if (effect !== 'none') throw inDoubt(skill.id, effect);
}

function askForSkill(
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
  rendered: JsonValue,
  earlier: EarlierTry | null,
): ApprovalWait {
  const request = { skillId: skill.id, input: toStorableJson(rendered) };
  return askApproval(ctx, site, {
    ...openApproval,
    kind: 'step',
    title: (site.label ?? skill.title).slice(0, 500),
    message: approvalMessage({ kind: 'policy', skillId: skill.id }, earlier),
    request,
    onTimeout: 'reject',
    expiresInSeconds: approvalSeconds,
  });
}

/** Carries out what was approved: the stored request, and not what the templates would render now. */
async function carryOutApproved(
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
    noteApproved(ctx, site, approval.request);
    return commandWait(ctx, site, skill, input as JsonObject, {
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
  noteApproved(ctx, site, input);
  return carryOut(
    deps,
    ctx,
    site,
    skill,
    ctx.working(site.index, () => parseInput(skill, input)),
  );
}

/** What was approved is what a step is called with; the calls of an agent's tools stand in its output. */
function noteApproved(ctx: RunContext, site: CallSite, input: JsonValue): void {
  if (site.call === 0) noteInput(ctx, site.index, input);
}

/** @throws StepFailure for what the pack of the workflow was not granted: its templates and its later edits included. */
export function assertGranted(ctx: RunContext, skillId: string, input: Record<string, unknown>): void {
  const { pack_id: packId, pack_grants: grants } = ctx.run;
  if (packId === null) return;
  if (grants === null)
    throw new StepFailure(
      'pack_not_granted',
      `This workflow was made from the pack ${packId} before packs were granted what they may do, so it may do nothing. Install the pack again and make its workflow anew: POST /v1/automations/skills/${packId}/workflow.`,
      { retryable: false },
    );
  const beyond = beyondGrants(grants, skillId, input);
  if (beyond !== null)
    throw new StepFailure(
      'pack_grant_exceeded',
      `The pack that this workflow was made from may not do this: ${beyond}. Make a workflow of your own for more.`,
      { retryable: false },
    );
}

async function carryOut(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
  input: Record<string, unknown>,
): Promise<CallOutcome> {
  assertGranted(ctx, skill.id, input);
  if (skill.kind === 'direct') return asPromised(deps, skill, await executeDirect(deps, ctx, site, skill, input));
  if (skill.kind === 'node') return beginCommand(deps, ctx, site, skill, input);
  return childWait(ctx, site, skill, input);
}

/** @throws Error for an output that is not what its skill says, which is a mistake of the skill. */
function asPromised({ validateOutputs }: EngineDependencies, skill: Skill, outcome: CallOutcome): CallOutcome {
  if (!validateOutputs || outcome.kind !== 'done') return outcome;
  const { error } = skill.output.safeParse(outcome.output);
  if (error === undefined) return outcome;
  throw new Error(`the output of ${skill.id} is not what it promises: ${error.message}`);
}
