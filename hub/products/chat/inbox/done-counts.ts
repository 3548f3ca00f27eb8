import type { Database } from '../../../platform/db/database.ts';
import { foldSums } from '../../../platform/db/fold-sums.ts';

/** Folds the changes of the resolved and closed counts into one row each. Part of the sweep. */
export const foldDoneCounts = (db: Database, stopping?: AbortSignal): Promise<void> =>
  foldSums(db, { table: 'chat_done_counts', keys: ['tenant_id', 'kind'], sums: ['count'] }, stopping);
