import type { JsonObject } from '../../../../shared/json.ts';
import { bigserial, customType, pgTable, primaryKey, sql, text, uuid } from '../../../platform/db/orm.ts';
import { instant, jsonb, policies, tenantId } from '../../../platform/db/tenancy.ts';

const transactionId = customType<{ data: string }>({ dataType: () => 'xid8' });

/**
 * What changed in each workspace, of the last hours: written by triggers on the rows that change, in their transactions, so that whoever
 * changes them need not know. `data` is what a reader is sent. By `seq` a change comes after all that its transaction saw; which were
 * committed when, only the transaction ids say.
 */
export const workspaceEvents = pgTable(
  'workspace_events',
  {
    // Without a reference: checking it would cost each change more than writing it does, and no row stays long.
    tenantId: uuid('tenant_id').notNull(),
    transaction: transactionId('transaction')
      .notNull()
      .default(sql`pg_current_xact_id()`),
    seq: bigserial('seq', { mode: 'number' }).notNull(),
    at: instant('at')
      .notNull()
      .default(sql`clock_timestamp()`),
    type: text('type').notNull(),
    data: jsonb('data').$type<JsonObject>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.transaction, table.seq] }), ...policies()],
);

/** Up to which transaction events of a workspace were removed: what is of it or an older one may be missing. */
export const workspaceEventFloors = pgTable(
  'workspace_event_floors',
  { tenantId: tenantId().primaryKey(), transaction: transactionId('transaction').notNull() },
  () => policies(),
);
