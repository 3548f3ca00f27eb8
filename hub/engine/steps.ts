import { createHash } from 'node:crypto';
import { approvedRequestText, systemRun } from '../../shared/commands/system.ts';
import type { Step } from '../../shared/contract/workflows.ts';
import { toStorableJson, toStorableText } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { isTruthy, renderTemplates } from '../../shared/template.ts';
import { createApproval, findApproval } from '../modules/approvals/index.ts';
import type { ApprovalRow } from '../modules/approvals/index.ts';
import { assertNodeUsable } from '../modules/nodes/index.ts';
import type { Transaction } from '../platform/db/database.ts';
import type { StepWait } from '../platform/db/schema.ts';
import type { DirectSkill, EffectKind, NodeSkill, Skill, SkillContext, SkillOutcome } from '../skills/define.ts';
import { splitNodeInput } from '../skills/define.ts';
import type { EngineDependencies, HeldRun } from './held-run.ts';
import { StepFailure, commandFailure } from './failure.ts';
import { scopeOf } from './scope.ts';
import { advanceRun, readEffect, writeIntent, writeStep } from './store.ts';
import type { StepRow } from './store.ts';

/** How one visit to a step went. */
export type StepOutcome =
  | { kind: 'succeeded'; attempt: number; output: JsonValue; outputText: string; effect: EffectKind; persist?: SkillOutcome['persist'] }
  | { kind: 'skipped'; attempt: number }
  | { kind: 'failed'; attempt: number; failure: StepFailure }
  | {
      kind: 'waiting';
      attempt: number;
      status: 'running' | 'waiting_approval';
      /** When to look again even if nobody wakes the run, in seconds; null for never. */
      wakeInSeconds: number | null;
      /** Writes what the step waits for, in the transaction that lets the run go. */
      begin: (tx: Transaction) => Promise<StepWait>;
      /** Told after that commit. */
      committed?: () => void;
      /** False when what the step waits for could be asked for again without harm, so that its commit need not wait for the disk. */
      durable?: boolean;
    };

const maxOutputBytes = 4 * 1024 * 1024;
/** After a command's own deadline the sweep ends it; this is when the run looks by itself, in seconds. */
const commandGraceSeconds = 60;

/** Visits a step: begins it, or goes on where it waited or was left by a worker that died. */
export async function runStep(deps: EngineDependencies, held: HeldRun, index: number): Promise<StepOutcome> {
  const step = held.run.steps[index] as Step;
  const row = held.results.get(index);
  if (row === undefined || row.status === 'pending') return begin(deps, held, index, step, 1);
  if (row.wait?.kind === 'retry') return begin(deps, held, index, step, row.attempts + 1);
  if (row.wait?.kind === 'node_command') return resumeCommand(deps, held, row, row.wait.commandId);
  if (row.wait?.kind === 'approval') return resumeApproval(deps, held, index, step, row);
  return recover(deps, held, index, step, row);
}

/** A worker died in this step; what may be done now depends on what the step does to the world. */
async function recover(deps: EngineDependencies, held: HeldRun, index: number, step: Step, row: StepRow): Promise<StepOutcome> {
  const skill = step.type === 'skill' ? deps.skills.find(step.skillId) : undefined;
  if (skill?.kind === 'direct' && skill.effect === 'once') {
    const effect = await deps.db.workspace(held.run.tenant_id, (tx) => readEffect(tx, held.runId, index, row.attempts));
    if (effect === 'intent') {
      const failure = new StepFailure('outcome_unknown', `The worker died while ${skill.id} was under way; find out what happened before you retry.`, { retryable: false });
      return { kind: 'failed', attempt: row.attempts, failure };
    }
  }
  return begin(deps, held, index, step, row.attempts);
}

async function begin(deps: EngineDependencies, held: HeldRun, index: number, step: Step, attempt: number): Promise<StepOutcome> {
  const scope = scopeOf(held, index);
  if (step.when !== undefined && attempt === 1 && !isTruthy(renderTemplates(step.when, scope))) return { kind: 'skipped', attempt: 0 };
  if (step.type === 'approval') {
    const title = String(renderTemplates(step.title, scope)).slice(0, 500);
    const message = String(renderTemplates(step.message, scope)).slice(0, 20_000);
    return askApproval(held, index, attempt, { kind: 'step', title, message, request: { title, message }, onTimeout: step.onTimeout, expiresInSeconds: step.expiresInSeconds });
  }
  const skillId = step.type === 'log' ? 'log.write' : step.skillId;
  const skill = deps.skills.find(skillId);
  if (skill === undefined) throw new StepFailure('unknown_skill', `There is no skill "${skillId}".`, { retryable: false });
  const rendered = step.type === 'log' ? { message: asLine(renderTemplates(step.message, scope)), level: step.level } : renderTemplates(step.input, scope);
  const input = parseInput(skill, rendered);
  try {
    return skill.kind === 'direct'
      ? await executeDirect(deps, held, index, step, attempt, skill, input)
      : await beginNodeSkill(deps, held, index, step, attempt, skill, input);
  } catch (error) {
    // The try that failed must be known to whoever counts tries.
    if (error instanceof Error && !('attempt' in error)) Object.assign(error, { attempt });
    throw error;
  }
}

/** A log line is text, whatever a reference in it refers to. */
const asLine = (value: JsonValue) => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 10_000);

function parseInput(skill: Skill, rendered: JsonValue): Record<string, unknown> {
  const parsed = skill.input.safeParse(rendered);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `input${issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')} ${issue.message}`);
  throw new StepFailure('invalid_input', `${skill.id} can't use its input: ${problems.join('; ').slice(0, 2000)}`, { retryable: false });
}

async function executeDirect(deps: EngineDependencies, held: HeldRun, index: number, step: Step, attempt: number, skill: DirectSkill, input: Record<string, unknown>): Promise<StepOutcome> {
  const { run } = held;
  if (skill.effect !== 'pure') {
    const { effect, id: skillId } = skill;
    await deps.db.workspace(run.tenant_id, async (tx) => {
      await advanceRun(tx, held, { nextStep: index, ends: null, error: null });
      await writeStep(tx, run.id, run.tenant_id, { index, status: 'running', attempts: attempt, wait: null, output: null, outputText: null, error: null, finished: false });
      await writeIntent(tx, { runId: run.id, stepIndex: index, attempt, tenantId: run.tenant_id, skillId, kind: effect });
    });
  }
  const timeout = step.timeoutSeconds === undefined ? undefined : AbortSignal.timeout(step.timeoutSeconds * 1000);
  const signal = timeout === undefined ? held.signal : AbortSignal.any([held.signal, timeout]);
  const context: SkillContext = {
    tenantId: run.tenant_id,
    runId: run.id,
    stepIndex: index,
    attempt,
    environment: run.environment,
    idempotencyKey: `${run.id}-${index}-${attempt}`,
    signal,
  };
  try {
    const outcome = await untilAborted(skill.execute(input, context), signal);
    const output = toStorableJson(outcome.output);
    const text = JSON.stringify(output);
    if (text.length > maxOutputBytes) throw new StepFailure('output_too_large', `The output of ${skill.id} has ${text.length} characters; ${maxOutputBytes} is the most.`, { retryable: false });
    return { kind: 'succeeded', attempt, output, outputText: toStorableText(outcome.outputText ?? text), effect: skill.effect, ...(outcome.persist === undefined ? {} : { persist: outcome.persist }) };
  } catch (error) {
    if (timeout?.aborted === true && !held.signal.aborted) {
      throw new StepFailure('timeout', `${skill.id} took longer than ${step.timeoutSeconds} s.`, { retryable: skill.effect !== 'once', cause: error });
    }
    throw error;
  }
}

/** A skill that does not heed its signal must not hold the worker. */
async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    aborted.promise.catch(() => undefined);
  }
}

async function beginNodeSkill(deps: EngineDependencies, held: HeldRun, index: number, step: Step, attempt: number, skill: NodeSkill, input: Record<string, unknown>): Promise<StepOutcome> {
  const { command } = skill;
  const { nodeId } = splitNodeInput(input);
  await deps.db.workspace(held.run.tenant_id, (tx) => assertNodeUsable(tx, held.run.tenant_id, nodeId, command));
  if (!command.needsApproval) return dispatch(deps, held, index, step, attempt, skill, input as JsonObject, null);
  const text = approvedRequestText(nodeId, systemRun.input.parse(splitNodeInput(input).command));
  return askApproval(held, index, attempt, {
    kind: 'system.run',
    title: `${step.name ?? skill.title}: ${(input['argv'] as string[]).join(' ')}`.slice(0, 500),
    message: 'A workflow asks to run exactly this on the node.',
    request: toStorableJson(input) as JsonObject,
    requestHash: createHash('sha256').update(text).digest('hex'),
    onTimeout: 'reject',
    expiresInSeconds: step.timeoutSeconds === undefined ? 86_400 : Math.max(1, Math.round(step.timeoutSeconds)),
  });
}

function askApproval(held: HeldRun, index: number, attempt: number, approval: Omit<Parameters<typeof createApproval>[1], 'tenantId' | 'runId' | 'stepIndex' | 'attempt'>): StepOutcome {
  const { run } = held;
  return {
    kind: 'waiting',
    attempt,
    status: 'waiting_approval',
    wakeInSeconds: null,
    begin: async (tx) => ({ kind: 'approval', approvalId: await createApproval(tx, { tenantId: run.tenant_id, runId: run.id, stepIndex: index, attempt, ...approval }) }),
  };
}

async function resumeApproval(deps: EngineDependencies, held: HeldRun, index: number, step: Step, row: StepRow): Promise<StepOutcome> {
  const attempt = row.attempts;
  const approval = await deps.db.workspace(held.run.tenant_id, (tx) => findApproval(tx, held.runId, index, attempt));
  if (approval === null) return begin(deps, held, index, step, attempt);
  const by = approval.decidedBy ?? 'nobody';
  if (approval.status === 'pending') {
    return { kind: 'waiting', attempt, status: 'waiting_approval', wakeInSeconds: null, begin: async () => ({ kind: 'approval', approvalId: approval.id }) };
  }
  if (approval.status !== 'approved') {
    const code = approval.status === 'rejected' ? 'approval_rejected' : 'approval_expired';
    const message = approval.status === 'rejected' ? `Rejected by ${by}${approval.note === null || approval.note === '' ? '' : `: ${approval.note}`}` : 'Nobody decided in time.';
    return { kind: 'failed', attempt, failure: new StepFailure(code, message, { retryable: false }) };
  }
  if (approval.kind === 'system.run') return dispatchApproved(deps, held, index, step, attempt, approval);
  const output = { decision: 'approved', decidedBy: by, decidedAt: approval.decidedAt?.toISOString() ?? null, note: approval.note };
  return { kind: 'succeeded', attempt, output, outputText: approval.note ?? '', effect: 'pure' };
}

/** Sends what was approved: the stored request, byte for byte, and not what the templates would render now. */
async function dispatchApproved(deps: EngineDependencies, held: HeldRun, index: number, step: Step, attempt: number, approval: ApprovalRow): Promise<StepOutcome> {
  const skill = step.type === 'skill' ? deps.skills.find(step.skillId) : undefined;
  if (skill?.kind !== 'node') throw new StepFailure('unknown_skill', 'The step is not the one that was approved.', { retryable: false });
  const input = parseInput(skill, approval.request);
  const { nodeId, command } = splitNodeInput(input);
  const requestHash = createHash('sha256').update(approvedRequestText(nodeId, systemRun.input.parse(command))).digest('hex');
  if (requestHash !== approval.requestHash) throw new StepFailure('approval_mismatch', 'The request is not the one that was approved.', { retryable: false });
  await deps.db.workspace(held.run.tenant_id, (tx) => assertNodeUsable(tx, held.run.tenant_id, nodeId, skill.command));
  return dispatch(deps, held, index, step, attempt, skill, input as JsonObject, {
    id: approval.id,
    requestHash,
    approvedBy: approval.decidedBy ?? 'unknown',
    approvedAt: (approval.decidedAt ?? new Date()).toISOString(),
  });
}

function dispatch(deps: EngineDependencies, held: HeldRun, index: number, step: Step, attempt: number, skill: NodeSkill, input: JsonObject, approval: { id: string; requestHash: string; approvedBy: string; approvedAt: string } | null): StepOutcome {
  const { run } = held;
  const { nodeId, waitMs, command } = splitNodeInput(input);
  const timeoutMs = (command as { timeoutMs?: number }).timeoutMs ?? skill.command.timeoutMs;
  const deadlineAt = step.timeoutSeconds === undefined ? null : new Date(Date.now() + step.timeoutSeconds * 1000);
  return {
    kind: 'waiting',
    attempt,
    status: 'running',
    wakeInSeconds: (waitMs + timeoutMs) / 1000 + commandGraceSeconds,
    begin: async (tx) => {
      const request = { tenantId: run.tenant_id, nodeId, runId: run.id, stepIndex: index, attempt, command: skill.command, input: command, waitMs, deadlineAt, approval };
      const { commandId } = await deps.nodeCommands.dispatch(tx, request);
      return { kind: 'node_command', commandId };
    },
    committed: () => deps.nodeCommands.announce(nodeId),
    durable: skill.command.acts,
  };
}

async function resumeCommand(deps: EngineDependencies, held: HeldRun, row: StepRow, commandId: string): Promise<StepOutcome> {
  const attempt = row.attempts;
  const command = await deps.db.workspace(held.run.tenant_id, (tx) => deps.nodeCommands.find(tx, commandId));
  if (command === null) throw new StepFailure('outcome_unknown', 'The command is gone.', { retryable: false });
  if (command.status === 'pending' || command.status === 'leased') {
    return { kind: 'waiting', attempt, status: 'running', wakeInSeconds: commandGraceSeconds, begin: async () => ({ kind: 'node_command', commandId }) };
  }
  if (command.status !== 'succeeded') {
    const failure = command.status === 'withdrawn' ? new StepFailure('withdrawn', 'The command was withdrawn.', { retryable: false }) : commandFailure(command.error);
    return { kind: 'failed', attempt, failure };
  }
  const output = command.output;
  return { kind: 'succeeded', attempt, output, outputText: textOf(output), effect: 'pure' };
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
