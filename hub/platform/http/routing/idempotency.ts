import { createHash, randomUUID } from 'node:crypto';
import type { Operation } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import type { Database, Transaction } from '../../db/database.ts';
import type { RowRetention } from '../../db/row-retention.ts';
import type { Secrets } from '../../secrets/secrets.ts';
import type { Principal } from '../auth/principal.ts';

export interface StoredResponse {
  status: number;
  body: JsonValue;
}

/** A POST request with an `Idempotency-Key`. */
export interface IdempotentRequest {
  /** The credential that the key belongs to. */
  caller: string;
  /** Workspace of the caller; null when only the operation can find it. */
  tenantId: string | null;
  key: string;
  fingerprint: string;
}

/** Executes a request at most once for each key of a caller. */
export interface Idempotency {
  /**
   * Returns the stored response of the first request with this key, or calls `perform`. The writes of `perform` and the
   * row of the key are one transaction: after a crash, a retry finds both or neither. A failed request does not use up
   * its key.
   * @throws AppError `idempotency_key_reused` for another request under the same key, `idempotency_in_progress` while
   * the first runs.
   */
  once(
    request: IdempotentRequest,
    perform: () => Promise<StoredResponse>,
  ): Promise<{ response: StoredResponse; replayed: boolean }>;
  /**
   * As `once`, for an operation that waits for a third party: it holds no lock and no database connection while it
   * waits. A row with an expiry claims the key, so that the claim ends even when the process dies. The writes of
   * `perform` within `conclude` and the stored response are one transaction. When `perform` ends without `conclude`,
   * the key is released.
   * @throws as `once`.
   */
  onceWithoutTransaction(
    request: IdempotentRequest & { tenantId: string },
    perform: (conclude: Conclude) => Promise<StoredResponse>,
  ): Promise<{ response: StoredResponse; replayed: boolean }>;
}

/**
 * Writes the result of an operation that waited for a third party, and returns its response. Called at most once, as
 * the last step.
 */
export type Conclude = <Result>(write: () => Promise<Result>) => Promise<Result>;

export const concludeWithoutKey: Conclude = (write) => write();

const sealPurpose = 'idempotent answer';

/** Value of `response_status` while the request is in progress. */
const underWayStatus = 0;
/**
 * Value of `response_status` after the response was erased. The key stays, so that the request is not executed twice.
 */
const erasedStatus = -1;
/** Expiry of a claimed key: longer than any operation that waits for a third party takes. */
const claimSeconds = 90;

const inProgress = () =>
  new AppError(
    'idempotency_in_progress',
    'The first request with this Idempotency-Key is still running; try again shortly.',
    { retryAfterSeconds: 1 },
  );

/** Reads the header. @throws AppError `idempotency_key_invalid`. */
export function idempotencyKeyOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const key = Array.isArray(header) ? header.join(',') : header;
  if (!/^[\u0021-\u007e]{1,255}$/.test(key))
    throw new AppError(
      'idempotency_key_invalid',
      'Idempotency-Key must have 1 to 255 visible ASCII characters, without spaces.',
    );
  return key;
}

/** The credential that the keys of a request belong to; null for callers that cannot use keys. */
export function idempotentCallerOf(principal: Principal): string | null {
  if (principal.kind === 'token') return `token:${principal.tokenId}`;
  if (principal.kind === 'session') return `user:${principal.user.id}`;
  if (principal.kind === 'webhook-token')
    return `webhook:${createHash('sha256').update(principal.token).digest('hex')}`;
  return null;
}

/** Requests with the same fingerprint count as the same request. */
export function fingerprintOf(operation: Operation, path: string, body: unknown): string {
  return createHash('sha256')
    .update(`${operation.id}\n${path}\n${canonicalJson(body ?? null)}`)
    .digest('hex');
}

/** Advisory lock of a key. The transaction holds it, so it is released when the process dies. */
function lockOf({ caller, key }: IdempotentRequest): string {
  return createHash('sha256').update(`idempotency\n${caller}\n${key}`).digest().readBigInt64BE().toString();
}

/** Rate limits and server errors are not stored, because the same request may succeed later. */
const isFinal = ({ status }: StoredResponse) => status < 500 && status !== 429;

/** Stores responses for 24 hours, encrypted, because some of them hold keys and codes that are shown once. */
export function createIdempotency(db: Database, secrets: Secrets): Idempotency {
  const read = async (
    tx: Transaction,
    { caller, key, fingerprint }: IdempotentRequest,
  ): Promise<StoredResponse | null> => {
    const { rows } = await tx.query<{ fingerprint: string; response_status: number; sealed_answer: string }>(
      'read_idempotent',
      'SELECT fingerprint, response_status, sealed_answer FROM idempotency_keys WHERE caller = $1 AND key = $2 AND expires_at > now()',
      [caller, key],
    );
    const [row] = rows;
    if (row === undefined) return null;
    if (row.fingerprint !== fingerprint)
      throw new AppError('idempotency_key_reused', 'This Idempotency-Key was used for another request; use a new one.');
    if (row.response_status === underWayStatus) throw inProgress();
    if (row.response_status === erasedStatus)
      throw new AppError(
        'conflict',
        "The request with this Idempotency-Key succeeded, but its response was erased together with a person's data. Read what it created, or use a new key.",
      );
    return { status: row.response_status, body: JSON.parse(secrets.open(sealPurpose, row.sealed_answer)) as JsonValue };
  };
  const write = async (
    tx: Transaction,
    tenantId: string,
    { caller, key, fingerprint }: IdempotentRequest,
    response: StoredResponse,
  ): Promise<void> => {
    await tx.query(
      'write_idempotent',
      `INSERT INTO idempotency_keys (tenant_id, caller, key, fingerprint, response_status, sealed_answer, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, now() + interval '24 hours')
       ON CONFLICT (caller, key) DO UPDATE SET tenant_id = excluded.tenant_id, fingerprint = excluded.fingerprint, response_status = excluded.response_status,
         sealed_answer = excluded.sealed_answer, expires_at = excluded.expires_at, created_at = now()`,
      [tenantId, caller, key, fingerprint, response.status, secrets.seal(sealPurpose, JSON.stringify(response.body))],
    );
  };
  return {
    once: (request, perform) =>
      db.joined(async (tx, joined) => {
        const { rows } = await tx.query<{ locked: boolean }>(
          'lock_idempotent',
          'SELECT pg_try_advisory_xact_lock($1) AS locked',
          [lockOf(request)],
        );
        if (rows[0]?.locked !== true) throw inProgress();
        const earlier = await read(tx, request);
        if (earlier !== null) return { response: earlier, replayed: true };
        const response = await perform();
        const tenantId = request.tenantId ?? joined.tenantId;
        // A request that used no workspace changed nothing, so it can be repeated.
        if (tenantId !== null && isFinal(response)) await write(tx, tenantId, request, response);
        return { response, replayed: false };
      }, request.tenantId),
    async onceWithoutTransaction(request, perform) {
      // A process whose claim expired finds the claim id of another request, and writes nothing.
      const claimId = randomUUID();
      const claimed = await db.systemStatement(
        'claim_idempotent',
        `INSERT INTO idempotency_keys (tenant_id, caller, key, fingerprint, response_status, sealed_answer, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
         ON CONFLICT (caller, key) DO UPDATE SET tenant_id = excluded.tenant_id, fingerprint = excluded.fingerprint, response_status = excluded.response_status,
           sealed_answer = excluded.sealed_answer, expires_at = excluded.expires_at, created_at = now()
         WHERE idempotency_keys.expires_at <= now() RETURNING key`,
        [request.tenantId, request.caller, request.key, request.fingerprint, underWayStatus, claimId, claimSeconds],
      );
      if (claimed.length === 0) {
        const earlier = await db.system((tx) => read(tx, request), { readOnly: true });
        // The other request released the key after the statement above.
        if (earlier === null) throw inProgress();
        return { response: earlier, replayed: true };
      }
      let isConcluded = false;
      try {
        const response = await perform(async (conclude) => {
          const result = await db.joined(async (tx) => {
            const body = await conclude();
            const { rowCount } = await tx.query(
              'conclude_idempotent',
              `UPDATE idempotency_keys SET response_status = $4, sealed_answer = $5, expires_at = now() + interval '24 hours'
               WHERE caller = $1 AND key = $2 AND sealed_answer = $3`,
              [request.caller, request.key, claimId, 200, secrets.seal(sealPurpose, JSON.stringify(body))],
            );
            if (rowCount === 0) throw inProgress();
            return body;
          }, request.tenantId);
          isConcluded = true;
          return result;
        });
        return { response, replayed: false };
      } finally {
        if (!isConcluded)
          await db
            .systemStatement(
              'release_idempotent',
              'DELETE FROM idempotency_keys WHERE caller = $1 AND key = $2 AND sealed_answer = $3',
              [request.caller, request.key, claimId],
            )
            // The claim expires after `claimSeconds`.
            .catch(() => undefined);
      }
    },
  };
}

/**
 * Erases all stored responses of a workspace when the data of a person is erased. Responses are encrypted, so those
 * that hold data of this person cannot be selected.
 */
export async function eraseStoredResponses(tx: Transaction, tenantId: string): Promise<void> {
  await tx.query(
    'erase_idempotent_answers',
    `UPDATE idempotency_keys SET response_status = $2, sealed_answer = '' WHERE tenant_id = $1 AND response_status NOT IN ($2, $3)`,
    [tenantId, erasedStatus, underWayStatus],
  );
}

export const idempotencyRetention: RowRetention = { expiring: [{ table: 'idempotency_keys' }] };
