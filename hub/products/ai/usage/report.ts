import type { z } from 'zod';
import { maxUsageDays } from '../../../../shared/contract/ai/usage.ts';
import type { aiUsageResource as resource } from '../../../../shared/contract/ai/usage.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';

type Query = z.output<typeof resource.getAiUsage.query>;
type UsageReport = z.output<typeof resource.getAiUsage.response>;

interface Row {
  day: string;
  model_id: string;
  model: string;
  currency: string;
  calls: string;
  failed: string;
  estimated: string;
  input_tokens: string;
  output_tokens: string;
  cost_micros: string;
}

const dayMs = 86_400_000;
const defaultDays = 30;
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Model usage of a workspace by day and model. @throws AppError `validation_failed`. */
export async function readUsage(db: Database, tenantId: string, query: Query): Promise<UsageReport> {
  const toMs = query.to === undefined ? Date.now() : Date.parse(query.to);
  const to = dayOf(toMs);
  const from = query.from ?? dayOf(toMs - (defaultDays - 1) * dayMs);
  const days = Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
  if (days < 1) invalid('query.from', 'must not be after query.to');
  if (days > maxUsageDays) invalid('query.from', `must be at most ${maxUsageDays} days before query.to`);
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<Row>(
      'read_ai_usage',
      `SELECT (hour AT TIME ZONE 'UTC')::date::text AS day, model_id, model, currency, sum(calls) AS calls, sum(failed) AS failed, sum(estimated) AS estimated,
         sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(cost_micros) AS cost_micros
       FROM ai_usage WHERE tenant_id = $1 AND hour >= $2::date::timestamp AT TIME ZONE 'UTC' AND hour < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'
       GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2, 3, 4`,
      [tenantId, from, to],
    ),
  );
  const speech = await db.read(tenantId, (tx) =>
    tx.query<{ day: string; transcribed_ms: string; spoken_characters: string }>(
      'read_speech_usage',
      'SELECT day::text, transcribed_ms, spoken_characters FROM ai_speech_usage WHERE tenant_id = $1 AND day BETWEEN $2::date AND $3::date ORDER BY day DESC',
      [tenantId, from, to],
    ),
  );
  const data = rows.map((row) => ({
    day: row.day,
    modelId: row.model_id === '' ? null : row.model_id,
    model: row.model,
    calls: Number(row.calls),
    failedCalls: Number(row.failed),
    estimatedCalls: Number(row.estimated),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    cost: row.currency === '' ? null : { currency: row.currency, micros: Number(row.cost_micros) },
  }));
  const sum = (of: 'calls' | 'failedCalls' | 'estimatedCalls' | 'inputTokens' | 'outputTokens') =>
    data.reduce((total, row) => total + row[of], 0);
  const costs = new Map<string, number>();
  for (const { cost } of data)
    if (cost !== null) costs.set(cost.currency, (costs.get(cost.currency) ?? 0) + cost.micros);
  return {
    from,
    to,
    data,
    speech: speech.rows.map((row) => ({
      day: row.day,
      seconds: Math.ceil(Number(row.transcribed_ms) / 1_000),
      characters: Number(row.spoken_characters),
    })),
    totals: {
      calls: sum('calls'),
      failedCalls: sum('failedCalls'),
      estimatedCalls: sum('estimatedCalls'),
      inputTokens: sum('inputTokens'),
      outputTokens: sum('outputTokens'),
      costs: [...costs].map(([currency, micros]) => ({ currency, micros })),
    },
  };
}

function invalid(path: string, message: string): never {
  throw new AppError('validation_failed', `${path} ${message}`, { details: [{ path, message }] });
}
