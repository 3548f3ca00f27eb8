import type { ModelProvider } from '../../../../shared/contract/ai/models.ts';
import type { ModelPrices } from '../../../../shared/contract/ai/prices.ts';
import { index, integer, pgPolicy, pgTable, primaryKey, sql, text, uuid } from '../../../platform/db/orm.ts';
import {
  appRole,
  instant,
  jsonb,
  policies,
  tenantId,
  tenants,
  updatedAt,
  version,
} from '../../../platform/db/tenancy.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';
import type { BreakerState } from './breaker.ts';

/** Models of a workspace. Their API keys are sealed. */
export const modelConfigs = pgTable(
  'model_configs',
  {
    tenantId: tenantId().primaryKey(),
    models: jsonb('models')
      .$type<
        {
          id: string;
          provider: ModelProvider;
          baseUrl: string | null;
          model: string;
          sealedKey: string | null;
          prices?: ModelPrices | null;
        }[]
      >()
      .notNull(),
    order: text('order').array().notNull(),
    /** Users who last changed the models and their order. */
    authors: jsonb('authors').$type<FieldAuthors>().notNull().default({}),
    version: version(),
    updatedAt: updatedAt(),
  },
  () => policies(),
);

/**
 * Breakers (`BreakerState`) of models with recent failures. A healthy model has no row.
 * A row is valid only for the configuration with its fingerprint.
 */
export const modelBreakers = pgTable(
  'model_breakers',
  {
    /** The workspace, or the nil UUID for the hub's own model, whose state is shared by all workspaces. */
    scope: uuid('scope').notNull(),
    modelId: text('model_id').notNull(),
    tenantId: uuid('tenant_id').references(() => tenants.id, { onDelete: 'cascade' }),
    fingerprint: text('fingerprint').notNull(),
    recent: jsonb('recent').$type<BreakerState['recent']>().notNull().default([]),
    openings: integer('openings').notNull().default(0),
    openUntil: instant('open_until'),
    /** Null also for breakers that opened before this column existed. */
    openedAt: instant('opened_at'),
    probeUntil: instant('probe_until'),
    /** Until this time, successes are recorded, too. */
    troubledUntil: instant('troubled_until'),
    notifiedAt: instant('notified_at'),
    notifiedStatus: integer('notified_status'),
    /** When a refusal is due to be mailed to the admins. Null if nothing is due. */
    mailDueAt: instant('mail_due_at'),
    updatedAt: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.scope, table.modelId] }),
    index('model_breakers_tenant').on(table.tenantId),
    index('model_breakers_age').on(table.updatedAt),
    index('model_breakers_mail')
      .on(table.mailDueAt)
      .where(sql`${table.mailDueAt} IS NOT NULL`),
    ...policies(),
    pgPolicy('hub', { for: 'select', to: appRole, using: sql`tenant_id is null` }),
  ],
);
