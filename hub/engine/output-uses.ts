import type { Step } from '../../shared/contract/automations/steps.ts';
import { hasTemplate, splitTemplate } from '../../shared/template.ts';
import type { StepRow } from './store.ts';

/** Up to which step the output of another is named by templates. */
export interface OutputUses {
  /** By the id of the step whose output it is. */
  byId: ReadonlyMap<string, number>;
  /** `{{last…}}`. */
  last: number;
  /** All of them at once. */
  all: number;
}

/** What the templates of steps name of the outputs of others. */
export function outputUses(steps: readonly Step[]): OutputUses {
  const byId = new Map<string, number>();
  let last = -1;
  let all = -1;
  for (const [index, step] of steps.entries()) {
    for (const [root, id, part] of referencesIn(step)) {
      if (root === 'last') last = index;
      if (root !== 'steps' || part === 'status' || part === 'error') continue;
      if (id === undefined) all = index;
      else byId.set(id, index);
    }
  }
  return { byId, last, all };
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
