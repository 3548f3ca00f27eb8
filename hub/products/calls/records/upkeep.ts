import { staleCallHours } from '../../../../shared/contract/calls/records.ts';
import type { Database } from '../../../platform/db/database.ts';
import { foldSums } from '../../../platform/db/fold-sums.ts';
import { inBatches, newTurn } from '../../../platform/db/row-retention.ts';
import { noteWorkspaceChange } from '../../../platform/events/workspace-topic.ts';

const batch = 500;

/**
 * Closes calls without events for `silentCallHours`: failed, with their last event time as the end. A later final event
 * replaces both.
 * Rows that another transaction has locked are skipped. The sweep runs this function.
 */
export async function closeSilentCalls(db: Database, stopping?: AbortSignal): Promise<void> {
  await inBatches(newTurn(stopping), batch, () =>
    db.system(async (tx) => {
      const { rows } = await tx.query<{ tenant_id: string }>(
        'close_silent_calls',
        `UPDATE calls SET rank = 3, sequence = -1, outcome = 'failed', reason = 'no_final_event', ended_at = coalesce(ended_at, greatest(at, started_at))
         WHERE id = ANY(ARRAY(SELECT id FROM calls WHERE rank < 3 AND last_event_at < now() - make_interval(hours => $1) ORDER BY last_event_at LIMIT $2 FOR UPDATE SKIP LOCKED))
         RETURNING tenant_id`,
        [staleCallHours, batch],
      );
      for (const tenantId of new Set(rows.map((row) => row.tenant_id))) noteWorkspaceChange(tx, tenantId);
      return rows.length;
    }),
  );
}

/**
 * Closes a call that the operator's SIP server no longer knows: failed, with the current time as the end. A later final
 * event replaces both.
 * @param callId prefix of the `callSid`; the server appends the start of the call.
 */
export const closeLostCall = (db: Database, tenantId: string, callId: string): Promise<void> =>
  db.system(async (tx) => {
    const { rows } = await tx.query(
      'close_lost_call',
      `UPDATE calls SET rank = 3, sequence = -1, outcome = 'failed', reason = 'no_final_event', ended_at = greatest(at, started_at, now())
       WHERE tenant_id = $1 AND provider = 'kamailio' AND rank < 3 AND starts_with(call_sid, $2) RETURNING id`,
      [tenantId, `${callId}~`],
    );
    if (rows.length > 0) noteWorkspaceChange(tx, tenantId);
  });

/** Folds the changes of the daily sums. The sweep runs this function. */
export const foldCallDays = (db: Database, stopping?: AbortSignal): Promise<void> =>
  foldSums(
    db,
    {
      table: 'call_day_sums',
      keys: ['tenant_id', 'day'],
      sums: ['calls', 'inbound', 'answered_inbound', 'answered', 'seconds'],
    },
    stopping,
  );
