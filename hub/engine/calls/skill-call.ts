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
import type { EngineDependencies, HeldRun } from '../runs/run-context.ts';
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
  held: HeldRun,
  site: CallSite,
  skill: Skill,
  asked: JsonValue,
): Promise<CallOutcome> {
  const parsed = held.working(site.index, () => parseInput(skill, asked));
  assertGranted(held, skill.id, parsed);
  // What is approved and sent names the node by its id: a later change of names or tags can't redirect it.
  const rendered = skill.kind === 'node' ? await withNodeId(deps, held, skill.command, asked, parsed) : asked;
  const input = rendered === asked ? parsed : held.working(site.index, () => parseInput(skill, rendered));
  const isGated = held.run.approvals_required_for?.some((pattern) => matchesGlob(pattern, skill.id)) === true;
  // A node's own gate asks in its own words, for exactly what the device will check.
  if (isGated && !(skill.kind === 'node' && skill.command.needsApproval))
    return askOnce(deps, held, site, skill, async () => {
      const earlier = await findEarlierTry(deps, held, site, skill);
      return held.working(site.index, () => askForSkill(held, site, skill, rendered, earlier));
    });
  return carryOut(deps, held, site, skill, input);
}

/**
 * The input of a node skill with the id of the node that it selects by name or tag; the same input if it has an id.
 * @throws StepFailure for an unknown name or tag.
 */
async function withNodeId(
  { nodes }: EngineDependencies,
  held: HeldRun,
  command: CommandDefinition,
  input: JsonValue,
  parsed: Record<string, unknown>,
): Promise<JsonValue> {
  const selection = nodeSelection(parsed);
  if (selection === null || 'id' in selection) return input;
  const nodeId = await held
    .read((tx) => nodes.select(tx, { tenantId: held.run.tenant_id, runId: held.runId, command, selection }))
    .catch((error: unknown) => {
      throw error instanceof AppError && error.code === 'not_found' ? toStepFailure(error) : error;
    });
  const { node: _name, nodeTag: _tag, ...rest } = input as JsonObject;
  return { nodeId, ...rest };
}

/** Asks for an approval unless that was done before, by a worker that died after it was given: then what was approved is carried out. */
export async function askOnce(
  deps: EngineDependencies,
  held: HeldRun,
  site: CallSite,
  skill: Skill,
  ask: () => ApprovalWait | Promise<ApprovalWait>,
): Promise<CallOutcome> {
  const settled = await settledApproval(deps, held, site);
  if (settled === null) {
    const waiting = await ask();
    // A further try of the very same thing was approved with the first one.
    const earlier =
      site.attempt === 1
        ? null
        : await held.read((tx) =>
            deps.approvals.findApproved(tx, held.runId, site.index, site.call, waiting.request.requestHash),
          );
    return earlier === null ? waiting : carryOutApproved(deps, held, site, skill, earlier);
  }
  return 'row' in settled ? carryOutApproved(deps, held, site, skill, settled.row) : settled;
}

/** Goes on with a call that waited. */
export async function resumeCall(
  deps: EngineDependencies,
  held: HeldRun,
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
        await resumeCommand(deps, held, site, {
          commandId: wait.commandId,
          acts: skill.kind !== 'node' || skill.command.acts,
        }),
      );
    case 'run':
      return asPromised(deps, skill, await resumeChild(held, site, wait.runId));
    case 'approval': {
      const approval = await settledApproval(deps, held, site);
      if (approval === null) return again();
      if (!('row' in approval)) return approval;
      return carryOutApproved(deps, held, site, skill, approval.row);
    }
    default:
      return again();
  }
}

/** A `once` call that another worker began is not made again, whether or not its receipt was written. @throws StepFailure `outcome_unknown`. */
export async function assertNotInDoubt(held: HeldRun, site: CallSite, skill: Skill | undefined): Promise<void> {
  if (skill?.kind !== 'direct' || skill.effect !== 'once') return;
  const key = { runId: held.runId, stepIndex: site.index, attempt: site.attempt, call: site.call };
  const effect = await held.read((tx) => readEffect(tx, key));
  if (effect !== 'none') throw inDoubt(skill.id, effect);
}

function askForSkill(
  held: HeldRun,
  site: CallSite,
  skill: Skill,
  rendered: JsonValue,
  earlier: EarlierTry | null,
): ApprovalWait {
  const request = { skillId: skill.id, input: toStorableJson(rendered) };
  return askApproval(held, site, {
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
  held: HeldRun,
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
    noteApproved(held, site, approval.request);
    return commandWait(held, site, skill, input as JsonObject, {
      id: approval.id,
      requestHash,
      approvedBy: approval.decider?.name ?? approval.decidedBy ?? 'unknown',
      approvedAt: (approval.decidedAt ?? new Date()).toISOString(),
    });
  }
  const { skillId, input } = approval.request as { skillId?: string; input?: JsonValue };
  const requestHash = held.working(site.index, () => hashOf(canonicalJson(approval.request)));
  if (skillId !== skill.id || input === undefined || requestHash !== approval.requestHash) throw mismatch();
  await assertNotInDoubt(held, site, skill);
  noteApproved(held, site, input);
  return carryOut(
    deps,
    held,
    site,
    skill,
    held.working(site.index, () => parseInput(skill, input)),
  );
}

/** What was approved is what a step is called with; the calls of an agent's tools stand in its output. */
function noteApproved(held: HeldRun, site: CallSite, input: JsonValue): void {
  if (site.call === 0) noteInput(held, site.index, input);
}

/** @throws StepFailure for what the pack of the workflow was not granted: its templates and its later edits included. */
export function assertGranted(held: HeldRun, skillId: string, input: Record<string, unknown>): void {
  const { pack_id: packId, pack_grants: grants } = held.run;
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
  held: HeldRun,
  site: CallSite,
  skill: Skill,
  input: Record<string, unknown>,
): Promise<CallOutcome> {
  assertGranted(held, skill.id, input);
  if (skill.kind === 'direct') return asPromised(deps, skill, await executeDirect(deps, held, site, skill, input));
  if (skill.kind === 'node') return beginCommand(deps, held, site, skill, input);
  return childWait(held, site, skill, input);
}

/** @throws Error for an output that is not what its skill says, which is a mistake of the skill. */
function asPromised({ validateOutputs }: EngineDependencies, skill: Skill, outcome: CallOutcome): CallOutcome {
  if (!validateOutputs || outcome.kind !== 'done') return outcome;
  const { error } = skill.output.safeParse(outcome.output);
  if (error === undefined) return outcome;
  throw new Error(`the output of ${skill.id} is not what it promises: ${error.message}`);
}
