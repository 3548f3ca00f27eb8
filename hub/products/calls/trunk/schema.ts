import type { SipTransport, TrunkState } from '../../../../shared/contract/calls/own-trunk.ts';
import { bigint, index, integer, pgTable, sql, text, uniqueIndex, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/**
 * SIP trunks, one current trunk per workspace.
 * The process that registers a trunk holds its lease. Each claim and each change increases the fence token
 * `lease_epoch` (`nextFence`). Only the owner of the latest token can reserve CSeq numbers (`sequence`) and store
 * results.
 * A stopped trunk has a lease that never expires, a free trunk a lease that expired at `-infinity`. A trunk with
 * `removed_at` is unregistered at its carrier, then its row is deleted.
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
    /** URI that the carrier sends calls to, unchanged for the life of the trunk. Null until the first attempt. */
    contact: text('contact'),
    localPort: integer('local_port'),
    /** The greatest CSeq that may have been used. */
    sequence: bigint('sequence', { mode: 'number' }).notNull().default(0),
    lastCode: integer('last_code'),
    lastReason: text('last_reason'),
    /** Consecutive failed attempts, and how many of them rejected the password. */
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
