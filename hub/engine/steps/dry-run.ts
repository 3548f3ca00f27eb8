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

type DryRunStep = DryRun['steps'][number];

/** Maximum characters of the inputs of all steps in one response. */
const maxShownCharacters = 4 * 1024 * 1024;

/** The values that are known before the run, and the remaining characters of the response. */
interface DryRunContext {
  scope: KnownScope;
  budget: RenderBudget;
}

/**
 * Renders the templates of a value whose references are known before the run. An error that would fail the step is returned
 * as a problem, with the unrendered value.
 * @throws AppError `payload_too_large` if the whole response would be too long.
 */
function renderKnown(
  value: JsonValue,
  { scope, budget }: DryRunContext,
): { value: JsonValue; unresolved: string[]; problems: string[] } {
  const valueBudget = new RenderBudget();
  const available = valueBudget.left;
  try {
    const rendered = renderKnownTemplates(value, scope, valueBudget);
    budget.spend(available - valueBudget.left, '');
    return { ...rendered, problems: [] };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    if (valueBudget.left >= 0 && budget.left < 0)
      throw new AppError(
        'payload_too_large',
        `A dry run shows at most ${maxShownCharacters} characters of all its inputs together, and these steps would have more; try it with a smaller context or payload.`,
      );
    return { value, unresolved: [], problems: [error.message] };
  }
}

function evaluateCondition(step: Step, known: DryRunContext): DryRunStep['willRun'] {
  if (step.when === undefined) return 'yes';
  const { value, unresolved, problems } = renderKnown(step.when, known);
  if (unresolved.length > 0 || problems.length > 0) return 'unknown';
  return isTruthy(value) ? 'yes' : 'no';
}

function findInputProblems(skill: Skill, input: JsonValue, unresolved: string[]): string[] {
  const parsed = skill.input.safeParse(input);
  if (parsed.success) return [];
  // A field with an unresolved reference cannot be validated before the run.
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

function dryRunStep(
  step: Step,
  index: number,
  known: DryRunContext,
  skills: SkillCatalog,
  approvalsRequiredFor: readonly string[],
): DryRunStep {
  const common = { index, id: step.id ?? null, type: step.type, willRun: evaluateCondition(step, known) };
  if (step.type === 'approval') {
    const { value, unresolved, problems } = renderKnown({ title: step.title, message: step.message }, known);
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
    const { value, unresolved, problems } = renderKnown({ prompt: step.prompt }, known);
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
  const { value, unresolved, problems } = renderKnown(input, known);
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
          : findInputProblems(skill, value, unresolved),
  };
}

/** Finds problems of the nodes that the inputs of node skills select. Each pair of node and command is checked once. */
async function findNodeProblems(
  steps: readonly DryRunStep[],
  skills: SkillCatalog,
  problemOf: (node: NodeSelection, command: CommandDefinition) => Promise<string | null>,
): Promise<Map<number, string>> {
  const problemsByKey = new Map<string, string | null>();
  const problems = new Map<number, string>();
  for (const { index, skillId, input } of steps) {
    const skill = skillId === null ? undefined : skills.find(skillId);
    if (skill?.kind !== 'node' || typeof input !== 'object' || input === null || Array.isArray(input)) continue;
    const selection = nodeSelection(input);
    // A reference that only the run can resolve selects no node yet.
    if (selection === null || JSON.stringify(selection).includes('{{')) continue;
    const key = JSON.stringify([selection, skill.command.type]);
    if (!problemsByKey.has(key)) problemsByKey.set(key, await problemOf(selection, skill.command));
    const problem = problemsByKey.get(key) ?? null;
    if (problem !== null) problems.set(index, problem);
  }
  return problems;
}

/** Describes what a run of these steps would do, with templates resolved as far as possible. No step is executed. */
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
  const known: DryRunContext = { scope, budget: new RenderBudget(maxShownCharacters) };
  const results = steps.map((step, index) => dryRunStep(step, index, known, skills, policy.approvalsRequiredFor));
  const problems = await findNodeProblems(
    results.filter((step) => step.problems.length === 0),
    skills,
    nodeProblem,
  );
  for (const step of results) step.problems.push(...[problems.get(step.index) ?? []].flat());
  return { dryRun: true, runnable: results.every((step) => step.problems.length === 0), steps: results };
}
