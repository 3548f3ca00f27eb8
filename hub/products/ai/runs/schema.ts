import { index, integer, pgTable, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, jsonb, policies, tenantId } from '../../../platform/db/tenancy.ts';

/** Questions of API clients and the answers of models. A row is inserted once, when the run has ended. */
export const aiRuns = pgTable(
  'ai_runs',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    environment: text('environment').$type<'live' | 'test'>().notNull(),
    status: text('status').$type<'succeeded' | 'failed'>().notNull(),
    input: text('input').notNull(),
    context: text('context'),
    metadata: jsonb('metadata').$type<Record<string, string>>().notNull(),
    locale: text('locale'),
    outputText: text('output_text'),
    model: text('model'),
    attempts: jsonb('attempts').$type<{ model: string; ms: number; outcome: string }[]>().notNull(),
    inputTokens: integer('input_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    latencyMs: integer('latency_ms').notNull(),
    /** Description of the omitted context. Null if nothing was omitted. */
    truncation: text('truncation'),
    /** IDs of the knowledge entries that the model received. */
    sources: text('sources').array().notNull(),
    error: jsonb('error').$type<{ code: string; message: string } | null>(),
    createdAt: createdAt(),
  },
  (table) => [index('ai_runs_tenant').on(table.tenantId, table.id), ...policies()],
);
