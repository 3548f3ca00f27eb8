import { index, integer, pgTable, primaryKey, text } from '../../db/orm.ts';
import { createdAt, instant, policies, tenantId } from '../../db/tenancy.ts';

/** Response to the first POST with an `Idempotency-Key`, for 24 hours. Written in the transaction of the request. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    tenantId: tenantId(),
    /** The credential that the key belongs to: `token:` and its id, or `webhook:` and the hash of a webhook token. */
    caller: text('caller').notNull(),
    key: text('key').notNull(),
    fingerprint: text('fingerprint').notNull(),
    responseStatus: integer('response_status').notNull(),
    /** Encrypted, because some responses hold secrets that are shown once. */
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
