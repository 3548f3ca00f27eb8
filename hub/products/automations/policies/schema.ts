import type { QuietHours, Retention } from '../../../../shared/contract/automations/policies.ts';
import { integer, pgTable, text, uuid } from '../../../platform/db/orm.ts';
import { jsonb, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/** The one policy of a workspace. */
export const automationPolicies = pgTable(
  'automation_policies',
  {
    tenantId: tenantId().primaryKey(),
    standingOrders: text('standing_orders').notNull(),
    quietHours: jsonb('quiet_hours').$type<QuietHours>(),
    maxRunsPerHour: integer('max_runs_per_hour'),
    approvalsRequiredFor: text('approvals_required_for').array().notNull(),
    errorWorkflowId: uuid('error_workflow_id'),
    retention: jsonb('retention').$type<Retention>(),
    updatedAt: updatedAt(),
  },
  () => policies(),
);
