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

/** A step among the others of its workflow. */
interface Place {
  /** The name under which the authors of the place are kept, one entry each: the n-th step that does the same. */
  key: string;
  /** A hash of all that decides whether the step runs and what it reads: the settings of the step, and each step before it. */
  chain: string;
}

function placesOf(steps: readonly Step[]): Place[] {
  const counts = new Map<string, number>();
  let before = '';
  return steps.map(({ name: _name, ...step }) => {
    const content = contentKey(step as Step);
    const count = (counts.get(content) ?? 0) + 1;
    counts.set(content, count);
    before = hashOf([before, step]);
    return { key: `${placePrefix}${hashOf([content, count])} `, chain: before };
  });
}

/**
 * Who put each step in its place since somebody wrote what it does: who added it once more, changed its settings, or changed, moved, added or removed
 * a step before it. A later change by another person does not remove them.
 */
function placeAuthorsOf(
  before: { steps: readonly Step[]; authors: FieldAuthors },
  steps: readonly Step[],
  actor: string,
): [string, string][] {
  const earlier = new Map(placesOf(before.steps).map(({ key, chain }) => [key, chain]));
  return placesOf(steps).flatMap(({ key, chain }) => {
    const kept = Object.entries(before.authors).filter(([field]) => field.startsWith(key));
    return earlier.get(key) === chain ? kept : [...kept, [`${key}${actor}`, actor] as [string, string]];
  });
}

/** Authors without those of single steps. */
export const withoutSteps = (authors: FieldAuthors): FieldAuthors =>
  Object.fromEntries(
    Object.entries(authors).filter(([field]) => !field.startsWith(stepPrefix) && !field.startsWith(placePrefix)),
  );

/**
 * The authors of steps after a change: under `steps` who last changed any of them, by its hash each step that another wrote, and who put each step in
 * its place. So a change of one step does not remove the authors of the others.
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
  const places = before === null ? [] : placeAuthorsOf(before, steps, actor);
  return { ...(last === undefined ? {} : { steps: last }), ...Object.fromEntries([...places, ...others]) };
}
