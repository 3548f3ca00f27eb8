import { createHash } from 'node:crypto';
import type { Operation } from '../../shared/contract/define.ts';
import { AppError } from '../../shared/errors.ts';
import { canonicalJson } from '../../shared/json.ts';
import type { JsonValue } from '../../shared/json.ts';
import type { Database } from '../platform/db/database.ts';

export interface StoredAnswer {
  status: number;
  body: JsonValue;
}

/** A POST that named an `Idempotency-Key`. */
export interface IdempotentRequest {
  tenantId: string;
  tokenId: string;
  key: string;
  fingerprint: string;
}

/** A request that was begun and not finished blocks its key for so long, in seconds; a crash frees it then. */
const lockSeconds = 60;

/** Reads the header. @throws AppError `idempotency_key_invalid`. */
export function idempotencyKeyOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const key = Array.isArray(header) ? header.join(',') : header;
  if (!/^[\u0020-\u007e]{1,255}$/.test(key)) throw new AppError('idempotency_key_invalid', 'Idempotency-Key must have 1 to 255 printable ASCII characters.');
  return key;
}

/** What makes two requests the same one. */
export function fingerprintOf(operation: Operation, path: string, body: unknown): string {
  return createHash('sha256').update(`${operation.id}\n${path}\n${canonicalJson(body ?? null)}`).digest('hex');
}

/**
 * Begins a request under its key: null when it is the first, else the answer that the first one had.
 * @throws AppError `idempotency_key_reused` for another request under the same key, `idempotency_in_progress` while the first runs.
 */
export async function beginIdempotent(db: Database, { tenantId, tokenId, key, fingerprint }: IdempotentRequest): Promise<StoredAnswer | null> {
  return db.workspace(tenantId, async (tx) => {
    const { rowCount } = await tx.query(
      'begin_idempotent',
      `INSERT INTO idempotency_keys AS k (tenant_id, token_id, key, fingerprint, locked_until, expires_at)
       VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5), now() + interval '24 hours')
       ON CONFLICT (token_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, locked_until = excluded.locked_until, expires_at = excluded.expires_at,
         response_status = NULL, response_body = NULL, created_at = now()
       WHERE k.expires_at <= now() OR (k.response_status IS NULL AND k.locked_until <= now() AND k.fingerprint = excluded.fingerprint)`,
      [tenantId, tokenId, key, fingerprint, lockSeconds],
    );
    if (rowCount === 1) return null;
    const { rows } = await tx.query<{ fingerprint: string; response_status: number | null; response_body: JsonValue }>(
      'read_idempotent',
      'SELECT fingerprint, response_status, response_body FROM idempotency_keys WHERE token_id = $1 AND key = $2',
      [tokenId, key],
    );
    const row = rows[0];
    if (row !== undefined && row.fingerprint !== fingerprint) {
      throw new AppError('idempotency_key_reused', 'This Idempotency-Key was used for another request; use a new one.');
    }
    if (row?.response_status === null || row === undefined) {
      throw new AppError('idempotency_in_progress', 'The first request with this Idempotency-Key is still running; try again shortly.', { retryAfterSeconds: 1 });
    }
    return { status: row.response_status, body: row.response_body };
  });
}

/** Keeps the answer of the first request; without one (it failed for a reason of ours) the key is free again. */
export async function finishIdempotent(db: Database, { tenantId, tokenId, key }: IdempotentRequest, answer: StoredAnswer | null): Promise<void> {
  await db.workspace(tenantId, (tx) =>
    answer === null
      ? tx.query('free_idempotent', 'DELETE FROM idempotency_keys WHERE token_id = $1 AND key = $2 AND response_status IS NULL', [tokenId, key])
      : tx.query('finish_idempotent', 'UPDATE idempotency_keys SET response_status = $3, response_body = $4 WHERE token_id = $1 AND key = $2', [tokenId, key, answer.status, JSON.stringify(answer.body)]),
  );
}
