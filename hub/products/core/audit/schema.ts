import type { JsonObject } from '../../../../shared/json.ts';
import { index, pgTable, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, jsonb, policies, tenantId } from '../../../platform/db/tenancy.ts';

export const auditLog = pgTable(
  'audit_log',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    targetType: text('target_type').notNull(),
    targetId: text('target_id').notNull(),
    details: jsonb('details').$type<JsonObject>().notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('audit_log_tenant').on(table.tenantId, table.id),
    index('audit_log_actor').on(table.tenantId, table.actor, table.id).concurrently(),
    index('audit_log_action').on(table.tenantId, table.action, table.id).concurrently(),
    index('audit_log_type').on(table.tenantId, table.targetType, table.id).concurrently(),
    index('audit_log_target').on(table.tenantId, table.targetId, table.id).concurrently(),
    index('audit_log_actor_type').on(table.tenantId, table.actor, table.targetType, table.id).concurrently(),
    index('audit_log_actor_target').on(table.tenantId, table.actor, table.targetId, table.id).concurrently(),
    ...policies(),
  ],
);
