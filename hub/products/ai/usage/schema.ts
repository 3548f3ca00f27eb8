import {
  bigint,
  date,
  index,
  integer,
  pgPolicy,
  pgTable,
  primaryKey,
  sql,
  text,
  unique,
  uuid,
} from '../../../platform/db/orm.ts';
import { instant, jsonb, policies, systemRole, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

const count = (name: string) => integer(name).notNull();
const amount = (name: string) => bigint(name, { mode: 'number' }).notNull();

/** Usage of one model within an hour (UTC). */
export const aiUsage = pgTable(
  'ai_usage',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    hour: instant('hour').notNull(),
    /** ID of the model of the workspace. Empty for the model of the hub. */
    modelId: text('model_id').notNull(),
    model: text('model').notNull(),
    /** Currency of `cost_micros`. Empty without prices. */
    currency: text('currency').notNull(),
    calls: count('calls'),
    failed: count('failed'),
    /** Calls with estimated tokens. */
    estimated: count('estimated'),
    inputTokens: amount('input_tokens'),
    outputTokens: amount('output_tokens'),
    costMicros: amount('cost_micros'),
    /** Number of calls by outcome. */
    outcomes: jsonb('outcomes').$type<Record<string, number>>().notNull(),
    /** Number of answered calls by latency, in the buckets of a `Histogram`. */
    latency: jsonb('latency').$type<Record<string, number>>().notNull(),
    /** Number of answered calls by the fingerprint of the connection: provider, address, model and key. */
    connections: jsonb('connections').$type<Record<string, number>>().notNull().default({}),
  },
  (table) => [
    unique('ai_usage_hour').on(table.tenantId, table.hour, table.modelId, table.model, table.currency),
    ...policies(),
  ],
);

/** IDs of written usage batches. They prevent double counting after a lost commit response. */
export const aiUsageBatches = pgTable(
  'ai_usage_batches',
  { id: uuid('id').primaryKey(), expiresAt: instant('expires_at').notNull() },
  (table) => [
    index('ai_usage_batches_expiry').on(table.expiresAt),
    pgPolicy('system', { for: 'all', to: systemRole, using: sql`true`, withCheck: sql`true` }),
  ],
);

/** Daily budget of a workspace for models (UTC). Null means no limit. There is no row until a budget is set. */
export const aiBudgets = pgTable(
  'ai_budgets',
  {
    tenantId: tenantId().primaryKey(),
    dailyTokens: bigint('daily_tokens', { mode: 'number' }),
    dailyCostMicros: bigint('daily_cost_micros', { mode: 'number' }),
    currency: text('currency'),
    /** Limits for seconds of transcription and for spoken characters. Null means the limits of the hub. */
    dailySpeechSeconds: bigint('daily_speech_seconds', { mode: 'number' }),
    dailySpeechCharacters: bigint('daily_speech_characters', { mode: 'number' }),
    /** Day and percentage of the latest notice to the admins. */
    notifiedDay: date('notified_day'),
    notifiedPercent: integer('notified_percent'),
    /** When the notice is due by mail. Null if none is due. */
    mailDueAt: instant('mail_due_at'),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('ai_budgets_mail')
      .on(table.mailDueAt)
      .where(sql`${table.mailDueAt} IS NOT NULL`),
    ...policies(),
  ],
);

/**
 * Amounts reserved by calls in progress. The statement that writes the usage deletes the row; after a crash it expires.
 */
export const aiReservations = pgTable(
  'ai_reservations',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    tokens: amount('tokens'),
    costMicros: amount('cost_micros'),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    index('ai_reservations_tenant').on(table.tenantId, table.expiresAt),
    index('ai_reservations_expiry').on(table.expiresAt),
    ...policies(),
  ],
);

/** Transcribed and spoken amounts per workspace and day (UTC), counted before the provider is called. */
export const aiSpeechUsage = pgTable(
  'ai_speech_usage',
  {
    tenantId: tenantId(),
    day: date('day').notNull(),
    transcribedMs: amount('transcribed_ms'),
    spokenCharacters: amount('spoken_characters'),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.day] }),
    index('ai_speech_usage_day').on(table.day),
    ...policies(),
  ],
);
