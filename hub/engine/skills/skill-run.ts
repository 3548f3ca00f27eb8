import type { Step } from '../../../shared/contract/automations/steps.ts';
import type { JsonObject } from '../../../shared/json.ts';

/**
 * A direct call of a skill is a run with one step. The workflow of the run names only the skill. The input of the step is the
 * payload of the run, unchanged: templates in it are not rendered.
 */

/** Options of the step that a caller of a skill can set. */
type SkillRunOptions = Pick<Extract<Step, { type: 'skill' }>, 'timeoutSeconds' | 'retry'>;

/** The trigger of a direct call of a skill. Callers cannot set the type of a trigger, so only these runs have the type `skill`. */
export const skillTrigger = (skillId: string, by: string, options: SkillRunOptions) => ({
  type: 'skill',
  skillId,
  by,
  ...(JSON.parse(JSON.stringify(options)) as JsonObject),
});

/** Whether a run is a direct call of a skill. */
export const isSkillRun = ({ trigger }: { trigger: JsonObject }) => trigger['type'] === 'skill';

/** The steps of a run. For a direct call of a skill, adds the payload as input and the options of the caller to the step. */
export function stepsOf(run: { trigger: JsonObject; payload: JsonObject | null; steps: Step[] }): Step[] {
  if (!isSkillRun(run)) return run.steps;
  const { timeoutSeconds, retry } = run.trigger as unknown as SkillRunOptions;
  return run.steps.map((step) =>
    step.type === 'skill'
      ? {
          ...step,
          input: run.payload ?? {},
          ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
          ...(retry === undefined ? {} : { retry }),
        }
      : step,
  );
}

/** The step of the workflow for direct calls of a skill. Its templates refer to every input field in the payload. */
export const stepOfSkill = (skillId: string, fields: readonly string[]): Step => ({
  type: 'skill',
  skillId,
  input: Object.fromEntries(fields.map((field) => [field, `{{payload.${field}}}`])),
});
