import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';

/** The error for an action that API keys of environment `test` may not do. @param what as in `live runs`. */
export const testKeyNotAllowed = (what: string) =>
  new AppError('test_key_not_allowed', `A key of environment test can't change ${what}. Use a live key, or sign in.`);

/** Which of the given runs are live. The environment of a run never changes. */
export async function liveRunsAmong(
  tx: Transaction,
  tenantId: string,
  runIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await tx.query<{ id: string }>(
    'find_live_runs',
    `SELECT id FROM runs WHERE tenant_id = $1 AND id = ANY($2) AND environment = 'live'`,
    [tenantId, runIds],
  );
  return new Set(rows.map(({ id }) => id));
}
