import { index, integer, pgTable, unique, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId } from '../../../platform/db/tenancy.ts';
import { users } from '../../core/identity/schema.ts';

/**
 * Leases of live voice connections. A user has a limited number of slots. The process of a connection renews its
 * lease.
 */
export const voiceSessionLimit = pgTable(
  'voice_session_slots',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    slot: integer('slot').notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    unique('voice_session_slots_slot').on(table.userId, table.slot),
    index('voice_session_slots_tenant').on(table.tenantId),
    index('voice_session_slots_expiry').on(table.expiresAt),
    ...policies(),
  ],
);
