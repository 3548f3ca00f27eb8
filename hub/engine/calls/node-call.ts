import { commandLine } from '../../../shared/command-line.ts';
import { deviceInput, deviceTimeMs, limitTimeout } from '../../../shared/commands/define.ts';
import { maxOriginName, maxOriginReason } from '../../../shared/commands/origin.ts';
import type { CommandOrigin } from '../../../shared/commands/origin.ts';
import { approvedRequestText, systemRun } from '../../../shared/commands/system.ts';
import { AppError } from '../../../shared/errors.ts';
import { toStorableJson } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { retryOnOutage } from '../../platform/db/outage.ts';
import { newId } from '../../platform/ids.ts';
import { heapOfText } from '../../platform/process/memory-budget.ts';
import { StepFailure, commandFailure, toStepFailure } from '../failure.ts';
import type { CommandRequest, NodePort } from '../ports.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import { smallOutputBytes } from '../runs/run-outputs.ts';
import { splitNodeInput } from '../skill.ts';
import type { NodeSkill, Skill } from '../skill.ts';
import { buildApprovalWait, defaultApprovalExpirySeconds, defaultApprovalTerms } from '../steps/approval-gate.ts';
import { approvalMessage } from '../steps/approval-message.ts';
import type { EarlierAttempt } from '../steps/approval-message.ts';
import { hashOf } from './call.ts';
import type { CallOutcome, CallSite, CommandWait } from './call.ts';

/** How long after the deadline of a command the run checks it, in seconds. The sweep normally ends the command before. */
const commandGraceSeconds = 60;

/** Builds the wait for a command, or for the approval that the command needs first. @throws AppError if the node cannot be used. */
export async function beginCommand(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: NodeSkill,
  requestedInput: Record<string, unknown>,
): Promise<CallOutcome> {
  const { command } = skill;
  const { nodeId } = splitNodeInput(requestedInput);
  // The node ends the command at the time-out of the step: the hub can only stop waiting for it.
  const input =
    site.timeoutSeconds === undefined
      ? requestedInput
      : limitTimeout(command, requestedInput, site.timeoutSeconds * 1000);
  // The command of a skill step is checked in the transaction that sends it. The command of a tool call is checked here too,
  // so that the model gets the error.
  if (command.needsApproval || site.call > 0)
    await ctx.read((tx) => deps.nodes.assertUsable(tx, ctx.run.tenant_id, nodeId, command));
  if (!command.needsApproval) return buildCommandWait(ctx, site, skill, input as JsonObject, null);
  const text = approvedRequestText(
    nodeId,
    systemRun.input.parse(deviceInput(systemRun, splitNodeInput(input).command)),
  );
  return buildApprovalWait(ctx, site, {
    ...defaultApprovalTerms,
    kind: 'system.run',
    title: `${site.label ?? skill.title}: ${commandLine(input['argv'] as string[])}`.slice(0, 500),
    message: approvalMessage({ kind: 'program' }, await findEarlierAttempt(deps, ctx, site, skill)),
    request: toStorableJson(input) as JsonObject,
    requestHash: hashOf(text),
    onTimeout: 'reject',
    expiresInSeconds:
      site.timeoutSeconds === undefined ? defaultApprovalExpirySeconds : Math.max(1, Math.round(site.timeoutSeconds)),
  });
}

/** Finds an earlier attempt of a step whose command could have had an effect. Approvers must know of it. Null if there is none. */
export async function findEarlierAttempt(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  skill: Skill,
): Promise<EarlierAttempt | null> {
  if (skill.kind !== 'node' || !skill.command.acts) return null;
  const { type } = skill.command;
  const earlier = await ctx.read((tx) => deps.nodes.findEarlier(tx, { runId: ctx.runId, stepIndex: site.index, type }));
  return earlier === null ? null : { type, ...earlier };
}

/** Builds the wait for a new command. */
export function buildCommandWait(
  { run }: RunContext,
  site: CallSite,
  skill: NodeSkill,
  input: JsonObject,
  approval: CommandRequest['approval'],
): CommandWait {
  const { index: stepIndex, attempt, call, timeoutSeconds } = site;
  const { nodeId, waitMs, command } = splitNodeInput(input);
  const stepName = run.steps[stepIndex]?.name;
  return {
    kind: 'waiting',
    for: 'command',
    wakeInSeconds: (waitMs + deviceTimeMs(skill.command, command)) / 1000 + commandGraceSeconds,
    timeoutSeconds,
    calledAt: performance.now(),
    request: {
      id: newId(),
      tenantId: run.tenant_id,
      nodeId,
      runId: run.id,
      stepIndex,
      attempt,
      call,
      command: skill.command,
      input: command,
      waitMs,
      approval,
      origin: {
        step: { index: stepIndex, name: stepName ?? null },
        approvedBy: approverOf(site),
        reason: reasonOf(site, stepName),
      },
    },
  };
}

/** The request with the remaining time of the step. Call it in each transaction, because a transaction can start late or be retried. */
export const buildCommandRequest = ({ request, timeoutSeconds, calledAt }: CommandWait): CommandRequest => ({
  ...request,
  deadlineInSeconds: timeoutSeconds === undefined ? null : timeoutSeconds - (performance.now() - calledAt) / 1000,
});

/** Sends a command and returns its id. @throws StepFailure if it cannot be sent to the node. */
export async function sendCommand(tx: Transaction, nodes: NodePort, wait: CommandWait): Promise<string> {
  try {
    return await nodes.dispatch(tx, buildCommandRequest(wait));
  } catch (error) {
    throw error instanceof AppError && error.code !== 'unavailable' ? toStepFailure(error) : error;
  }
}

/** The approver of a call, for the device. Null if the call needed no approval, or no user or API key decided. */
function approverOf({ approval }: CallSite): CommandOrigin['approvedBy'] | null {
  if (approval === undefined || approval.decider === null || approval.decidedAt === null) return null;
  const { kind, id, name } = approval.decider;
  if (kind === 'time_out' || kind === 'run_end' || id === null) return null;
  const by = { id: id.slice(0, maxOriginName), name: name.slice(0, maxOriginName) };
  return { kind: kind === 'key' ? 'key' : 'user', ...by, at: approval.decidedAt.toISOString() };
}

/** The reason for a call: the note or title of its approval, or the name of its step. Null if there is none. */
function reasonOf({ approval }: CallSite, stepName: string | undefined): string | null {
  const reason = [approval?.note, approval?.title, stepName].find((text) => typeof text === 'string' && text !== '');
  return reason?.slice(0, maxOriginReason).toWellFormed() ?? null;
}

/** Continues a call whose command has ended, or waits again. @throws StepFailure if the command failed. */
export async function resumeCommand(
  deps: EngineDependencies,
  ctx: RunContext,
  site: CallSite,
  { commandId, acts }: { commandId: string; acts: boolean },
): Promise<CallOutcome> {
  const read = (maxOutputBytes: number) =>
    retryOnOutage(ctx.signal, () => deps.nodes.readOutcome(ctx.run.tenant_id, commandId, maxOutputBytes));
  let command = await read(smallOutputBytes);
  const { omittedBytes } = command ?? {};
  if (omittedBytes !== undefined && omittedBytes !== null) {
    await site.reserve(heapOfText(omittedBytes));
    command = await read(omittedBytes);
  }
  if (command === null) throw new StepFailure('outcome_unknown', 'The command is gone.', { retryable: false });
  if (command.status === 'pending' || command.status === 'leased') {
    return {
      kind: 'waiting',
      for: 'open',
      wakeInSeconds: commandGraceSeconds,
      wait: { kind: 'node_command', commandId },
    };
  }
  ctx.trace?.command(site.index, commandId, command);
  if (command.status !== 'succeeded') {
    throw command.status === 'withdrawn'
      ? new StepFailure('withdrawn', 'The command was withdrawn.', { retryable: false })
      : commandFailure(command.error, command.output, acts);
  }
  return {
    kind: 'done',
    output: command.output,
    outputText: deps.nodes.textOf(command.output),
    effect: 'pure',
    rows: [],
  };
}
