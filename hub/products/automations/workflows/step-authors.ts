import { createHash } from 'node:crypto';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';

const prefix = 'step ';

/** Fields that change nothing of what a step does: its labels, its timing and what becomes of its failure. */
const settings = ['name', 'id', 'when', 'retry', 'delaySeconds', 'timeoutSeconds', 'continueOnError'];

/** The name under which the author of a step is kept: a hash of what the step does. */
function keyOf(step: Step): string {
  const content = Object.fromEntries(Object.entries(step).filter(([field]) => !settings.includes(field)));
  return `${prefix}${createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 16)}`;
}

/** Authors without those of single steps. */
export const withoutSteps = (authors: FieldAuthors): FieldAuthors =>
  Object.fromEntries(Object.entries(authors).filter(([field]) => !field.startsWith(prefix)));

/**
 * The authors of steps after a change: under `steps` who last changed any of them, and by its hash each step that another wrote. So a
 * change of one step does not remove the authors of the others.
 * @param before null for new steps.
 */
export function authorsOfSteps(
  before: { steps: readonly Step[]; authors: FieldAuthors } | null,
  steps: readonly Step[],
  actor: string,
): FieldAuthors {
  const earlier = new Map<string, string | undefined>();
  for (const step of before?.steps ?? []) {
    const key = keyOf(step);
    earlier.set(key, before?.authors[key] ?? before?.authors['steps']);
  }
  const isChanged = before === null || canonicalJson(before.steps) !== canonicalJson(steps);
  const last = isChanged ? actor : before.authors['steps'];
  const others = steps.flatMap((step): [string, string][] => {
    const author = earlier.get(keyOf(step));
    return author === undefined || author === last ? [] : [[keyOf(step), author]];
  });
  return { ...(last === undefined ? {} : { steps: last }), ...Object.fromEntries(others) };
}
