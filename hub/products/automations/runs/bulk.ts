import type { z } from 'zod';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { runs as resource } from '../../../../shared/contract/automations/runs.ts';
import type { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { listRunIds } from './store.ts';

type BulkBody =
  | z.output<typeof resource.cancelAutomationRuns.body>
  | z.output<typeof resource.retryAutomationRuns.body>;

/** The runs of a bulk operation. */
export interface SelectedRuns {
  ids: string[];
  /** Whether a filter selected the runs. Then runs that the filter no longer matches are omitted from the response. */
  byFilter: boolean;
  /** The id of the last selected run when the filter matches older runs; otherwise null. */
  next: string | null;
}

/**
 * The runs with the given ids, without duplicates, or the newest runs that a filter matches, in states that the
 * operation allows.
 */
export async function selectRuns(
  tx: Transaction,
  tenantId: string,
  { ids, filter, limit }: BulkBody,
  statuses: readonly RunStatus[],
): Promise<SelectedRuns> {
  if (ids !== undefined) return { ids: [...new Set(ids.map((id) => id.toLowerCase()))], byFilter: false, next: null };
  const found: string[] = [];
  // One query per state, each with its own index range. A query for several states would read every run of the
  // workspace.
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
