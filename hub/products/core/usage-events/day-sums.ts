import type { Database } from '../../../platform/db/database.ts';
import { foldSums } from '../../../platform/db/fold-sums.ts';

/** Folds the changes of the numbers of usage events. Part of the sweep. */
export const foldUsageDays = (db: Database, stopping?: AbortSignal): Promise<void> =>
  foldSums(
    db,
    { table: 'usage_day_sums', keys: ['tenant_id', 'day', 'kind', 'environment'], sums: ['count'] },
    stopping,
  );
