import { pgTable, text } from '../../../platform/db/orm.ts';
import { policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/**
 * By which of two ways a workspace has SIP: `own`, a trunk of its own, or `hosted` by the operator. No row means that it has none. Whoever changes
 * to one holds the row, so that of both, asked for at once, the later removes the earlier.
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
