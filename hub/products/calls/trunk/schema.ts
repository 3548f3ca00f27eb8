import type { SipTransport, TrunkState } from '../../../../shared/contract/calls/own-trunk.ts';
import { bigint, index, integer, pgTable, sql, text, uniqueIndex, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/**
 * The trunks of workspaces, one each at a time. A process that registers one holds its lease: `lease_epoch` (`nextFence`) grows with each claim and each change,
 * and whoever does not know the newest can neither number a REGISTER (`sequence`) nor write what came of one. A trunk that stopped is leased for
 * ever, one that nobody holds since before all time. One with `removed_at` counts as gone: what is left of it is taken back at the carrier, and then its row goes.
 */
export const sipTrunks = pgTable(
  'sip_trunks',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    host: text('host').notNull(),
    port: integer('port'),
    username: text('username').notNull(),
    sealedPassword: text('sealed_password').notNull(),
    transport: text('transport').$type<SipTransport>().notNull(),
    state: text('state').$type<TrunkState>().notNull().default('registering'),
    /** The address that the carrier was given, for as long as the trunk lives; null until the first attempt. */
    contact: text('contact'),
    localPort: integer('local_port'),
    /** The greatest CSeq that may have been used. */
    sequence: bigint('sequence', { mode: 'number' }).notNull().default(0),
    lastCode: integer('last_code'),
    lastReason: text('last_reason'),
    /** Attempts in a row that failed, and refusals of this password among them. */
    failures: integer('failures').notNull().default(0),
    refusedCredentials: integer('refused_credentials').notNull().default(0),
    expiresAt: instant('expires_at'),
    nextAttemptAt: instant('next_attempt_at'),
    checkedAt: instant('checked_at'),
    leaseEpoch: bigint('lease_epoch', { mode: 'number' }).notNull().default(0),
    leaseExpiresAt: instant('lease_expires_at')
      .notNull()
      .default(sql`'-infinity'`),
    removedAt: instant('removed_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    uniqueIndex('sip_trunks_tenant')
      .on(table.tenantId)
      .where(sql`${table.removedAt} IS NULL`),
    index('sip_trunks_of_tenant').on(table.tenantId),
    index('sip_trunks_lease').on(table.leaseExpiresAt),
    ...policies(),
  ],
);
