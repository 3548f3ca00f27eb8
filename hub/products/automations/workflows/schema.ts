import { index, pgTable, primaryKey, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId } from '../../../platform/db/tenancy.ts';

/**
 * The runs that an `idempotencyKey` of the inbound hook started, kept for 24 hours. `key` includes the scope: the
 * workflow, or the credential and event.
 */
export const hookKeys = pgTable(
  'hook_keys',
  {
    tenantId: tenantId(),
    key: text('key').notNull(),
    runIds: uuid('run_ids').array().notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.key] }),
    index('hook_keys_expiry').on(table.expiresAt),
    ...policies(),
  ],
);
