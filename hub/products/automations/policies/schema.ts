import type { QuietHours, Retention } from '../../../../shared/contract/automations/policies.ts';
import { boolean, integer, pgTable, sql, text, uuid } from '../../../platform/db/orm.ts';
import { jsonb, policies, tenantId, updatedAt, version } from '../../../platform/db/tenancy.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';

/** One row per workspace. */
export const automationPolicies = pgTable(
  'automation_policies',
  {
    tenantId: tenantId().primaryKey(),
    standingOrders: text('standing_orders').notNull(),
    quietHours: jsonb('quiet_hours').$type<QuietHours>(),
    maxRunsPerHour: integer('max_runs_per_hour'),
    approvalsRequiredFor: text('approvals_required_for').array().notNull(),
    errorWorkflowId: uuid('error_workflow_id'),
    defaultApprovers: text('default_approvers')
      .array()
      .notNull()
      .default(sql`'{}'`),
    stepApprovalsNeedPerson: boolean('step_approvals_need_person').notNull().default(false),
    soleMemberMayDecideOwnRuns: boolean('sole_member_may_decide_own_runs').notNull().default(true),
    retention: jsonb('retention').$type<Retention>(),
    /** Last authors of the error workflow setting and the standing orders. */
    authors: jsonb('authors').$type<FieldAuthors>().notNull().default({}),
    version: version(),
    updatedAt: updatedAt(),
  },
  () => policies(),
);
