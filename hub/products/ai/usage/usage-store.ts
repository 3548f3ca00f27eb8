import type { Database } from '../../../platform/db/database.ts';

/** Added-up usage of one model. */
export interface UsageSum {
  id: string;
  tenant_id: string;
  model_id: string;
  model: string;
  currency: string;
  calls: number;
  failed: number;
  estimated: number;
  input_tokens: number;
  output_tokens: number;
  cost_micros: bigint;
  outcomes: Record<string, number>;
  latency: Record<string, number>;
  connections: Record<string, number>;
}

/** SQL that adds the counters of the new row to those of the stored row. */
const sumOf = (column: string) =>
  `${column} = (SELECT coalesce(jsonb_object_agg(key, n), '{}') FROM (
     SELECT key, sum(value::bigint) AS n FROM (SELECT * FROM jsonb_each_text(u.${column}) UNION ALL SELECT * FROM jsonb_each_text(excluded.${column})) both_of GROUP BY key) summed)`;

const added = ['calls', 'failed', 'estimated', 'input_tokens', 'output_tokens', 'cost_micros'];

/**
 * Adds a batch of usage to the current hour and deletes its reservations. The write is idempotent by batch ID.
 * All processes lock rows in the same order. Usage of removed workspaces is omitted.
 */
export async function writeUsage(
  db: Database,
  batchId: string,
  sums: readonly UsageSum[],
  reservations: readonly string[],
): Promise<void> {
  await db.systemStatement(
    'write_ai_usage',
    `WITH batch AS (
       INSERT INTO ai_usage_batches (id, expires_at) VALUES ($1, now() + interval '1 day') ON CONFLICT DO NOTHING RETURNING id
     ), freed AS (DELETE FROM ai_reservations WHERE id = ANY($3::uuid[]))
     INSERT INTO ai_usage AS u (id, tenant_id, hour, model_id, model, currency, calls, failed, estimated, input_tokens, output_tokens, cost_micros, outcomes, latency, connections)
     SELECT e.id, t.id, date_trunc('hour', now(), 'UTC'), e.model_id, e.model, e.currency, e.calls, e.failed, e.estimated, e.input_tokens, e.output_tokens, e.cost_micros,
       e.outcomes, e.latency, e.connections
     FROM batch CROSS JOIN jsonb_to_recordset($2::jsonb) AS e (id uuid, tenant_id uuid, model_id text, model text, currency text, calls int, failed int, estimated int,
       input_tokens bigint, output_tokens bigint, cost_micros bigint, outcomes jsonb, latency jsonb, connections jsonb)
     JOIN tenants t ON t.id = e.tenant_id
     ORDER BY e.tenant_id, e.model_id, e.model, e.currency
     ON CONFLICT (tenant_id, hour, model_id, model, currency) DO UPDATE SET ${added.map((column) => `${column} = u.${column} + excluded.${column}`).join(', ')},
       ${sumOf('outcomes')}, ${sumOf('latency')}, ${sumOf('connections')}`,
    [
      batchId,
      JSON.stringify(sums, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
      reservations,
    ],
  );
}
