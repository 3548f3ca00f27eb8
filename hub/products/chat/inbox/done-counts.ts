import type { Database } from '../../../platform/db/database.ts';
import { foldSums } from '../../../platform/db/fold-sums.ts';

/** Folds what changed of the counts of conversations that are done; part of the sweep. */
export const foldDoneCounts = (db: Database, stopping?: AbortSignal): Promise<void> =>
  foldSums(db, { table: 'chat_done_counts', keys: ['tenant_id', 'kind'], sums: ['count'] }, stopping);
