import type { Database } from '../../../platform/db/database.ts';
import { foldSums } from '../../../platform/db/fold-sums.ts';

/** Folds the changes of each workspace's file usage into one row. Part of the sweep. */
export const foldFileUsage = (db: Database, stopping?: AbortSignal): Promise<void> =>
  foldSums(db, { table: 'chat_file_usage', keys: ['tenant_id'], sums: ['bytes'] }, stopping);
