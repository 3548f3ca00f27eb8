import type { JsonValue } from '../../../../shared/json.ts';
import { index, pgTable, sql, text, unique, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, jsonb, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

export const memoryEntries = pgTable(
  'memory_entries',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    sessionId: uuid('session_id'),
    key: text('key').notNull(),
    value: jsonb('value').$type<JsonValue>(),
    expiresAt: instant('expires_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('memory_entries_expiry')
      .on(table.expiresAt)
      .where(sql`expires_at is not null`),
    index('memory_entries_session').on(table.tenantId, table.sessionId, table.id).concurrently(),
    unique('memory_entries_key').on(table.tenantId, table.sessionId, table.key).nullsNotDistinct(),
    ...policies(),
  ],
);
