import { readRunSearch } from '../runs/filters.ts';
import type { RunSearch } from '../runs/filters.ts';

/** Search and order of the list of workflows, as they are in the address. */
export interface WorkflowsSearch {
  q?: string | undefined;
  sort?: 'updatedAt' | 'name' | undefined;
  active?: 'true' | 'false' | undefined;
  /** Shows the deleted workflows instead. */
  deleted?: true | undefined;
}

export function readWorkflowsSearch({ q, sort, active, deleted }: Record<string, unknown>): WorkflowsSearch {
  const text = typeof q === 'string' || typeof q === 'number' ? String(q).slice(0, 200) : '';
  // The router reads `true` in an address as a boolean.
  const state = String(active);
  return {
    ...(text.trim() === '' ? {} : { q: text }),
    ...(sort === 'updatedAt' || sort === 'name' ? { sort } : {}),
    ...(state === 'true' || state === 'false' ? { active: state } : {}),
    ...(String(deleted) === 'true' ? { deleted: true } : {}),
  };
}

/** What the page of one workflow has in its address: filters of its runs, the shown version, the view of the steps. */
export interface WorkflowSearch extends RunSearch {
  version?: number | undefined;
  view?: 'json' | undefined;
}

export function readWorkflowSearch(search: Record<string, unknown>): WorkflowSearch {
  const { version, view } = search;
  const { workflow: _workflow, ...runs } = readRunSearch(search);
  const number = Number(version);
  return {
    ...runs,
    ...(Number.isInteger(number) && number > 0 ? { version: number } : {}),
    ...(view === 'json' ? { view } : {}),
  };
}
