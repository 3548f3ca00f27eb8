import type { DryRun } from '../../shared/contract/workflows.ts';
import type { Step } from '../../shared/contract/steps.ts';
import { matchesGlob } from '../../shared/glob.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { isTruthy, renderKnownTemplates } from '../../shared/template.ts';
import type { KnownScope } from '../../shared/template.ts';
import { describeEffect } from '../skills/define.ts';
import type { Skill, SkillCatalog } from '../skills/define.ts';
import { callOf } from './steps.ts';

type DryStep = DryRun['steps'][number];

function willRun(step: Step, scope: KnownScope): DryStep['willRun'] {
  if (step.when === undefined) return 'yes';
  const { value, unresolved } = renderKnownTemplates(step.when, scope);
  if (unresolved.length > 0) return 'unknown';
  return isTruthy(value) ? 'yes' : 'no';
}

function problemsOf(skill: Skill, input: JsonValue, unresolved: string[]): string[] {
  const parsed = skill.input.safeParse(input);
  if (parsed.success) return [];
  // A field that still holds a reference can't be judged before it is known.
  return parsed.error.issues
    .filter((issue) => !(unresolved.length > 0 && JSON.stringify(issue.path.reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part], input) ?? '').includes('{{')))
    .map((issue) => `input${issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')} ${issue.message}`);
}

function dryStep(step: Step, index: number, scope: KnownScope, skills: SkillCatalog, approvalsRequiredFor: readonly string[]): DryStep {
  const common = { index, id: step.id ?? null, type: step.type, willRun: willRun(step, scope) };
  if (step.type === 'approval') {
    const { value, unresolved } = renderKnownTemplates({ title: step.title, message: step.message }, scope);
    return { ...common, skillId: null, input: value, unresolved, effect: 'waits for a person', needsApproval: true, problems: [] };
  }
  if (step.type === 'agent') {
    const { value, unresolved } = renderKnownTemplates({ prompt: step.prompt }, scope);
    return { ...common, skillId: null, input: value, unresolved, effect: 'asks a model, which may call the skills of its tool profile', needsApproval: false, problems: [] };
  }
  const { skillId, input } = callOf(step);
  const skill = skills.find(skillId);
  const { value, unresolved } = renderKnownTemplates(input, scope);
  const needsApproval = approvalsRequiredFor.some((pattern) => matchesGlob(pattern, skillId)) || (skill?.kind === 'node' && skill.command.needsApproval);
  return { ...common, skillId, input: value, unresolved, effect: skill === undefined ? 'unknown' : describeEffect(skill), needsApproval, problems: skill === undefined ? [`there is no skill "${skillId}"`] : problemsOf(skill, value, unresolved) };
}

/** What a run of these steps would do, with its templates resolved as far as they can be; nothing is done. */
export function dryRunSteps(steps: readonly Step[], skills: SkillCatalog, policy: { approvalsRequiredFor: readonly string[] }, input: { workflowId: string; context: string | null; payload: JsonObject | null }): DryRun {
  const scope: KnownScope = { context: input.context ?? '', payload: input.payload ?? {}, trigger: { type: 'manual' }, now: new Date().toISOString() };
  const dry = steps.map((step, index) => dryStep(step, index, scope, skills, policy.approvalsRequiredFor));
  return { dryRun: true, runnable: dry.every((step) => step.problems.length === 0), steps: dry };
}
