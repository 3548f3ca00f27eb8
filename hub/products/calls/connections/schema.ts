import type { Carrier } from '../../../../shared/contract/calls/records.ts';
import { index, pgTable, sql, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/** Carriers that tell a workspace what happens to its calls. */
export const callConnections = pgTable(
  'call_connections',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    provider: text('provider').$type<Carrier>().notNull(),
    name: text('name').notNull(),
    /** What the carrier's signatures are checked with. */
    sealedSecret: text('sealed_secret').notNull(),
    /** What they were checked with before, while that still counts. */
    sealedPreviousSecret: text('sealed_previous_secret'),
    previousUntil: instant('previous_until'),
    accountSid: text('account_sid'),
    /** Null where the carrier has no list that can be asked. */
    apiBaseUrl: text('api_base_url'),
    lastEventAt: instant('last_event_at'),
    reconciledAt: instant('reconciled_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('call_connections_tenant').on(table.tenantId, table.id),
    index('call_connections_listed')
      .on(table.reconciledAt)
      .where(sql`${table.accountSid} IS NOT NULL`),
    ...policies(),
  ],
);
