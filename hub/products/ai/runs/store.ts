import type { AiRun } from '../../../../shared/contract/ai/runs.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';

interface RunRow {
  id: string;
  environment: 'live' | 'test';
  status: 'succeeded' | 'failed';
  input: string;
  context: string | null;
  metadata: Record<string, string>;
  locale: string | null;
  output_text: string | null;
  model: string | null;
  attempts: AiRun['attempts'];
  input_tokens: number;
  output_tokens: number;
  latency_ms: number;
  truncation: string | null;
  sources: string[];
  error: AiRun['error'];
  created_at: Date;
}

const columns =
  'id, environment, status, input, context, metadata, locale, output_text, model, attempts, input_tokens, output_tokens, latency_ms, truncation, sources, error, created_at';

/** Inserts an ended run, and a usage event if it succeeded. */
export async function insertRun(tx: Transaction, tenantId: string, run: AiRun): Promise<void> {
  await tx.query(
    'insert_ai_run',
    `WITH used AS (
       INSERT INTO usage_events (id, tenant_id, kind, subject_id, environment) SELECT $18, $2, 'ai.run', $1, $3 WHERE $4 = 'succeeded')
     INSERT INTO ai_runs (id, tenant_id, environment, status, input, context, metadata, locale, output_text, model, attempts, input_tokens, output_tokens,
       latency_ms, truncation, sources, error, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $19)`,
    [
      run.id,
      tenantId,
      run.environment,
      run.status,
      run.input,
      run.context,
      JSON.stringify(run.metadata),
      run.locale,
      run.outputText,
      run.model,
      JSON.stringify(run.attempts),
      run.usage.inputTokens,
      run.usage.outputTokens,
      run.latencyMs,
      run.truncation,
      run.sources,
      run.error === null ? null : JSON.stringify(run.error),
      newId(),
      run.createdAt,
    ],
  );
}

/**
 * Checks again, in the transaction that stores the answer, that the API key of a run is valid. The key may have lost
 * its access during the model call.
 * @throws AppError `token_revoked`, `token_expired`, `product_not_entitled`.
 */
export async function assertKeyIsValid(tx: Transaction, tenantId: string, tokenId: string): Promise<void> {
  const { rows } = await tx.query<{ is_revoked: boolean; is_expired: boolean; is_entitled: boolean }>(
    'read_key_of_ai_run',
    `SELECT k.revoked_at IS NOT NULL AS is_revoked, coalesce(k.expires_at <= now(), false) AS is_expired,
       coalesce((t.entitlements->>'ai_agent')::boolean, false) AS is_entitled
     FROM api_tokens k JOIN tenants t ON t.id = k.tenant_id WHERE k.tenant_id = $1 AND k.id = $2`,
    [tenantId, tokenId],
  );
  const [key] = rows;
  if (key === undefined || key.is_revoked)
    throw new AppError('token_revoked', 'This API key was revoked before the answer was complete.');
  if (key.is_expired) throw new AppError('token_expired', 'This API key expired before the answer was complete.');
  if (!key.is_entitled)
    throw new AppError(
      'product_not_entitled',
      'This workspace lost its entitlement to ai_agent before the answer was complete.',
    );
}

export async function readRun(tx: Transaction, tenantId: string, id: string): Promise<AiRun | null> {
  const { rows } = await tx.query<RunRow>(
    'read_ai_run',
    `SELECT ${columns} FROM ai_runs WHERE tenant_id = $1 AND id = $2`,
    [tenantId, id],
  );
  const [row] = rows;
  return row === undefined ? null : present(row);
}

/** Lists the runs of a workspace, newest first. */
export async function listRuns(
  tx: Transaction,
  tenantId: string,
  filter: {
    status?: string | undefined;
    environment?: string | undefined;
    metadata: Record<string, string> | null;
    before: string | undefined;
    limit: number;
  },
): Promise<AiRun[]> {
  const { rows } = await tx.query<RunRow>(
    'list_ai_runs',
    `SELECT ${columns} FROM ai_runs WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2) AND ($3::text IS NULL OR status = $3)
       AND ($4::text IS NULL OR environment = $4) AND ($5::jsonb IS NULL OR metadata @> $5) ORDER BY id DESC LIMIT $6`,
    [
      tenantId,
      filter.before ?? null,
      filter.status ?? null,
      filter.environment ?? null,
      filter.metadata === null ? null : JSON.stringify(filter.metadata),
      filter.limit,
    ],
  );
  return rows.map(present);
}

const present = (row: RunRow): AiRun => ({
  id: row.id,
  status: row.status,
  outputText: row.output_text,
  input: row.input,
  context: row.context,
  metadata: row.metadata,
  mode: 'text',
  locale: row.locale,
  environment: row.environment,
  model: row.model,
  attempts: row.attempts,
  usage: { inputTokens: row.input_tokens, outputTokens: row.output_tokens },
  latencyMs: row.latency_ms,
  truncated: row.truncation !== null,
  truncation: row.truncation,
  sources: row.sources,
  error: row.error,
  createdAt: row.created_at.toISOString(),
});
