import { index, pgTable, primaryKey, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId } from '../../../platform/db/tenancy.ts';

/**
 * One fire of a schedule. Only the process that inserts the row starts the run, so each fire starts one run for any
 * number of processes.
 */
export const scheduleFires = pgTable(
  'schedule_fires',
  {
    workflowId: uuid('workflow_id').notNull(),
    fireAt: instant('fire_at').notNull(),
    tenantId: tenantId(),
    outcome: text('outcome').$type<'started' | 'overlapped' | 'queue_full' | 'refused'>().notNull(),
    runId: uuid('run_id'),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.workflowId, table.fireAt] }),
    index('schedule_fires_age').on(table.createdAt),
    ...policies(),
  ],
);
