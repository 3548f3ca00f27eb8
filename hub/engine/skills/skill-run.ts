import type { Step } from '../../../shared/contract/automations/steps.ts';
import type { JsonObject } from '../../../shared/json.ts';

/**
 * A skill that is called by itself is a run of one step. Its workflow says only which skill; what the step is called with came with the
 * call and is the run's payload, byte for byte: nothing in it is a template.
 */

/** How such a step is tried, where the call says so. */
type SkillRunOptions = Pick<Extract<Step, { type: 'skill' }>, 'timeoutSeconds' | 'retry'>;

/** What a run of a skill's own call was started by. No caller names the type of a trigger, so that no other run has this one. */
export const skillTrigger = (skillId: string, by: string, options: SkillRunOptions) => ({
  type: 'skill',
  skillId,
  by,
  ...(JSON.parse(JSON.stringify(options)) as JsonObject),
});

/** Whether a run is a skill's own call. */
export const isSkillRun = ({ trigger }: { trigger: JsonObject }) => trigger['type'] === 'skill';

/** The steps of a run: those of its workflow, or of a skill's own call the one that was called for. */
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

/** The step of the workflow under which the calls of a skill run: what it names of the payload is every field that the skill takes. */
export const stepOfSkill = (skillId: string, fields: readonly string[]): Step => ({
  type: 'skill',
  skillId,
  input: Object.fromEntries(fields.map((field) => [field, `{{payload.${field}}}`])),
});
