import type { SipTransport, TrunkState } from '../../../../shared/contract/calls/own-trunk.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { nextFence, numberFenceBits } from '../../../platform/db/fence.ts';
import { isEntitledToCalling } from '../entitlement/index.ts';

export interface TrunkRow {
  id: string;
  host: string;
  port: number | null;
  username: string;
  sealed_password: string;
  transport: SipTransport;
  state: TrunkState;
  last_code: number | null;
  last_reason: string | null;
  expires_at: Date | null;
  next_attempt_at: Date | null;
  checked_at: Date | null;
  is_held: boolean;
}

/** Claims commit asynchronously, so the value must stay unique when a commit is lost. */
const nextEpoch = (column: string) => nextFence(column, numberFenceBits);

const shownColumns =
  'id, host, port, username, sealed_password, transport, state, last_code, last_reason, expires_at, next_attempt_at, checked_at, coalesce(expires_at > now(), false) AS is_held';

export async function readTrunk(tx: Transaction, tenantId: string): Promise<TrunkRow | undefined> {
  const { rows } = await tx.query<TrunkRow>(
    'read_sip_trunk',
    `SELECT ${shownColumns} FROM sip_trunks WHERE tenant_id = $1 AND removed_at IS NULL`,
    [tenantId],
  );
  return rows[0];
}

export async function insertTrunk(
  tx: Transaction,
  tenantId: string,
  trunk: Pick<TrunkRow, 'id' | 'host' | 'port' | 'username' | 'sealed_password' | 'transport'>,
): Promise<TrunkRow | undefined> {
  const { id, host, port, username, sealed_password: sealed, transport } = trunk;
  const { rows } = await tx.query<TrunkRow>(
    'insert_sip_trunk',
    `INSERT INTO sip_trunks (id, tenant_id, host, port, username, sealed_password, transport, next_attempt_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, now()) RETURNING ${shownColumns}`,
    [id, tenantId, host, port, username, sealed, transport],
  );
  return rows[0];
}

/**
 * Deletes removed trunks whose Contact a new trunk reuses at the same carrier, without unregistering them.
 * With the Contact of the operator's SIP server both have the same binding. A late unregister request would remove the
 * binding of the new trunk.
 */
export const forgetSucceeded = (
  tx: Transaction,
  tenantId: string,
  { host, username }: Pick<TrunkRow, 'host' | 'username'>,
): Promise<unknown> =>
  tx.query(
    'forget_succeeded_sip_trunks',
    `DELETE FROM sip_trunks WHERE tenant_id = $1 AND removed_at IS NOT NULL AND host = $2 AND username = $3
       AND contact NOT LIKE 'sip:' || replace(id::text, '-', '') || '@%'`,
    [tenantId, host, username],
  );

/** Restarts a trunk with a password. The current lease becomes invalid. */
export async function restartTrunk(tx: Transaction, id: string, sealedPassword: string): Promise<TrunkRow | undefined> {
  const { rows } = await tx.query<TrunkRow>(
    'restart_sip_trunk',
    `UPDATE sip_trunks SET sealed_password = $2, state = 'registering', last_code = NULL, last_reason = NULL, failures = 0, refused_credentials = 0,
       next_attempt_at = now(), lease_epoch = ${nextEpoch('lease_epoch')}, lease_expires_at = '-infinity', updated_at = now()
     WHERE id = $1 RETURNING ${shownColumns}`,
    [id, sealedPassword],
  );
  return rows[0];
}

/** Removed trunks per workspace that wait to be unregistered. Older ones are deleted. */
const maxRemoved = 4;

/**
 * Marks the trunk of a workspace as removed. The next process that claims it unregisters it, unless it never sent a
 * request.
 * @returns the ID, or undefined without a trunk.
 */
export async function markTrunkRemoved(tx: Transaction, tenantId: string): Promise<string | undefined> {
  const { rows } = await tx.query<{ id: string; sequence: string }>(
    'remove_sip_trunk',
    `UPDATE sip_trunks SET removed_at = now(), failures = 0, next_attempt_at = now(), lease_epoch = ${nextEpoch('lease_epoch')}, lease_expires_at = '-infinity', updated_at = now()
     WHERE tenant_id = $1 AND removed_at IS NULL RETURNING id, sequence`,
    [tenantId],
  );
  if (rows[0] === undefined) return undefined;
  await tx.query(
    'forget_sip_trunks',
    `DELETE FROM sip_trunks WHERE tenant_id = $1 AND removed_at IS NOT NULL
       AND (sequence = 0 OR id NOT IN (SELECT id FROM sip_trunks WHERE tenant_id = $1 AND removed_at IS NOT NULL ORDER BY removed_at DESC LIMIT $2))`,
    [tenantId, maxRemoved],
  );
  return rows[0].id;
}

/** A claimed trunk. Durations are milliseconds from the claim. */
export interface ClaimedTrunk {
  id: string;
  tenant_id: string;
  host: string;
  port: number | null;
  username: string;
  sealed_password: string;
  transport: SipTransport;
  state: TrunkState;
  contact: string | null;
  local_port: number | null;
  failures: number;
  refused_credentials: number;
  epoch: number;
  /** The trunk must be unregistered and not registered again. */
  is_removed: boolean;
  due_ms: number;
}

/** The lease that permits writes to a trunk. */
export type TrunkLease = Pick<ClaimedTrunk, 'id' | 'tenant_id' | 'epoch'>;

const isEntitled = `EXISTS (SELECT FROM tenants WHERE tenants.id = t.tenant_id AND ${isEntitledToCalling('tenants')})`;

/**
 * Claims trunks with expired leases. A trunk of a workspace without entitlement counts as removed while its carrier may
 * have a binding.
 */
export const claimTrunks = (db: Database, limit: number, leaseMs: number): Promise<ClaimedTrunk[]> =>
  db.systemStatement<ClaimedTrunk & Record<string, unknown>>(
    'claim_sip_trunks',
    `WITH free AS (SELECT id FROM sip_trunks t WHERE lease_expires_at <= now() AND (removed_at IS NOT NULL OR contact IS NOT NULL OR ${isEntitled})
       ORDER BY lease_expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)
     UPDATE sip_trunks t SET lease_epoch = ${nextEpoch('t.lease_epoch')}, lease_expires_at = now() + $2 * interval '1 millisecond' FROM free
     WHERE t.id = free.id
     RETURNING t.id, t.tenant_id, t.host, t.port, t.username, t.sealed_password, t.transport, t.state, t.contact, t.local_port, t.failures, t.refused_credentials,
       t.lease_epoch::float8 AS epoch, (t.removed_at IS NOT NULL OR NOT ${isEntitled}) AS is_removed,
       greatest(0, extract(epoch FROM coalesce(t.next_attempt_at, now()) - now()) * 1000)::float8 AS due_ms`,
    [limit, leaseMs],
  );

/**
 * Renews leases and returns those still valid. A lease becomes invalid when the entitlement of the workspace changes,
 * so that the next claim unregisters or registers the trunk.
 */
export const renewLeases = (
  db: Database,
  leases: readonly (TrunkLease & Pick<ClaimedTrunk, 'is_removed'>)[],
  leaseMs: number,
): Promise<{ id: string }[]> =>
  db.systemStatement(
    'renew_sip_trunks',
    `UPDATE sip_trunks t SET lease_expires_at = now() + $3 * interval '1 millisecond' FROM unnest($1::uuid[], $2::bigint[], $4::boolean[]) AS held (id, epoch, is_removed)
     WHERE t.id = held.id AND t.lease_epoch = held.epoch AND t.lease_expires_at < 'infinity' AND held.is_removed = (t.removed_at IS NOT NULL OR NOT ${isEntitled})
     RETURNING t.id`,
    [leases.map(({ id }) => id), leases.map(({ epoch }) => epoch), leaseMs, leases.map((lease) => lease.is_removed)],
  );

/** Releases leases, so that another process can claim them immediately. */
export const releaseLeases = (db: Database, leases: readonly TrunkLease[]): Promise<unknown> =>
  db.systemStatement(
    'release_sip_trunks',
    `UPDATE sip_trunks t SET lease_expires_at = '-infinity' FROM unnest($1::uuid[], $2::bigint[]) AS held (id, epoch)
     WHERE t.id = held.id AND t.lease_epoch = held.epoch AND t.lease_expires_at < 'infinity'`,
    [leases.map(({ id }) => id), leases.map(({ epoch }) => epoch)],
  );

/**
 * Reserves CSeq numbers and stores the Contact that they are sent with.
 * The commit waits for the disk, because a carrier rejects a number that was used before a database crash.
 * @returns the first number, or null if the lease is no longer valid. Then nothing may be sent.
 */
export async function reserveSequence(
  db: Database,
  { id, epoch, contact, local_port: localPort }: TrunkLease & Pick<ClaimedTrunk, 'contact' | 'local_port'>,
  count: number,
): Promise<number | null> {
  const { rows } = await db.system((tx) =>
    tx.query<{ first: number }>(
      'reserve_sip_sequence',
      `UPDATE sip_trunks SET sequence = sequence + $3, contact = $4, local_port = $5
       WHERE id = $1 AND lease_epoch = $2 AND lease_expires_at > now() AND lease_expires_at < 'infinity'
       RETURNING (sequence - $3 + 1)::float8 AS first`,
      [id, epoch, count, contact, localPort],
    ),
  );
  return rows[0]?.first ?? null;
}

/** Result of an attempt. Durations are milliseconds from now. */
export interface AttemptResult {
  state: TrunkState;
  lastCode: number | null;
  lastReason: string | null;
  failures: number;
  refusedCredentials: number;
  /** Lifetime granted by the carrier. Null if the carrier granted none. */
  expiresMs: number | null;
  /** Null if there is no next attempt. */
  nextMs: number | null;
}

const recordText = `UPDATE sip_trunks SET state = $3, last_code = $4, last_reason = $5, failures = $6, refused_credentials = $7, checked_at = now(), updated_at = now(),
    expires_at = CASE WHEN $8::float8 IS NULL THEN expires_at ELSE now() + $8::float8 * interval '1 millisecond' END,
    next_attempt_at = now() + $9::float8 * interval '1 millisecond',
    lease_expires_at = CASE WHEN $9::float8 IS NULL THEN 'infinity' ELSE lease_expires_at END
  WHERE id = $1 AND lease_epoch = $2 RETURNING id`;

const recordValues = ({ id, epoch }: TrunkLease, result: AttemptResult) => [
  id,
  epoch,
  result.state,
  result.lastCode,
  result.lastReason,
  result.failures,
  result.refusedCredentials,
  result.expiresMs,
  result.nextMs,
];

/** Stores the result of an attempt. Returns false, without a write, if the lease is no longer valid. */
export async function recordResult(db: Database, lease: TrunkLease, result: AttemptResult): Promise<boolean> {
  return (await db.systemStatement('record_sip_attempt', recordText, recordValues(lease, result))).length > 0;
}

/** Stores the last result of a trunk that stops, in the same way as `recordResult`. */
export async function recordStop(tx: Transaction, lease: TrunkLease, result: AttemptResult): Promise<boolean> {
  return (await tx.query('record_sip_stop', recordText, recordValues(lease, result))).rows.length > 0;
}

/** Stores that the connection of a registered trunk was lost, and the time of the next attempt. */
export const recordLost = (db: Database, { id, epoch }: TrunkLease, nextMs: number): Promise<unknown> =>
  db.systemStatement(
    'record_sip_loss',
    `UPDATE sip_trunks SET state = 'registering', next_attempt_at = now() + $3::float8 * interval '1 millisecond', updated_at = now()
     WHERE id = $1 AND lease_epoch = $2`,
    [id, epoch, nextMs],
  );

/**
 * Deletes a removed trunk after it was unregistered. A trunk without entitlement stays for the case that the
 * entitlement returns.
 */
export const forgetTrunk = (db: Database, { id, epoch }: TrunkLease): Promise<unknown> =>
  db.systemStatement(
    'forget_sip_trunk',
    `WITH gone AS (DELETE FROM sip_trunks WHERE id = $1 AND lease_epoch = $2 AND removed_at IS NOT NULL)
     UPDATE sip_trunks SET state = 'registering', contact = NULL, local_port = NULL, failures = 0, expires_at = NULL, next_attempt_at = NULL,
       lease_epoch = ${nextEpoch('lease_epoch')}, lease_expires_at = '-infinity', updated_at = now()
     WHERE id = $1 AND lease_epoch = $2 AND removed_at IS NULL`,
    [id, epoch],
  );
