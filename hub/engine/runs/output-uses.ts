import type { Step } from '../../../shared/contract/automations/steps.ts';
import { hasTemplate, splitTemplate } from '../../../shared/template.ts';
import type { StepRow } from './store.ts';

/** How often the templates of one step read the outputs of earlier steps. */
export interface StepReads {
  /** By the id of the earlier step. */
  byId: ReadonlyMap<string, number>;
  /** `{{last…}}`. */
  last: number;
  /** The outputs of all steps together: `{{steps}}`. */
  all: number;
  /** The payload and the context. */
  input: number;
}

/** The index of the last step that reads an output. */
export interface OutputUses {
  /** By the id of the earlier step. */
  byId: ReadonlyMap<string, number>;
  /** `{{last…}}`. */
  last: number;
  /** `{{steps}}`. */
  all: number;
  /** The outputs that each step reads. */
  steps: readonly StepReads[];
}

/** Cached by the steps, which all runs of a version of a workflow share. */
const usesOfSteps = new WeakMap<readonly Step[], OutputUses>();

/** The outputs of earlier steps that the templates of steps read. */
export function outputUses(steps: readonly Step[]): OutputUses {
  let uses = usesOfSteps.get(steps);
  if (uses === undefined) {
    uses = findUses(steps);
    usesOfSteps.set(steps, uses);
  }
  return uses;
}

function findUses(steps: readonly Step[]): OutputUses {
  const reads = steps.map(readsOf);
  const byId = new Map<string, number>();
  for (const [index, step] of reads.entries()) for (const id of step.byId.keys()) byId.set(id, index);
  return {
    byId,
    last: reads.findLastIndex((step) => step.last > 0),
    all: reads.findLastIndex((step) => step.all > 0),
    steps: reads,
  };
}

function readsOf(step: Step): StepReads {
  const byId = new Map<string, number>();
  let [last, all, input] = [0, 0, 0];
  for (const [root, id, part] of referencesIn(step)) {
    if (root === 'last') last += 1;
    else if (root === 'payload' || root === 'context') input += 1;
    if (root !== 'steps' || part === 'status' || part === 'error') continue;
    if (id === undefined) all += 1;
    else byId.set(id, (byId.get(id) ?? 0) + 1);
  }
  return { byId, last, all, input };
}

function* referencesIn(value: unknown): Generator<string[]> {
  if (typeof value === 'string') {
    if (!hasTemplate(value)) return;
    let parts: ReturnType<typeof splitTemplate> = [];
    try {
      parts = splitTemplate(value);
    } catch {
      // The step fails when it is rendered, and reads nothing.
    }
    for (const part of parts) if (typeof part !== 'string') yield part.segments;
  } else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) yield* referencesIn(inner);
  }
}

/** The steps before `from` whose outputs may be read from there on. */
export function neededOutputs(
  steps: readonly Step[],
  uses: OutputUses,
  results: ReadonlyMap<number, StepRow>,
  from: number,
): Set<number> {
  const needed = new Set<number>();
  let latest: number | null = null;
  for (let index = 0; index < from; index += 1) {
    const row = results.get(index);
    if (row?.status !== 'succeeded' && row?.status !== 'failed') continue;
    if (row.status === 'succeeded') latest = index;
    const id = steps[index]?.id;
    if (uses.all >= from || (id !== undefined && (uses.byId.get(id) ?? -1) >= from)) needed.add(index);
  }
  if (latest !== null && uses.last >= from) needed.add(latest);
  return needed;
}

/** The steps before `index` whose outputs the templates of that step read, and how often. */
export function outputsReadBy(
  steps: readonly Step[],
  { steps: reads }: OutputUses,
  results: ReadonlyMap<number, StepRow>,
  index: number,
): Map<number, number> {
  const counts = new Map<number, number>();
  const read = reads[index];
  if (read === undefined) return counts;
  let latest: number | null = null;
  for (let earlier = 0; earlier < index; earlier += 1) {
    const status = results.get(earlier)?.status;
    if (status !== 'succeeded' && status !== 'failed') continue;
    if (status === 'succeeded') latest = earlier;
    const id = steps[earlier]?.id;
    const count = read.all + (id === undefined ? 0 : (read.byId.get(id) ?? 0));
    if (count > 0) counts.set(earlier, count);
  }
  if (latest !== null && read.last > 0) counts.set(latest, (counts.get(latest) ?? 0) + read.last);
  return counts;
}
