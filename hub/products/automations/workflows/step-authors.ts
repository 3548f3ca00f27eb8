import { createHash } from 'node:crypto';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';

const stepPrefix = 'step ';
const positionPrefix = 'place ';

/** Fields that do not change the action of a step: labels, conditions, timing and error handling. */
const settings = ['name', 'id', 'when', 'retry', 'delaySeconds', 'timeoutSeconds', 'continueOnError'];

const hashOf = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 16);

/** The key under which the author of the action of a step is stored. */
const contentKey = (step: Step): string =>
  `${stepPrefix}${hashOf(Object.fromEntries(Object.entries(step).filter(([field]) => !settings.includes(field))))}`;

/** The position of a step in its workflow. */
interface StepPosition {
  /** The key under which the authors of the position are stored, one entry each: the n-th step with the same action. */
  key: string;
  /**
   * A hash of everything that determines whether the step runs and what it reads: its settings, and each preceding
   * step.
   */
  chain: string;
}

function positionsOf(steps: readonly Step[]): StepPosition[] {
  const counts = new Map<string, number>();
  let before = '';
  return steps.map(({ name: _name, ...step }) => {
    const content = contentKey(step as Step);
    const count = (counts.get(content) ?? 0) + 1;
    counts.set(content, count);
    before = hashOf([before, step]);
    return { key: `${positionPrefix}${hashOf([content, count])} `, chain: before };
  });
}

/**
 * The authors of the positions of steps since the action of each step was written. A position author repeated the step,
 * changed its settings, or changed, moved, added or removed a preceding step. A later change by another person does not
 * remove them.
 */
function positionAuthorsOf(
  before: { steps: readonly Step[]; authors: FieldAuthors },
  steps: readonly Step[],
  actor: string,
): [string, string][] {
  const earlier = new Map(positionsOf(before.steps).map(({ key, chain }) => [key, chain]));
  return positionsOf(steps).flatMap(({ key, chain }) => {
    const kept = Object.entries(before.authors).filter(([field]) => field.startsWith(key));
    return earlier.get(key) === chain ? kept : [...kept, [`${key}${actor}`, actor] as [string, string]];
  });
}

/** Authors without the authors of single steps. */
export const withoutSteps = (authors: FieldAuthors): FieldAuthors =>
  Object.fromEntries(
    Object.entries(authors).filter(([field]) => !field.startsWith(stepPrefix) && !field.startsWith(positionPrefix)),
  );

/**
 * The authors of steps after a change. `steps` is the last author of any step. Steps of other authors are stored by
 * their hash, as are the authors of their positions. So a change of one step does not remove the authors of the other
 * steps.
 * @param before null for new steps.
 */
export function authorsOfSteps(
  before: { steps: readonly Step[]; authors: FieldAuthors } | null,
  steps: readonly Step[],
  actor: string,
): FieldAuthors {
  const earlier = new Map(
    (before?.steps ?? []).map((step) => {
      const key = contentKey(step);
      return [key, before?.authors[key] ?? before?.authors['steps']];
    }),
  );
  const isChanged = before === null || canonicalJson(before.steps) !== canonicalJson(steps);
  const last = isChanged ? actor : before.authors['steps'];
  const others = steps.flatMap((step): [string, string][] => {
    const author = earlier.get(contentKey(step));
    return author === undefined || author === last ? [] : [[contentKey(step), author]];
  });
  const places = before === null ? [] : positionAuthorsOf(before, steps, actor);
  return { ...(last === undefined ? {} : { steps: last }), ...Object.fromEntries([...places, ...others]) };
}
