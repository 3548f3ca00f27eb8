import type { ModelProvider } from '../../../../shared/contract/ai/models.ts';
import { pgTable, text } from '../../../platform/db/orm.ts';
import { jsonb, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/** The models of a workspace; their API keys are sealed. */
export const modelConfigs = pgTable(
  'model_configs',
  {
    tenantId: tenantId().primaryKey(),
    models: jsonb('models')
      .$type<
        { id: string; provider: ModelProvider; baseUrl: string | null; model: string; sealedKey: string | null }[]
      >()
      .notNull(),
    order: text('order').array().notNull(),
    updatedAt: updatedAt(),
  },
  () => policies(),
);
