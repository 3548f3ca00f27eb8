import type { JsonObject } from '../../../../shared/json.ts';
import { bigserial, customType, pgTable, primaryKey, sql, text, uuid } from '../../../platform/db/orm.ts';
import { instant, jsonb, policies, tenantId } from '../../../platform/db/tenancy.ts';

const transactionId = customType<{ data: string }>({ dataType: () => 'xid8' });

/**
 * Changes in each workspace during the last hours. Triggers on the changed tables insert the rows in the transaction of
 * the change.
 * `data` is the payload for subscribers. `seq` orders a change after all changes that its transaction saw. Only
 * transaction IDs show the commit order.
 */
export const workspaceEvents = pgTable(
  'workspace_events',
  {
    // No foreign key: its check would cost more than the insert, and rows are short-lived.
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

/** The newest transaction whose events were deleted. Events of it and of older transactions may be missing. */
export const workspaceEventFloors = pgTable(
  'workspace_event_floors',
  { tenantId: tenantId().primaryKey(), transaction: transactionId('transaction').notNull() },
  () => policies(),
);
