import type { SessionScope } from '../../../../shared/contract/automations/sessions.ts';
import { index, pgTable, sql, text, unique, uuid } from '../../../platform/db/orm.ts';
import { createdAt, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/** A conversation of automations: its transcript, and a summary of the older part. */
export const automationSessions = pgTable(
  'automation_sessions',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    scope: text('scope').$type<SessionScope>().notNull(),
    key: text('key').notNull(),
    environment: text('environment').$type<'live' | 'test'>().notNull().default('live'),
    title: text('title').notNull(),
    memorySummary: text('memory_summary').notNull(),
    /** The last message that the summary covers. */
    summarisedThrough: uuid('summarised_through'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    unique('automation_sessions_identity').on(table.tenantId, table.scope, table.key, table.environment),
    index('automation_sessions_tenant').on(table.tenantId, table.id),
    index('automation_sessions_scope').on(table.tenantId, table.scope, table.id).concurrently(),
    index('automation_sessions_by_key').on(table.tenantId, table.key, table.id).concurrently(),
    ...policies(),
  ],
);

export const sessionMessages = pgTable(
  'session_messages',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    sessionId: uuid('session_id')
      .notNull()
      .references(() => automationSessions.id, { onDelete: 'cascade' }),
    role: text('role').$type<'user' | 'assistant' | 'system'>().notNull(),
    content: text('content').notNull(),
    runId: uuid('run_id'),
    createdAt: createdAt(),
  },
  (table) => [
    index('session_messages_session').on(table.sessionId, table.id),
    index('session_messages_run')
      .on(table.runId)
      .where(sql`run_id is not null`)
      .concurrently(),
    ...policies(),
  ],
);
