import type { Slo } from '../../../../shared/contract/automations/insight.ts';
import { quantile } from '../../../engine/index.ts';
import type { Histogram } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';

interface Row {
  model_id: string;
  model: string;
  calls: string;
  input_tokens: string;
  output_tokens: string;
  costs: Record<string, string> | null;
  outcomes: Record<string, number>;
  latency: Histogram;
  breaker: 'closed' | 'open' | 'half_open';
}

/** SQL that adds up JSON objects of counters by key. */
const summed = (column: string) =>
  `coalesce((SELECT jsonb_object_agg(key, n) FROM (SELECT o.key, sum(o.value::bigint) AS n FROM jsonb_array_elements(m.all_${column}) a, jsonb_each_text(a) o GROUP BY o.key) k), '{}') AS ${column}`;

/** Outcomes, latency and cost of the models of a workspace since the hour of `from`, most used first. */
export async function readModelHealth(tx: Transaction, tenantId: string, from: Date): Promise<Slo['models']> {
  const { rows } = await tx.query<Row>(
    'read_model_health',
    `WITH m AS (
       SELECT model_id, model, sum(calls) AS calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
         jsonb_agg(outcomes) AS all_outcomes, jsonb_agg(latency) AS all_latency
       FROM ai_usage WHERE tenant_id = $1 AND hour >= date_trunc('hour', $2::timestamptz, 'UTC') GROUP BY model_id, model ORDER BY sum(calls) DESC, model_id, model LIMIT 50
     )
     SELECT model_id, model, calls::text, input_tokens::text, output_tokens::text, ${summed('outcomes')}, ${summed('latency')},
       (SELECT jsonb_object_agg(currency, cost) FROM (
          SELECT u.currency, sum(u.cost_micros)::text AS cost FROM ai_usage u
          WHERE u.tenant_id = $1 AND u.hour >= date_trunc('hour', $2::timestamptz, 'UTC') AND u.model_id = m.model_id AND u.model = m.model AND u.currency <> '' GROUP BY u.currency) c) AS costs,
       coalesce((SELECT CASE WHEN b.open_until IS NULL THEN 'closed' WHEN b.open_until > now() THEN 'open' ELSE 'half_open' END FROM model_breakers b
          WHERE b.scope = CASE WHEN m.model_id = '' THEN '00000000-0000-0000-0000-000000000000'::uuid ELSE $1 END
            AND b.model_id = CASE WHEN m.model_id = '' THEN m.model ELSE m.model_id END), 'closed') AS breaker
     FROM m ORDER BY m.calls DESC, model_id, model`,
    [tenantId, from],
  );
  return rows.map((row) => ({
    modelId: row.model_id === '' ? null : row.model_id,
    model: row.model,
    calls: Number(row.calls),
    outcomes: row.outcomes,
    latencyMs: {
      p50: quantile(row.latency, 0.5),
      p95: quantile(row.latency, 0.95),
      p99: quantile(row.latency, 0.99),
    },
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    costs: Object.entries(row.costs ?? {}).map(([currency, micros]) => ({ currency, micros: Number(micros) })),
    breaker: row.breaker,
  }));
}

/** Fingerprints of the connections that answered a call of the workspace in about the last 24 hours, tests included. */
export async function readAnsweredConnections(tx: Transaction, tenantId: string): Promise<ReadonlySet<string>> {
  const { rows } = await tx.query<{ connection: string }>(
    'read_answered_connections',
    `SELECT DISTINCT jsonb_object_keys(connections) AS connection FROM ai_usage
     WHERE tenant_id = $1 AND hour >= now() - interval '25 hours'`,
    [tenantId],
  );
  return new Set(rows.map(({ connection }) => connection));
}
