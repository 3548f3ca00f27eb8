import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { SipDialog } from '../sip/index.ts';

/** Limits on calls to phone numbers, per workspace over all processes. */
export interface DialQuota {
  maxConcurrentCalls: number;
  maxMinutesPerDay: number;
}

export type DialLimit = 'concurrent_calls' | 'minutes_per_day';

/** The session that owns a call. The call ends with the session. */
export interface CallOwner {
  tenantId: string;
  sessionId: string;
}

/** Lease of a call. After it expires, the leader process takes over the call. */
const leaseSeconds = 60;
/** Longer than the maximum call duration of the SIP server. */
const maxCallHours = 5;

const today = `(now() AT TIME ZONE 'UTC')::date`;

/** SQL that adds the duration of deleted calls to the sum of the day on which they end. */
const charge = `UPDATE sip_dial_sums s SET day = ${today},
  seconds = CASE WHEN s.day = ${today} THEN s.seconds ELSE 0 END + g.seconds
  FROM (SELECT tenant_id, ceil(sum(greatest(0, extract(epoch FROM least(now(), expires_at) - answered_at))))::int AS seconds FROM gone
        WHERE answered_at IS NOT NULL AND is_counted GROUP BY tenant_id) g WHERE s.tenant_id = g.tenant_id`;
const gone = 'RETURNING tenant_id, answered_at, expires_at, is_counted';

interface Row {
  id: string;
  callId: string;
  fromTag: string;
  toTag: string;
}

const dialogColumns = 'call_id AS "callId", from_tag AS "fromTag", to_tag AS "toTag"';
const dialogOf = ({ callId, fromTag, toTag }: Row): SipDialog => ({ callId, fromTag, toTag });

/**
 * Starts a call that counts against the quota, or returns the exceeded limit. The transaction serializes the starts of
 * one workspace.
 */
export async function writeDial(
  tx: Transaction,
  id: string,
  { tenantId, sessionId }: CallOwner,
  { callId, fromTag }: Omit<SipDialog, 'toTag'>,
  quota: DialQuota,
): Promise<DialLimit | null> {
  const { rows: sums } = await tx.query<{ seconds: number }>(
    'lock_sip_dial_sum',
    `INSERT INTO sip_dial_sums AS s (tenant_id, day, seconds) VALUES ($1, ${today}, 0) ON CONFLICT (tenant_id) DO UPDATE SET day = excluded.day,
       seconds = CASE WHEN s.day = excluded.day THEN s.seconds ELSE 0 END RETURNING seconds`,
    [tenantId],
  );
  const { rows } = await tx.query<{ running: number; seconds: number }>(
    'count_sip_dials',
    `SELECT count(*)::int AS running, coalesce(sum(extract(epoch FROM now() - answered_at)), 0)::float8 AS seconds
     FROM sip_calls WHERE tenant_id = $1 AND is_counted AND expires_at > now()`,
    [tenantId],
  );
  const { running, seconds } = rows[0] ?? { running: 0, seconds: 0 };
  if (running >= quota.maxConcurrentCalls) return 'concurrent_calls';
  if ((sums[0]?.seconds ?? 0) + seconds >= quota.maxMinutesPerDay * 60) return 'minutes_per_day';
  await tx.query(
    'insert_sip_dial',
    `INSERT INTO sip_calls (id, tenant_id, session_id, is_counted, call_id, from_tag, expires_at)
     VALUES ($1, $2, $3, true, $4, $5, now() + make_interval(secs => $6))`,
    [id, tenantId, sessionId, callId, fromTag, leaseSeconds],
  );
  return null;
}

/** Stores a call that was answered `seconds` ago. The write is idempotent and does nothing for a removed workspace. */
export const writeAnswered = (
  db: Database,
  id: string,
  { tenantId, sessionId }: CallOwner,
  { callId, fromTag, toTag }: SipDialog,
  { isCounted, seconds }: { isCounted: boolean; seconds: number },
): Promise<unknown> =>
  db.systemStatement(
    'write_answered_sip_call',
    `INSERT INTO sip_calls (id, tenant_id, session_id, is_counted, call_id, from_tag, to_tag, answered_at, expires_at)
     SELECT $1, t.id, $3, $4, $5, $6, $7, now() - make_interval(secs => $8), now() + make_interval(secs => $9) FROM tenants t WHERE t.id = $2
     ON CONFLICT (id) DO UPDATE SET to_tag = excluded.to_tag, answered_at = coalesce(sip_calls.answered_at, excluded.answered_at), expires_at = excluded.expires_at`,
    [id, tenantId, sessionId, isCounted, callId, fromTag, toTag, seconds, leaseSeconds],
  );

export const renewCalls = (db: Database, ids: string[]): Promise<unknown> =>
  db.systemStatement(
    'renew_sip_calls',
    `UPDATE sip_calls SET expires_at = now() + make_interval(secs => $2) WHERE id = ANY($1::uuid[])
     AND (answered_at IS NULL OR answered_at > now() - make_interval(hours => $3))`,
    [ids, leaseSeconds, maxCallHours],
  );

export const deleteCall = (db: Database, id: string): Promise<unknown> =>
  db.systemStatement('end_sip_call', `WITH gone AS (DELETE FROM sip_calls WHERE id = $1 ${gone}) ${charge}`, [id]);

/** Answered calls of a session. */
export async function readAnswered(
  db: Database,
  { tenantId, sessionId }: CallOwner,
): Promise<{ id: string; isCounted: boolean; dialog: SipDialog }[]> {
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<Row & { isCounted: boolean }>(
      'read_answered_sip_calls',
      `SELECT id, is_counted AS "isCounted", ${dialogColumns} FROM sip_calls WHERE tenant_id = $1 AND session_id = $2 AND to_tag IS NOT NULL LIMIT 16`,
      [tenantId, sessionId],
    ),
  );
  return rows.map((row) => ({ id: row.id, isCounted: row.isCounted, dialog: dialogOf(row) }));
}

/** A page of answered calls of all workspaces, oldest first. `isOff` means that the workspace has no hosted SIP. */
export async function readCallsAfter(
  db: Database,
  after: string,
  limit: number,
): Promise<{ id: string; sessionId: string; isOff: boolean; dialog: SipDialog }[]> {
  const rows = await db.systemStatement<Row & { sessionId: string; isOff: boolean }>(
    'read_sip_calls',
    `SELECT c.id, c.session_id AS "sessionId", h.tenant_id IS NULL AS "isOff", ${dialogColumns}
     FROM (SELECT * FROM sip_calls WHERE to_tag IS NOT NULL AND id > $1 ORDER BY id LIMIT $2) c
     LEFT JOIN hosted_sip h ON h.tenant_id = c.tenant_id ORDER BY c.id`,
    [after, limit],
  );
  return rows.map((row) => ({ id: row.id, sessionId: row.sessionId, isOff: row.isOff, dialog: dialogOf(row) }));
}

/** Deletes calls with expired leases that the SIP server cannot be asked about, or that exceed the maximum duration. */
export const sweepCalls = (db: Database): Promise<unknown> =>
  db.systemStatement(
    'sweep_sip_calls',
    `WITH gone AS (DELETE FROM sip_calls WHERE id IN (SELECT id FROM sip_calls WHERE expires_at < now()
       AND (to_tag IS NULL OR answered_at < now() - make_interval(hours => $1)) ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED) ${gone}) ${charge}`,
    [maxCallHours],
  );

/** Answered calls with expired leases. */
export async function readLost(db: Database): Promise<{ id: string; tenantId: string; dialog: SipDialog }[]> {
  const rows = await db.systemStatement<Row & { tenantId: string }>(
    'read_lost_sip_calls',
    `SELECT id, tenant_id AS "tenantId", ${dialogColumns} FROM sip_calls WHERE expires_at < now() AND to_tag IS NOT NULL ORDER BY expires_at LIMIT 1000`,
    [],
  );
  return rows.map((row) => ({ id: row.id, tenantId: row.tenantId, dialog: dialogOf(row) }));
}
