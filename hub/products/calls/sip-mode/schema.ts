import { pgTable, text } from '../../../platform/db/orm.ts';
import { policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/**
 * The SIP mode of a workspace: `own` (its own trunk) or `hosted` (by the operator). No row means no SIP.
 * A transaction that changes the mode locks the row. Of two concurrent changes, the later one replaces the earlier one.
 */
export const sipModes = pgTable(
  'sip_modes',
  {
    tenantId: tenantId().primaryKey(),
    mode: text('mode').$type<'own' | 'hosted'>().notNull(),
    updatedAt: updatedAt(),
  },
  () => policies(),
);
