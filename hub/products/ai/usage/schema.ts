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

/** What the calls of one model came to within an hour, UTC. */
export const aiUsage = pgTable(
  'ai_usage',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    hour: instant('hour').notNull(),
    /** Of the models of the workspace; empty for the one of the hub. */
    modelId: text('model_id').notNull(),
    model: text('model').notNull(),
    /** Of `cost_micros`; empty where no prices were set. */
    currency: text('currency').notNull(),
    calls: count('calls'),
    failed: count('failed'),
    /** Calls whose tokens nobody said. */
    estimated: count('estimated'),
    inputTokens: amount('input_tokens'),
    outputTokens: amount('output_tokens'),
    costMicros: amount('cost_micros'),
    /** Calls by how they ended. */
    outcomes: jsonb('outcomes').$type<Record<string, number>>().notNull(),
    /** Answered ones by how long they took, in the buckets of a `Histogram`. */
    latency: jsonb('latency').$type<Record<string, number>>().notNull(),
  },
  (table) => [
    unique('ai_usage_hour').on(table.tenantId, table.hour, table.modelId, table.model, table.currency),
    ...policies(),
  ],
);

/** Batches of usage that were written, so that one whose commit nobody heard of is not written twice. */
export const aiUsageBatches = pgTable(
  'ai_usage_batches',
  { id: uuid('id').primaryKey(), expiresAt: instant('expires_at').notNull() },
  (table) => [
    index('ai_usage_batches_expiry').on(table.expiresAt),
    pgPolicy('system', { for: 'all', to: systemRole, using: sql`true`, withCheck: sql`true` }),
  ],
);

/** What a workspace may spend on models in a day, UTC; null for no limit. One that was never set has no row. */
export const aiBudgets = pgTable(
  'ai_budgets',
  {
    tenantId: tenantId().primaryKey(),
    dailyTokens: bigint('daily_tokens', { mode: 'number' }),
    dailyCostMicros: bigint('daily_cost_micros', { mode: 'number' }),
    currency: text('currency'),
    /** Of speech, in seconds of sound to transcribe and in characters to speak; null for the limits of the hub. */
    dailySpeechSeconds: bigint('daily_speech_seconds', { mode: 'number' }),
    dailySpeechCharacters: bigint('daily_speech_characters', { mode: 'number' }),
    /** The day of which the admins were told last, and of how much of it, in percent. */
    toldDay: date('told_day'),
    toldPercent: integer('told_percent'),
    /** When that is to be told by mail; null when there is nothing to tell. */
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

/** What calls under way may take of a budget; gone in the statement that writes what they took, or with their process after `expires_at`. */
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

/** What a workspace had transcribed and spoken on a day, UTC; counted before a provider is called. */
export const aiSpeechUsage = pgTable(
  'ai_speech_usage',
  {
    tenantId: tenantId(),
    day: date('day').notNull(),
    heardMs: amount('heard_ms'),
    spokenCharacters: amount('spoken_characters'),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.day] }),
    index('ai_speech_usage_day').on(table.day),
    ...policies(),
  ],
);
