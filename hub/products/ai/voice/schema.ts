import { index, integer, pgTable, unique, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId } from '../../../platform/db/tenancy.ts';
import { users } from '../../core/identity/schema.ts';

/**
 * Leases of live voice connections. A user has a limited number of places. The process of a connection renews its
 * lease.
 */
export const voiceSessionLimit = pgTable(
  'voice_seats',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    place: integer('place').notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    unique('voice_seats_place').on(table.userId, table.place),
    index('voice_seats_tenant').on(table.tenantId),
    index('voice_seats_expiry').on(table.expiresAt),
    ...policies(),
  ],
);
