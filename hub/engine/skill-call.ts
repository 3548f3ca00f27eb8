import { createHash } from 'node:crypto';
import { z } from 'zod';
import { approvedRequestText, systemRun } from '../../shared/commands/system.ts';
import { AppError } from '../../shared/errors.ts';
import { matchesGlob } from '../../shared/glob.ts';
import { canonicalJson, toStorableJson, toStorableText } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { createApproval, findApproval, findApprovedRequest, openApproval } from '../modules/approvals/index.ts';
import type { ApprovalRow } from '../modules/approvals/index.ts';
import { assertNodeUsable } from '../modules/nodes/index.ts';
import { maxRunDepth } from '../modules/runs/index.ts';
import type { PromisedJob } from '../modules/runs/index.ts';
import type { Transaction } from '../platform/db/database.ts';
import type { StepWait } from '../platform/db/schema.ts';
import type { DirectSkill, EffectKind, NodeSkill, Skill, SkillContext, SkillOutcome, SpawnSkill } from '../skills/define.ts';
import { splitNodeInput } from '../skills/define.ts';
import { StepFailure, commandFailure } from './failure.ts';
import type { EngineDependencies, HeldRun } from './held-run.ts';
import { advanceRun, readEffect, writeIntent, writeStep } from './store.ts';

/** One call of a skill: that of a skill step, or one of an agent's tool calls within its step. */
export interface CallSite {
  index: number;
  attempt: number;
  /** 0 for the step itself. */
  call: number;
  /** What people call it, in an approval. */
  label: string | undefined;
  timeoutSeconds: number | undefined;
  /** What the step has done so far, to be kept with whatever is written. */
  state: JsonObject | null;
}

/** What a call waits for without a worker. */
export interface Waiting {
  kind: 'waiting';
  status: 'running' | 'waiting_approval';
  /** When to look again even if nobody wakes the run, in seconds; null for never. */
  wakeInSeconds: number | null;
  /** Writes what is waited for, in the transaction that lets the run go. */
  begin: (tx: Transaction) => Promise<StepWait>;
  /** Told after that commit. */
  committed?: () => void;
  /** False when it could be asked for again without harm, so that its commit need not wait for the disk. */
  durable?: boolean;
}

/** A wait for an approval that was not asked for before. */
export interface Asked extends Waiting {
  requestHash: string;
}

export type CallOutcome = { kind: 'done'; output: JsonValue; outputText: string; effect: EffectKind; persist?: SkillOutcome['persist'] } | Waiting;

const maxOutputBytes = 4 * 1024 * 1024;
/** After a command's own deadline the sweep ends it; this is when the run looks by itself, in seconds. */
const commandGraceSeconds = 60;
/** How often a run looks after the one that it waits for, should nobody wake it, in seconds. */
const childGraceSeconds = 300;
const approvalSeconds = 86_400;

/** Looks a skill up. @throws StepFailure. */
export function skillOf(deps: EngineDependencies, skillId: string): Skill {
  const skill = deps.skills.find(skillId);
  if (skill === undefined) throw new StepFailure('unknown_skill', `There is no skill "${skillId.slice(0, 100)}".`, { retryable: false });
  return skill;
}

/** Parses what a skill is called with. @throws StepFailure that names each field. */
export function parseInput(skill: Skill, rendered: JsonValue): Record<string, unknown> {
  const parsed = skill.input.safeParse(rendered);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `input${issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')} ${issue.message}`);
  throw new StepFailure('invalid_input', `${skill.id} can't use its input: ${problems.join('; ').slice(0, 2000)}`, { retryable: false });
}

/** Begins a call: carries it out, hands it to a node, starts a run, or asks for the approval that must come first. */
export async function beginCall(deps: EngineDependencies, held: HeldRun, site: CallSite, skill: Skill, rendered: JsonValue): Promise<CallOutcome> {
  const input = parseInput(skill, rendered);
  const isGated = held.run.approvals_required_for?.some((pattern) => matchesGlob(pattern, skill.id)) === true;
  // A node's own gate asks in its own words, for exactly what the device will check.
  if (isGated && !(skill.kind === 'node' && skill.command.needsApproval)) return askOnce(deps, held, site, skill, () => askForSkill(held, site, skill, rendered));
  return carryOut(deps, held, site, skill, input);
}

/** Asks for an approval unless that was done before, by a worker that died after it was given: then what was approved is carried out. */
export async function askOnce(deps: EngineDependencies, held: HeldRun, site: CallSite, skill: Skill, ask: () => Asked): Promise<CallOutcome> {
  const settled = await settledApproval(deps, held, site);
  if (settled === null) {
    const waiting = ask();
    // A further try of the very same thing was approved with the first one.
    const earlier = site.attempt === 1 ? null : await deps.db.workspace(held.run.tenant_id, (tx) => findApprovedRequest(tx, held.runId, site.index, site.call, waiting.requestHash));
    return earlier === null ? waiting : carryOutApproved(deps, held, site, skill, earlier);
  }
  return 'row' in settled ? carryOutApproved(deps, held, site, skill, settled.row) : settled;
}

/** Goes on with a call that waited. */
export async function resumeCall(deps: EngineDependencies, held: HeldRun, site: CallSite, skill: Skill, wait: StepWait, again: () => Promise<CallOutcome>): Promise<CallOutcome> {
  switch (wait.kind) {
    case 'node_command':
      return resumeCommand(deps, held, wait.commandId);
    case 'run':
      return resumeChild(deps, held, wait.runId);
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

/** After a worker died in a call that may not be repeated, nobody knows what became of it. @throws StepFailure `outcome_unknown`. */
export async function assertNotInDoubt(deps: EngineDependencies, held: HeldRun, site: CallSite, skill: Skill | undefined): Promise<void> {
  if (skill?.kind !== 'direct' || skill.effect !== 'once') return;
  const key = { runId: held.runId, stepIndex: site.index, attempt: site.attempt, call: site.call };
  const effect = await deps.db.workspace(held.run.tenant_id, (tx) => readEffect(tx, key));
  if (effect === 'intent') throw new StepFailure('outcome_unknown', `The worker died while ${skill.id} was under way; find out what happened before you retry.`, { retryable: false });
}

/** Asks for an approval, once for each call. */
export function askApproval(held: HeldRun, site: CallSite, approval: Omit<Parameters<typeof createApproval>[1], 'tenantId' | 'runId' | 'stepIndex' | 'attempt' | 'call'>): Asked {
  const { run } = held;
  const { index: stepIndex, attempt, call } = site;
  return {
    kind: 'waiting',
    status: 'waiting_approval',
    wakeInSeconds: null,
    requestHash: approval.requestHash ?? hashOf(canonicalJson(approval.request)),
    begin: async (tx) => ({ kind: 'approval', approvalId: await createApproval(tx, { tenantId: run.tenant_id, runId: run.id, stepIndex, attempt, call, ...approval }) }),
  };
}

/** The approval of a call once it was given; the wait for it while it is open; null when it was never asked for. @throws StepFailure when it was refused or came too late. */
export async function settledApproval(deps: EngineDependencies, held: HeldRun, site: CallSite): Promise<{ row: ApprovalRow } | Waiting | null> {
  const row = await deps.db.workspace(held.run.tenant_id, (tx) => findApproval(tx, held.runId, site.index, site.attempt, site.call));
  if (row === null) return null;
  if (row.status === 'pending') return { kind: 'waiting', status: 'waiting_approval', wakeInSeconds: null, begin: async () => ({ kind: 'approval', approvalId: row.id }) };
  if (row.status === 'approved') return { row };
  const by = row.decidedBy ?? 'nobody';
  if (row.status === 'rejected') throw new StepFailure('approval_rejected', `Rejected by ${by}${row.note === null || row.note === '' ? '' : `: ${row.note}`}`, { retryable: false });
  throw new StepFailure('approval_expired', 'Nobody decided in time.', { retryable: false });
}

/** Who started a run by hand, as approvals know them. */
export function requesterOf(held: HeldRun): string | null {
  const by = held.run.trigger['by'];
  return typeof by === 'string' && by.startsWith('user:') ? by : null;
}

function askForSkill(held: HeldRun, site: CallSite, skill: Skill, rendered: JsonValue): Asked {
  const message = `The policy of this workspace asks for an approval before ${skill.id}. What runs is exactly what is shown.`;
  const request = { skillId: skill.id, input: toStorableJson(rendered) };
  return askApproval(held, site, { ...openApproval, kind: 'step', title: `${site.label ?? skill.title}`.slice(0, 500), message, request, onTimeout: 'reject', expiresInSeconds: approvalSeconds });
}

/** Carries out what was approved: the stored request, and not what the templates would render now. */
async function carryOutApproved(deps: EngineDependencies, held: HeldRun, site: CallSite, skill: Skill, approval: ApprovalRow): Promise<CallOutcome> {
  const mismatch = () => new StepFailure('approval_mismatch', 'The request is not the one that was approved.', { retryable: false });
  if (approval.kind === 'system.run') {
    if (skill.kind !== 'node') throw mismatch();
    const input = parseInput(skill, approval.request);
    const { nodeId, command } = splitNodeInput(input);
    const requestHash = hashOf(approvedRequestText(nodeId, systemRun.input.parse(command)));
    if (requestHash !== approval.requestHash) throw mismatch();
    await deps.db.workspace(held.run.tenant_id, (tx) => assertNodeUsable(tx, held.run.tenant_id, nodeId, skill.command));
    return dispatch(deps, held, site, skill, input as JsonObject, { id: approval.id, requestHash, approvedBy: approval.decidedBy ?? 'unknown', approvedAt: (approval.decidedAt ?? new Date()).toISOString() });
  }
  const { skillId, input } = approval.request as { skillId?: string; input?: JsonValue };
  if (skillId !== skill.id || input === undefined || hashOf(canonicalJson(approval.request)) !== approval.requestHash) throw mismatch();
  await assertNotInDoubt(deps, held, site, skill);
  return carryOut(deps, held, site, skill, parseInput(skill, input));
}

function carryOut(deps: EngineDependencies, held: HeldRun, site: CallSite, skill: Skill, input: Record<string, unknown>): Promise<CallOutcome> {
  if (skill.kind === 'direct') return executeDirect(deps, held, site, skill, input);
  if (skill.kind === 'node') return beginCommand(deps, held, site, skill, input);
  return beginChild(deps, held, skill, input);
}

async function executeDirect(deps: EngineDependencies, held: HeldRun, site: CallSite, skill: DirectSkill, input: Record<string, unknown>): Promise<CallOutcome> {
  const { run } = held;
  const { index, attempt, call, timeoutSeconds, state } = site;
  if (skill.effect !== 'pure') {
    const { effect, id: skillId } = skill;
    await deps.db.workspace(run.tenant_id, async (tx) => {
      await advanceRun(tx, held, { nextStep: index, ends: null, error: null });
      await writeStep(tx, run.id, run.tenant_id, { index, status: 'running', attempts: attempt, wait: null, state, output: null, outputText: null, error: null, finished: false });
      await writeIntent(tx, { runId: run.id, stepIndex: index, attempt, call }, { tenantId: run.tenant_id, skillId, kind: effect });
    });
  }
  const timeout = timeoutSeconds === undefined ? undefined : AbortSignal.timeout(Math.ceil(timeoutSeconds * 1000));
  const signal = timeout === undefined ? held.signal : AbortSignal.any([held.signal, timeout]);
  const sessionId = run.trigger['sessionId'];
  const context: SkillContext = {
    tenantId: run.tenant_id,
    runId: run.id,
    stepIndex: index,
    attempt,
    depth: run.depth,
    sessionId: typeof sessionId === 'string' ? sessionId : null,
    environment: run.environment,
    idempotencyKey: `${run.id}-${index}-${attempt}${call === 0 ? '' : `-${call}`}`,
    signal,
  };
  try {
    const outcome = await untilAborted(skill.execute(input, context), signal);
    const output = toStorableJson(outcome.output);
    const text = JSON.stringify(output);
    if (text.length > maxOutputBytes) throw new StepFailure('output_too_large', `The output of ${skill.id} has ${text.length} characters; ${maxOutputBytes} is the most.`, { retryable: false });
    return { kind: 'done', output, outputText: toStorableText(outcome.outputText ?? text), effect: skill.effect, ...(outcome.persist === undefined ? {} : { persist: outcome.persist }) };
  } catch (error) {
    if (timeout?.aborted === true && !held.signal.aborted) {
      throw new StepFailure('timeout', `${skill.id} took longer than ${timeoutSeconds} s.`, { retryable: skill.effect !== 'once', cause: error });
    }
    throw error;
  }
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

async function beginCommand(deps: EngineDependencies, held: HeldRun, site: CallSite, skill: NodeSkill, input: Record<string, unknown>): Promise<CallOutcome> {
  const { command } = skill;
  const { nodeId } = splitNodeInput(input);
  await deps.db.workspace(held.run.tenant_id, (tx) => assertNodeUsable(tx, held.run.tenant_id, nodeId, command));
  if (!command.needsApproval) return dispatch(deps, held, site, skill, input as JsonObject, null);
  const text = approvedRequestText(nodeId, systemRun.input.parse(splitNodeInput(input).command));
  return askApproval(held, site, {
    ...openApproval,
    kind: 'system.run',
    title: `${site.label ?? skill.title}: ${(input['argv'] as string[]).join(' ')}`.slice(0, 500),
    message: 'A workflow asks to run exactly this on the node.',
    request: toStorableJson(input) as JsonObject,
    requestHash: hashOf(text),
    onTimeout: 'reject',
    expiresInSeconds: site.timeoutSeconds === undefined ? approvalSeconds : Math.max(1, Math.round(site.timeoutSeconds)),
  });
}

function dispatch(deps: EngineDependencies, held: HeldRun, site: CallSite, skill: NodeSkill, input: JsonObject, approval: { id: string; requestHash: string; approvedBy: string; approvedAt: string } | null): Waiting {
  const { run } = held;
  const { index: stepIndex, attempt, call, timeoutSeconds } = site;
  const { nodeId, waitMs, command } = splitNodeInput(input);
  const timeoutMs = (command as { timeoutMs?: number }).timeoutMs ?? skill.command.timeoutMs;
  const deadlineAt = timeoutSeconds === undefined ? null : new Date(Date.now() + timeoutSeconds * 1000);
  return {
    kind: 'waiting',
    status: 'running',
    wakeInSeconds: (waitMs + timeoutMs) / 1000 + commandGraceSeconds,
    begin: async (tx) => {
      const { commandId } = await deps.nodeCommands.dispatch(tx, { tenantId: run.tenant_id, nodeId, runId: run.id, stepIndex, attempt, call, command: skill.command, input: command, waitMs, deadlineAt, approval });
      return { kind: 'node_command', commandId };
    },
    committed: () => deps.nodeCommands.announce(nodeId),
    durable: skill.command.acts,
  };
}

async function resumeCommand(deps: EngineDependencies, held: HeldRun, commandId: string): Promise<CallOutcome> {
  const command = await deps.db.workspace(held.run.tenant_id, (tx) => deps.nodeCommands.find(tx, commandId));
  if (command === null) throw new StepFailure('outcome_unknown', 'The command is gone.', { retryable: false });
  if (command.status === 'pending' || command.status === 'leased') {
    return { kind: 'waiting', status: 'running', wakeInSeconds: commandGraceSeconds, begin: async () => ({ kind: 'node_command', commandId }) };
  }
  if (command.status !== 'succeeded') {
    throw command.status === 'withdrawn' ? new StepFailure('withdrawn', 'The command was withdrawn.', { retryable: false }) : commandFailure(command.error);
  }
  return { kind: 'done', output: command.output, outputText: textOf(command.output), effect: 'pure' };
}

const spawnInput = z.object({ workflowId: z.string(), context: z.string().optional(), payload: z.record(z.string(), z.unknown()).optional() });

async function beginChild(deps: EngineDependencies, held: HeldRun, skill: SpawnSkill, input: Record<string, unknown>): Promise<CallOutcome> {
  const { run } = held;
  const { workflowId, context, payload } = spawnInput.parse(input);
  if (run.depth + 1 >= maxRunDepth) throw new StepFailure('depth_exceeded', `${run.depth + 1} runs each started the next; a loop is ended here.`, { retryable: false });
  const after: (() => void)[] = [];
  const jobs: PromisedJob[] = [];
  return {
    kind: 'waiting',
    status: 'running',
    wakeInSeconds: childGraceSeconds,
    begin: async (tx) => {
      try {
        const child = await deps.startChild(tx, { tenantId: run.tenant_id, workflowId, parentRunId: run.id, depth: run.depth + 1, context: context ?? null, payload: (payload as JsonObject | undefined) ?? null, environment: run.environment });
        jobs.push(child.job);
        after.push(child.committed);
        return { kind: 'run', runId: child.runId };
      } catch (error) {
        if (error instanceof AppError && error.code !== 'unavailable') throw new StepFailure('subagent_refused', `${skill.id} could not start its workflow: ${error.message}`, { retryable: error.code === 'workflow_limit_reached', cause: error });
        throw error;
      }
    },
    committed: () => {
      after.forEach((tell) => tell());
      deps.dispatch(jobs);
    },
  };
}

async function resumeChild(deps: EngineDependencies, held: HeldRun, runId: string): Promise<CallOutcome> {
  const child = await deps.db.workspace(held.run.tenant_id, async (tx) => {
    const { rows } = await tx.query<{ status: string; error: { code: string; message: string } | null; output: JsonValue; output_text: string | null }>(
      'read_child',
      `SELECT r.status, r.error, s.output, s.output_text FROM runs r
       LEFT JOIN LATERAL (SELECT output, output_text FROM run_steps WHERE run_id = r.id AND status = 'succeeded' ORDER BY index DESC LIMIT 1) s ON true
       WHERE r.id = $1`,
      [runId],
    );
    return rows[0];
  });
  switch (child?.status) {
    case 'succeeded':
      return { kind: 'done', output: { runId, status: 'succeeded', output: child.output ?? null }, outputText: child.output_text ?? '', effect: 'pure' };
    case 'failed':
      throw new StepFailure('subagent_failed', `The run ${runId} failed: ${child.error?.message ?? 'it gave no reason'}`, { retryable: false });
    case 'cancelled':
      throw new StepFailure('subagent_cancelled', `The run ${runId} was cancelled.`, { retryable: false });
    case undefined:
      throw new StepFailure('subagent_failed', `The run ${runId} is gone.`, { retryable: false });
    default:
      return { kind: 'waiting', status: 'running', wakeInSeconds: childGraceSeconds, begin: async () => ({ kind: 'run', runId }) };
  }
}

/** What a person would read of a node's answer: its text, else its JSON. */
function textOf(output: JsonValue): string {
  if (typeof output === 'object' && output !== null && !Array.isArray(output)) {
    for (const key of ['stdout', 'text', 'content']) {
      const value = output[key];
      if (typeof value === 'string') return value;
    }
  }
  return JSON.stringify(output);
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
