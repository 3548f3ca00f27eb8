import type { Carrier } from '../../../../shared/contract/calls/records.ts';
import { index, pgTable, sql, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/** Connections to carriers that report the calls of a workspace. */
export const callConnections = pgTable(
  'call_connections',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    provider: text('provider').$type<Carrier>().notNull(),
    name: text('name').notNull(),
    /** Key that verifies the signatures of the carrier. */
    sealedSecret: text('sealed_secret').notNull(),
    /** Previous key, valid until `previous_until`. */
    sealedPreviousSecret: text('sealed_previous_secret'),
    previousUntil: instant('previous_until'),
    accountSid: text('account_sid'),
    /** Null if the carrier offers no list of calls. */
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
