import type { z } from 'zod';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { runs as resource } from '../../../../shared/contract/automations/runs.ts';
import type { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { listRunIds } from './store.ts';

type BulkBody =
  | z.output<typeof resource.cancelAutomationRuns.body>
  | z.output<typeof resource.retryAutomationRuns.body>;

/** Runs that a bulk operation takes on. */
export interface ChosenRuns {
  ids: string[];
  /** Whether a filter found them; then a run that it could not mean is left out of the answer. */
  byFilter: boolean;
  /** The last of them, when the filter means more that are older. */
  next: string | null;
}

/** The runs that are named, each once, or the newest that a filter means, of states in which something can be done with them. */
export async function chooseRuns(
  tx: Transaction,
  tenantId: string,
  { ids, filter, limit }: BulkBody,
  statuses: readonly RunStatus[],
): Promise<ChosenRuns> {
  if (ids !== undefined) return { ids: [...new Set(ids.map((id) => id.toLowerCase()))], byFilter: false, next: null };
  const found: string[] = [];
  // Each state by its own range of the index: of several at once every run of the workspace would be looked at.
  for (const status of filter?.status === undefined ? statuses : [filter.status]) {
    const rows = await listRunIds(
      tx,
      tenantId,
      {
        status,
        workflowId: filter?.workflowId,
        from: filter?.from === undefined ? undefined : new Date(filter.from),
        to: filter?.to === undefined ? undefined : new Date(filter.to),
      },
      limit + 1,
      filter?.olderThan,
    );
    found.push(...rows);
  }
  const newest = found.toSorted().toReversed();
  const chosen = newest.slice(0, limit);
  return { ids: chosen, byFilter: true, next: newest.length > limit ? (chosen.at(-1) ?? null) : null };
}

export const refused = (id: string, { code, message }: AppError) => ({ id, ok: false as const, code, message });
