import { workflows } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { memorySize } from '../../../platform/db/memory-size.ts';
import { and, eq, sql } from '../../../platform/db/orm.ts';
import { live } from './store.ts';
import type { WorkflowRow } from './store.ts';

/** The most workflows that one call of the inbound hook starts. */
export const maxHookWorkflows = 100;

/** Ids of the active webhook workflows of one workspace that accept an event, one more than a call may start at most. */
export async function listWebhookWorkflows(
  tx: Transaction,
  tenantId: string,
  event: string,
): Promise<{ id: string }[]> {
  return tx
    .select({ id: workflows.id })
    .from(workflows)
    .where(
      and(
        live(tenantId),
        eq(workflows.active, true),
        sql`${workflows.webhookTokenHash} is not null`,
        sql`coalesce(${workflows.trigger}->'webhook'->'events' ? ${event}, true)`,
      ),
    )
    .orderBy(workflows.id)
    .limit(maxHookWorkflows + 1);
}

/** A workflow without its steps: what decides whether it starts. */
export type TriggeredWorkflow = Pick<WorkflowRow, 'id' | 'trigger'>;

/** Triggers that are read at a time, in bytes as PostgreSQL keeps them in memory; one that is larger is read alone. */
const triggerPageBytes = 4 * 1024 * 1024;

/** Active workflows that follow a type of event, in pages. */
export async function* listEventWorkflows(
  tx: Transaction,
  tenantId: string,
  eventType: string,
): AsyncGenerator<TriggeredWorkflow[]> {
  let after: string | null = null;
  do {
    const { rows }: { rows: (TriggeredWorkflow & { left: number })[] } = await tx.query(
      'list_event_workflows',
      `SELECT id, trigger, "left" FROM (
         SELECT id, trigger, count(*) OVER ()::int AS "left", sum(bytes) OVER (ORDER BY id) - bytes AS bytes_before FROM (
           SELECT id, trigger, ${memorySize('trigger', '{}')} AS bytes FROM workflows
           WHERE tenant_id = $1 AND deleted_at IS NULL AND active AND event_type = $2 AND ($3::uuid IS NULL OR id > $3) ORDER BY id LIMIT 1000) f) p
       WHERE bytes_before <= ${triggerPageBytes} ORDER BY id`,
      [tenantId, eventType, after],
    );
    yield rows;
    const last: (TriggeredWorkflow & { left: number }) | undefined = rows.at(-1);
    after = last !== undefined && rows.length < last.left ? last.id : null;
  } while (after !== null);
}

/** Active workflows that messages of channels start. */
export async function listChannelWorkflows(tx: Transaction, tenantId: string): Promise<TriggeredWorkflow[]> {
  return tx
    .select({ id: workflows.id, trigger: workflows.trigger })
    .from(workflows)
    .where(and(live(tenantId), eq(workflows.active, true), sql`${workflows.trigger}->>'type' = 'channel'`))
    .orderBy(workflows.id)
    .limit(1000);
}
