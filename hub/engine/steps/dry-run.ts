import type { CommandDefinition } from '../../../shared/commands/define.ts';
import type { Step } from '../../../shared/contract/automations/steps.ts';
import type { DryRun } from '../../../shared/contract/automations/workflows.ts';
import { AppError } from '../../../shared/errors.ts';
import { fieldPath } from '../../../shared/field-path.ts';
import { matchesGlob } from '../../../shared/glob.ts';
import { schemaMessage } from '../../../shared/issue-messages.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { nodeSelection } from '../../../shared/node-selection.ts';
import type { NodeSelection } from '../../../shared/node-selection.ts';
import { RenderBudget, TemplateError, isTruthy, renderKnownTemplates } from '../../../shared/template.ts';
import type { KnownScope } from '../../../shared/template.ts';
import { describeEffect } from '../skill.ts';
import type { Skill, SkillCatalog } from '../skill.ts';
import { callOf } from './steps.ts';

type DryStep = DryRun['steps'][number];

/** The most characters that the inputs of all steps may have in one answer. */
const maxShownCharacters = 4 * 1024 * 1024;

/** What is known before the run, and what may still be shown of it. */
interface Known {
  scope: KnownScope;
  budget: RenderBudget;
}

/**
 * Renders what can be known of a value. What would fail the step in a run is told as a problem, with the value as it is written.
 * @throws AppError `payload_too_large` when the answer as a whole would be too long.
 */
function render(
  value: JsonValue,
  { scope, budget }: Known,
): { value: JsonValue; unresolved: string[]; problems: string[] } {
  const own = new RenderBudget();
  const room = own.left;
  try {
    const rendered = renderKnownTemplates(value, scope, own);
    budget.spend(room - own.left, '');
    return { ...rendered, problems: [] };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    if (own.left >= 0 && budget.left < 0)
      throw new AppError(
        'payload_too_large',
        `A dry run shows at most ${maxShownCharacters} characters of all its inputs together, and these steps would have more; try it with a smaller context or payload.`,
      );
    return { value, unresolved: [], problems: [error.message] };
  }
}

function willRun(step: Step, known: Known): DryStep['willRun'] {
  if (step.when === undefined) return 'yes';
  const { value, unresolved, problems } = render(step.when, known);
  if (unresolved.length > 0 || problems.length > 0) return 'unknown';
  return isTruthy(value) ? 'yes' : 'no';
}

function problemsOf(skill: Skill, input: JsonValue, unresolved: string[]): string[] {
  const parsed = skill.input.safeParse(input);
  if (parsed.success) return [];
  // A field that still holds a reference can't be judged before it is known.
  return parsed.error.issues
    .filter(
      (issue) =>
        !(
          unresolved.length > 0 &&
          JSON.stringify(
            issue.path.reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part], input) ??
              '',
          ).includes('{{')
        ),
    )
    .map((issue) => `${fieldPath(['input', ...issue.path])} ${schemaMessage(issue)}`);
}

function dryStep(
  step: Step,
  index: number,
  known: Known,
  skills: SkillCatalog,
  approvalsRequiredFor: readonly string[],
): DryStep {
  const common = { index, id: step.id ?? null, type: step.type, willRun: willRun(step, known) };
  if (step.type === 'approval') {
    const { value, unresolved, problems } = render({ title: step.title, message: step.message }, known);
    return {
      ...common,
      skillId: null,
      input: value,
      unresolved,
      effect: 'waits for a person',
      needsApproval: true,
      problems,
    };
  }
  if (step.type === 'agent') {
    const { value, unresolved, problems } = render({ prompt: step.prompt }, known);
    return {
      ...common,
      skillId: null,
      input: value,
      unresolved,
      effect: 'asks a model, which may call the skills of its tool profile',
      needsApproval: false,
      problems,
    };
  }
  const { skillId, input } = callOf(step);
  const skill = skills.find(skillId);
  const { value, unresolved, problems } = render(input, known);
  const needsApproval =
    approvalsRequiredFor.some((pattern) => matchesGlob(pattern, skillId)) ||
    (skill?.kind === 'node' && skill.command.needsApproval);
  return {
    ...common,
    skillId,
    input: value,
    unresolved,
    effect: skill === undefined ? 'unknown' : describeEffect(skill),
    needsApproval,
    problems:
      skill === undefined
        ? [`there is no skill "${skillId}"`]
        : problems.length > 0
          ? problems
          : problemsOf(skill, value, unresolved),
  };
}

/** The problems of the nodes that the inputs of node skills name. Each node and command is checked once. */
async function nodeProblems(
  steps: readonly DryStep[],
  skills: SkillCatalog,
  problemOf: (node: NodeSelection, command: CommandDefinition) => Promise<string | null>,
): Promise<Map<number, string>> {
  const found = new Map<string, string | null>();
  const problems = new Map<number, string>();
  for (const { index, skillId, input } of steps) {
    const skill = skillId === null ? undefined : skills.find(skillId);
    if (skill?.kind !== 'node' || typeof input !== 'object' || input === null || Array.isArray(input)) continue;
    const given = nodeSelection(input);
    // A reference that only the run resolves names no node yet.
    if (given === null || JSON.stringify(given).includes('{{')) continue;
    const key = JSON.stringify([given, skill.command.type]);
    if (!found.has(key)) found.set(key, await problemOf(given, skill.command));
    const problem = found.get(key) ?? null;
    if (problem !== null) problems.set(index, problem);
  }
  return problems;
}

/** What a run of these steps would do, with its templates resolved as far as they can be; nothing is done. */
export async function dryRunSteps(
  steps: readonly Step[],
  skills: SkillCatalog,
  policy: { approvalsRequiredFor: readonly string[] },
  input: { workflowId: string; context: string | null; payload: JsonObject | null },
  nodeProblem: (node: NodeSelection, command: CommandDefinition) => Promise<string | null>,
): Promise<DryRun> {
  const scope: KnownScope = {
    context: input.context ?? '',
    payload: input.payload ?? {},
    trigger: { type: 'manual' },
    now: new Date().toISOString(),
  };
  const known: Known = { scope, budget: new RenderBudget(maxShownCharacters) };
  const dry = steps.map((step, index) => dryStep(step, index, known, skills, policy.approvalsRequiredFor));
  const problems = await nodeProblems(
    dry.filter((step) => step.problems.length === 0),
    skills,
    nodeProblem,
  );
  for (const step of dry) step.problems.push(...[problems.get(step.index) ?? []].flat());
  return { dryRun: true, runnable: dry.every((step) => step.problems.length === 0), steps: dry };
}
