import type { JsonObject } from '../../../../shared/json.ts';
import { runs } from '../../../engine/schema.ts';
import { index, integer, pgTable, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, hotTenantId, jsonb, policies, tenantId } from '../../../platform/db/tenancy.ts';

/** Log lines of runs, partitioned by month of the id. */
export const runLogs = pgTable(
  'run_logs',
  {
    id: uuid('id').primaryKey(),
    tenantId: hotTenantId(),
    runId: uuid('run_id')
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    stepIndex: integer('step_index').notNull(),
    workflowId: uuid('workflow_id'),
    level: text('level').$type<'debug' | 'info' | 'warn' | 'error'>().notNull(),
    message: text('message').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('run_logs_tenant').on(table.tenantId, table.id),
    index('run_logs_run').on(table.runId, table.id),
    index('run_logs_workflow').on(table.tenantId, table.workflowId, table.id),
    index('run_logs_level').on(table.tenantId, table.level, table.id),
    index('run_logs_workflow_level').on(table.tenantId, table.workflowId, table.level, table.id).concurrently(),
    ...policies(),
  ],
);

/** Outbound messages. Messages of the test environment have the status `simulated`. */
export const messages = pgTable(
  'messages',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    runId: uuid('run_id').references(() => runs.id, { onDelete: 'set null' }),
    workflowId: uuid('workflow_id'),
    stepIndex: integer('step_index'),
    channel: text('channel').notNull(),
    recipient: text('recipient').notNull(),
    status: text('status').$type<'delivered' | 'simulated' | 'failed'>().notNull(),
    summary: jsonb('summary').$type<JsonObject>().notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('messages_tenant').on(table.tenantId, table.id),
    index('messages_run').on(table.runId, table.id),
    index('messages_channel').on(table.tenantId, table.channel, table.createdAt, table.status),
    index('messages_workflow').on(table.tenantId, table.workflowId, table.id),
    index('messages_status').on(table.tenantId, table.status, table.id).concurrently(),
    index('messages_channel_status').on(table.tenantId, table.channel, table.status, table.id).concurrently(),
    index('messages_workflow_status').on(table.tenantId, table.workflowId, table.status, table.id).concurrently(),
    index('messages_workflow_channel')
      .on(table.tenantId, table.workflowId, table.channel, table.status, table.id)
      .concurrently(),
    ...policies(),
  ],
);
