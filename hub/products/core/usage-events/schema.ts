import { bigint, bigserial, boolean, date, index, pgTable, sql, text, uniqueIndex } from '../../../platform/db/orm.ts';
import { policies, tenantId } from '../../../platform/db/tenancy.ts';

/**
 * Numbers of usage events by day (UTC), kind and environment. A number is the sum of its rows.
 * A trigger on `usage_events` adds a row for each insert, in the same transaction. The sweep folds the rows into one row
 * per number.
 */
export const usageDaySums = pgTable(
  'usage_day_sums',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: tenantId(),
    day: date('day').notNull(),
    kind: text('kind').notNull(),
    environment: text('environment').$type<'live' | 'test'>().notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
    /** True for the one row per number into which the others are folded. */
    folded: boolean('folded').notNull().default(false),
  },
  (table) => [
    uniqueIndex('usage_day_sums_total')
      .on(table.tenantId, table.day, table.kind, table.environment)
      .where(sql`folded`),
    index('usage_day_sums_tenant').on(table.tenantId, table.day),
    index('usage_day_sums_changes')
      .on(table.id)
      .where(sql`not folded`),
    index('usage_day_sums_day').on(table.day),
    ...policies(),
  ],
);
