import { pgTable, text } from '../../../platform/db/orm.ts';
import { createdAt, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/**
 * Workspaces that opted into hosted SIP.
 * The operator's SIP server reads the accounts from the view `sip_subscriber`, as a member of the role `outrigger_sip`.
 * That role can read nothing else.
 */
export const hostedSip = pgTable(
  'hosted_sip',
  {
    tenantId: tenantId().primaryKey(),
    username: text('username').notNull().unique('hosted_sip_username'),
    /** The domain of the password. Null if no SIP server was configured at the opt-in. */
    domain: text('domain'),
    /** MD5 of username, domain and password (HA1). The password itself is not stored. */
    ha1: text('ha1'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  () => policies(),
);
