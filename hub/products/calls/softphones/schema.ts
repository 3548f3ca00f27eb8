import { date, index, integer, pgTable, uuid } from '../../../platform/db/orm.ts';
import { instant, policies, tenantId } from '../../../platform/db/tenancy.ts';

/** What a workspace spoke with numbers today; whoever begins another call holds the row, so that of several at once each knows of the others. */
export const sipDialSums = pgTable(
  'sip_dial_sums',
  {
    tenantId: tenantId().primaryKey(),
    /** In UTC. */
    day: date('day').notNull(),
    seconds: integer('seconds').notNull(),
  },
  () => policies(),
);

/** Calls of softphones to numbers, while they last; whose process says nothing for a while are over. */
export const sipDials = pgTable(
  'sip_dials',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    answeredAt: instant('answered_at'),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    index('sip_dials_tenant').on(table.tenantId),
    index('sip_dials_expiry').on(table.expiresAt),
    ...policies(),
  ],
);
