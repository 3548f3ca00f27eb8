import { index, integer, pgTable, primaryKey, text } from '../../db/orm.ts';
import { createdAt, instant, policies, tenantId } from '../../db/tenancy.ts';

/** The first answer to a POST with an `Idempotency-Key`, for 24 hours; written by the transaction of what it did. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    tenantId: tenantId(),
    /** The credential that the key belongs to: `token:` and its id, or `webhook:` and the hash of a webhook token. */
    caller: text('caller').notNull(),
    key: text('key').notNull(),
    fingerprint: text('fingerprint').notNull(),
    responseStatus: integer('response_status').notNull(),
    /** Sealed, because some answers hold secrets that are shown once. */
    sealedAnswer: text('sealed_answer').notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.caller, table.key] }),
    index('idempotency_keys_expiry').on(table.expiresAt),
    index('idempotency_keys_tenant').on(table.tenantId).concurrently(),
    ...policies(),
  ],
);
