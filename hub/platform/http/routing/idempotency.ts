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

/** A POST that named an `Idempotency-Key`. */
export interface IdempotentRequest {
  /** The credential that the key belongs to. */
  caller: string;
  /** Its workspace; null when only the request itself will tell. */
  tenantId: string | null;
  key: string;
  fingerprint: string;
}

/** Carries requests out once for each key of a caller. */
export interface Idempotency {
  /**
   * Answers what the first request under this key was answered, or performs it. All that `perform` writes and the row of the key
   * are one transaction, so whatever dies at whatever moment, a repeat finds both or neither. A request that fails leaves its
   * key free, because it changed nothing.
   * @throws AppError `idempotency_key_reused` for another request under the same key, `idempotency_in_progress` while the first runs.
   */
  once(
    request: IdempotentRequest,
    perform: () => Promise<StoredResponse>,
  ): Promise<{ answer: StoredResponse; replayed: boolean }>;
  /**
   * As `once`, for what waits for somebody else's answer: nothing is locked and no connection held meanwhile. The key is held by a row that ends by itself, should the
   * process die; what `perform` writes within `conclude` is one transaction with the answer under the key. What it answers or throws without that leaves the key free.
   * @throws as `once`.
   */
  onceWithoutTransaction(
    request: IdempotentRequest & { tenantId: string },
    perform: (conclude: Conclude) => Promise<StoredResponse>,
  ): Promise<{ answer: StoredResponse; replayed: boolean }>;
}

/** Writes what an operation did that waited outside, and is to answer with what that gives; once, as the last of it. */
export type Conclude = <Result>(write: () => Promise<Result>) => Promise<Result>;

export const concludeWithoutKey: Conclude = (write) => write();

const sealPurpose = 'idempotent answer';

/** Stands for the status of an answer while there is none. */
const underWayStatus = 0;
/** Stands for the status of an answer that was erased; its key stays, so that nothing is done twice. */
const erasedStatus = -1;
/** How long a key is held for what waits outside: longer than any such operation takes. */
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
  if (!/^[\u0020-\u007e]{1,255}$/.test(key))
    throw new AppError('idempotency_key_invalid', 'Idempotency-Key must have 1 to 255 printable ASCII characters.');
  return key;
}

/** The credential whose keys a request uses; null for callers that have no keys of their own. */
export function idempotentCallerOf(principal: Principal): string | null {
  if (principal.kind === 'token') return `token:${principal.tokenId}`;
  if (principal.kind === 'session') return `user:${principal.user.id}`;
  if (principal.kind === 'webhook-token')
    return `webhook:${createHash('sha256').update(principal.token).digest('hex')}`;
  return null;
}

/** What makes two requests the same one. */
export function fingerprintOf(operation: Operation, path: string, body: unknown): string {
  return createHash('sha256')
    .update(`${operation.id}\n${path}\n${canonicalJson(body ?? null)}`)
    .digest('hex');
}

/** The lock under which a key is used: held by the transaction, so that it ends with the process at the latest. */
function lockOf({ caller, key }: IdempotentRequest): string {
  return createHash('sha256').update(`idempotency\n${caller}\n${key}`).digest().readBigInt64BE().toString();
}

/** A rate limit or a fault of ours is no answer to keep: the same request may succeed later. */
const isFinal = ({ status }: StoredResponse) => status < 500 && status !== 429;

/** Keeps answers for a day, sealed: some of them hold keys and codes that are shown once. */
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
        'The request with this Idempotency-Key was carried out, but its answer was erased with the data of a person. Read what it made, or use a new key.',
      );
    return { status: row.response_status, body: JSON.parse(secrets.open(sealPurpose, row.sealed_answer)) as JsonValue };
  };
  const write = async (
    tx: Transaction,
    tenantId: string,
    { caller, key, fingerprint }: IdempotentRequest,
    answer: StoredResponse,
  ): Promise<void> => {
    await tx.query(
      'write_idempotent',
      `INSERT INTO idempotency_keys (tenant_id, caller, key, fingerprint, response_status, sealed_answer, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, now() + interval '24 hours')
       ON CONFLICT (caller, key) DO UPDATE SET tenant_id = excluded.tenant_id, fingerprint = excluded.fingerprint, response_status = excluded.response_status,
         sealed_answer = excluded.sealed_answer, expires_at = excluded.expires_at, created_at = now()`,
      [tenantId, caller, key, fingerprint, answer.status, secrets.seal(sealPurpose, JSON.stringify(answer.body))],
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
        if (earlier !== null) return { answer: earlier, replayed: true };
        const answer = await perform();
        const tenantId = request.tenantId ?? joined.tenantId;
        // What touched no workspace did nothing that must not be done twice.
        if (tenantId !== null && isFinal(answer)) await write(tx, tenantId, request, answer);
        return { answer, replayed: false };
      }, request.tenantId),
    async onceWithoutTransaction(request, perform) {
      // Whoever held the key too long and comes back late finds another's mark.
      const mark = randomUUID();
      const held = await db.systemStatement(
        'claim_idempotent',
        `INSERT INTO idempotency_keys (tenant_id, caller, key, fingerprint, response_status, sealed_answer, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
         ON CONFLICT (caller, key) DO UPDATE SET tenant_id = excluded.tenant_id, fingerprint = excluded.fingerprint, response_status = excluded.response_status,
           sealed_answer = excluded.sealed_answer, expires_at = excluded.expires_at, created_at = now()
         WHERE idempotency_keys.expires_at <= now() RETURNING key`,
        [request.tenantId, request.caller, request.key, request.fingerprint, underWayStatus, mark, claimSeconds],
      );
      if (held.length === 0) {
        const earlier = await db.system((tx) => read(tx, request), { readOnly: true });
        // It has just been let go.
        if (earlier === null) throw inProgress();
        return { answer: earlier, replayed: true };
      }
      let isConcluded = false;
      try {
        const answer = await perform(async (conclude) => {
          const result = await db.joined(async (tx) => {
            const body = await conclude();
            const { rowCount } = await tx.query(
              'conclude_idempotent',
              `UPDATE idempotency_keys SET response_status = $4, sealed_answer = $5, expires_at = now() + interval '24 hours'
               WHERE caller = $1 AND key = $2 AND sealed_answer = $3`,
              [request.caller, request.key, mark, 200, secrets.seal(sealPurpose, JSON.stringify(body))],
            );
            if (rowCount === 0) throw inProgress();
            return body;
          }, request.tenantId);
          isConcluded = true;
          return result;
        });
        return { answer, replayed: false };
      } finally {
        if (!isConcluded)
          await db
            .systemStatement(
              'release_idempotent',
              'DELETE FROM idempotency_keys WHERE caller = $1 AND key = $2 AND sealed_answer = $3',
              [request.caller, request.key, mark],
            )
            // It ends by itself.
            .catch(() => undefined);
      }
    },
  };
}

/**
 * Erases the kept answers of a workspace, for a person whose data is erased: any of them may hold that data. Answers are sealed, so those of one
 * person can't be told from others.
 */
export async function eraseIdempotentAnswers(tx: Transaction, tenantId: string): Promise<void> {
  await tx.query(
    'erase_idempotent_answers',
    `UPDATE idempotency_keys SET response_status = $2, sealed_answer = '' WHERE tenant_id = $1 AND response_status NOT IN ($2, $3)`,
    [tenantId, erasedStatus, underWayStatus],
  );
}

export const idempotencyRetention: RowRetention = { expiring: [{ table: 'idempotency_keys' }] };
