import { pgTable, text } from '../../../platform/db/orm.ts';
import { createdAt, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/**
 * Workspaces that opted into hosted SIP. The operator's SIP server reads the accounts by the view `sip_subscriber`, as a member of the role
 * `outrigger_sip`, which can read nothing else.
 */
export const hostedSip = pgTable(
  'hosted_sip',
  {
    tenantId: tenantId().primaryKey(),
    username: text('username').notNull().unique('hosted_sip_username'),
    /** For which the password was made; null where it was not known yet. */
    domain: text('domain'),
    /** MD5 of username, domain and password, as a digest needs it; the password itself is kept nowhere. */
    ha1: text('ha1'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  () => policies(),
);
