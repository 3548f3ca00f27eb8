import type { ModelProvider } from '../../../../shared/contract/ai/models.ts';
import type { ModelPrices } from '../../../../shared/contract/ai/prices.ts';
import { index, integer, pgPolicy, pgTable, primaryKey, sql, text, uuid } from '../../../platform/db/orm.ts';
import { appRole, instant, jsonb, policies, tenantId, tenants, updatedAt } from '../../../platform/db/tenancy.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';
import type { BreakerState } from './breaker.ts';

/** The models of a workspace; their API keys are sealed. */
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
    /** Who last changed the models and their order. */
    authors: jsonb('authors').$type<FieldAuthors>().notNull().default({}),
    updatedAt: updatedAt(),
  },
  () => policies(),
);

/**
 * Models that failed of late, of workspaces and of the hub itself: the state of their breakers, as `BreakerState` says. A model that does well has no row.
 * A row stands for the configuration of its fingerprint; of another one it says nothing.
 */
export const modelBreakers = pgTable(
  'model_breakers',
  {
    /** The workspace, or nil for the hub's own model, whose state every workspace sees. */
    scope: uuid('scope').notNull(),
    modelId: text('model_id').notNull(),
    tenantId: uuid('tenant_id').references(() => tenants.id, { onDelete: 'cascade' }),
    fingerprint: text('fingerprint').notNull(),
    recent: jsonb('recent').$type<BreakerState['recent']>().notNull().default([]),
    openings: integer('openings').notNull().default(0),
    openUntil: instant('open_until'),
    probeUntil: instant('probe_until'),
    /** Until then its successes are counted, too. */
    troubledUntil: instant('troubled_until'),
    toldAt: instant('told_at'),
    toldStatus: integer('told_status'),
    /** When its admins are to be told by mail that it refuses its calls; null when there is nothing to tell. */
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
