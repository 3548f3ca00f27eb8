import { createHash } from 'node:crypto';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';

const stepPrefix = 'step ';
const placePrefix = 'place ';

/** Fields that change nothing of what a step does: its labels, its timing and what becomes of its failure. */
const settings = ['name', 'id', 'when', 'retry', 'delaySeconds', 'timeoutSeconds', 'continueOnError'];

const hashOf = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 16);

/** The name under which the author of what a step does is kept. */
const contentKey = (step: Step): string =>
  `${stepPrefix}${hashOf(Object.fromEntries(Object.entries(step).filter(([field]) => !settings.includes(field))))}`;

const nameOf = (step: Step | undefined): string | null => (step === undefined ? null : (step.id ?? contentKey(step)));

/**
 * The name under which the author of the place of a step is kept: its id, its condition and the step before it. Whoever changes these decides
 * which outputs a later step reads, and whether and how often a step runs.
 */
const placeKey = (step: Step, index: number, steps: readonly Step[]): string =>
  `${placePrefix}${hashOf([contentKey(step), step.id ?? null, step.when ?? null, nameOf(steps[index - 1])])}`;

const keysOf = (steps: readonly Step[]): string[] =>
  steps.flatMap((step, index) => [contentKey(step), placeKey(step, index, steps)]);

/** Authors without those of single steps. */
export const withoutSteps = (authors: FieldAuthors): FieldAuthors =>
  Object.fromEntries(
    Object.entries(authors).filter(([field]) => !field.startsWith(stepPrefix) && !field.startsWith(placePrefix)),
  );

/**
 * The authors of steps after a change: under `steps` who last changed any of them, and by its hash each step that another wrote or put in its
 * place. So a change of one step does not remove the authors of the others.
 * @param before null for new steps.
 */
export function authorsOfSteps(
  before: { steps: readonly Step[]; authors: FieldAuthors } | null,
  steps: readonly Step[],
  actor: string,
): FieldAuthors {
  const earlier = new Map(
    keysOf(before?.steps ?? []).map((key) => [key, before?.authors[key] ?? before?.authors['steps']]),
  );
  const isChanged = before === null || canonicalJson(before.steps) !== canonicalJson(steps);
  const last = isChanged ? actor : before.authors['steps'];
  const others = keysOf(steps).flatMap((key): [string, string][] => {
    const author = earlier.get(key);
    return author === undefined || author === last ? [] : [[key, author]];
  });
  return { ...(last === undefined ? {} : { steps: last }), ...Object.fromEntries(others) };
}
