import type { Trigger } from '../../../../shared/contract/automations/triggers.ts';
import { workflows } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { memorySize } from '../../../platform/db/memory-size.ts';
import { and, eq, sql } from '../../../platform/db/orm.ts';
import { rowsThatFit } from '../../../platform/large-pages.ts';
import { live } from './store.ts';
import type { WorkflowRow } from './store.ts';

/** Maximum workflows that one call of the inbound hook starts. */
export const maxHookWorkflows = 100;

/**
 * The active webhook workflows of one workspace that accept an event, live workflows first, limited to one more than a
 * call may start.
 */
export async function listWebhookWorkflows(
  tx: Transaction,
  tenantId: string,
  event: string,
): Promise<Pick<WorkflowRow, 'id' | 'environment'>[]> {
  return tx
    .select({ id: workflows.id, environment: workflows.environment })
    .from(workflows)
    .where(
      and(
        live(tenantId),
        eq(workflows.active, true),
        sql`${workflows.webhookTokenHash} is not null`,
        sql`coalesce(${workflows.trigger}->'webhook'->'events' ? ${event}, true)`,
      ),
    )
    .orderBy(sql`${workflows.environment} = 'test'`, workflows.id)
    .limit(maxHookWorkflows + 1);
}

/** A workflow without its steps, for deciding whether it starts. */
export type TriggeredWorkflow = Pick<WorkflowRow, 'id' | 'trigger'>;

/** Maximum size of the triggers that the first statement reads, in bytes of PostgreSQL memory. */
const firstPageBytes = 4 * 1024 * 1024;

/**
 * The oldest active workflows that events of a type start, live workflows first, 1,000 at most, in pages. A live event
 * starts no test workflows. Only the first statement measures the size of their triggers.
 */
export async function* listEventWorkflows(
  tx: Transaction,
  tenantId: string,
  eventType: string,
  environment: 'live' | 'test',
): AsyncGenerator<TriggeredWorkflow[]> {
  const { rows } = await tx.query<{ id: string; bytes: number; trigger: Trigger | null }>(
    'list_event_workflows',
    `SELECT id, bytes, CASE WHEN sum(bytes) OVER (ORDER BY is_test, id) <= ${firstPageBytes} THEN trigger END AS trigger FROM (
       SELECT id, environment = 'test' AS is_test, trigger, ${memorySize('trigger', '{}')} AS bytes FROM workflows
       WHERE tenant_id = $1 AND deleted_at IS NULL AND active AND event_type = $2 AND ($3 = 'test' OR environment = 'live')
       ORDER BY environment = 'test', id LIMIT 1000) f ORDER BY is_test, id`,
    [tenantId, eventType, environment],
  );
  const first = rows.flatMap(({ id, trigger }) => (trigger === null ? [] : [{ id, trigger }]));
  yield first;
  let rest: readonly { id: string; bytes: number }[] = rows.slice(first.length);
  while (rest.length > 0) {
    const page = rowsThatFit(rest);
    rest = rest.slice(page.length);
    const read = await tx.query<TriggeredWorkflow>(
      'read_event_workflows',
      `SELECT id, trigger FROM workflows
       WHERE tenant_id = $1 AND id = ANY($3) AND deleted_at IS NULL AND active AND event_type = $2 ORDER BY id`,
      [tenantId, eventType, page.map(({ id }) => id)],
    );
    yield read.rows;
  }
}

/** Active workflows that messages of channels start. Live messages start no test workflows. */
export async function listChannelWorkflows(
  tx: Transaction,
  tenantId: string,
  environment: 'live' | 'test',
): Promise<TriggeredWorkflow[]> {
  return tx
    .select({ id: workflows.id, trigger: workflows.trigger })
    .from(workflows)
    .where(
      and(
        live(tenantId),
        eq(workflows.active, true),
        sql`${workflows.trigger}->>'type' = 'channel'`,
        environment === 'test' ? undefined : eq(workflows.environment, 'live'),
      ),
    )
    .orderBy(sql`${workflows.environment} = 'test'`, workflows.id)
    .limit(1000);
}
