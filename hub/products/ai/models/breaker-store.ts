import type { Database, Transaction } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { closedState, isForgettable, observe, windowMs } from './breaker.ts';
import type { BreakerState, Observation } from './breaker.ts';

/** Scope of the hub's own model. */
export const hubScope = '00000000-0000-0000-0000-000000000000';

/** Identifies the breaker of a model configuration. */
export interface BreakerKey {
  scope: string;
  modelId: string;
  /** Null for the hub's own model. */
  tenantId: string | null;
  fingerprint: string;
}

/** The state of a stored breaker, read together with the configuration. */
export interface BreakerView {
  fingerprint: string;
  /** Remaining open time in milliseconds. Null for a closed breaker. */
  openMs: number | null;
  /** When the next call may be sent. Null for a closed breaker. */
  openUntil: string | null;
  openedAt: string | null;
  /** Whether a probe is in progress. */
  isProbed: boolean;
  /** Whether the model failed within the last minute. */
  isTroubled: boolean;
  /** The first of the recent calls that failed, in milliseconds of the epoch. */
  failedAt: number | null;
}

/** Lease of a probe, longer than any call. It frees the probe of a crashed process. */
const probeSeconds = 40;

/** Claims the probe of a half-open breaker. Returns true for only one caller over all processes. */
export async function claimProbe(db: Database, { scope, modelId, fingerprint }: BreakerKey): Promise<boolean> {
  const rows = await db.systemStatement(
    'claim_model_probe',
    `UPDATE model_breakers SET probe_until = now() + make_interval(secs => $4)
     WHERE scope = $1 AND model_id = $2 AND fingerprint = $3 AND open_until <= now() AND (probe_until IS NULL OR probe_until <= now())
     RETURNING 1`,
    [scope, modelId, fingerprint, probeSeconds],
  );
  return rows.length > 0;
}

/**
 * Counts open and half-open breakers of all workspaces and the hub. Half-open breakers without a call for 10 minutes do
 * not count.
 */
export async function countOpenBreakers(db: Database): Promise<{ open: number; halfOpen: number }> {
  const rows = await db.systemStatement<{ open: number; half_open: number }>(
    'count_open_model_breakers',
    `SELECT count(*) FILTER (WHERE open_until > now())::int AS open, count(*) FILTER (WHERE open_until <= now())::int AS half_open
     FROM model_breakers WHERE open_until > now() - interval '10 minutes'`,
    [],
  );
  return { open: rows[0]?.open ?? 0, halfOpen: rows[0]?.half_open ?? 0 };
}

interface Row {
  fingerprint: string;
  recent: BreakerState['recent'];
  openings: number;
  open_until: number | null;
  opened_at: number | null;
  probe_until: number | null;
  notified_at: number | null;
  now: number;
}

/**
 * Adds an observation to the breaker of a model. If the model refuses calls, schedules at most one notice to the admins
 * of its workspace.
 */
export function writeObservation(
  db: Database,
  key: BreakerKey,
  refusedStatus: number | null,
  seen: Observation,
): Promise<{ change: ReturnType<typeof observe>['change']; notifies: boolean }> {
  const rowKey = [key.scope, key.modelId];
  return db.system(
    async (tx) => {
      const [, { rows }] = await Promise.all([
        tx.query(
          'make_model_breaker',
          `INSERT INTO model_breakers (scope, model_id, tenant_id, fingerprint) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
          [...rowKey, key.tenantId, key.fingerprint],
        ),
        tx.query<Row>(
          'lock_model_breaker',
          `SELECT fingerprint, recent, openings, ${inMs('open_until')}, ${inMs('opened_at')}, ${inMs('probe_until')}, ${inMs('notified_at')},
             extract(epoch FROM clock_timestamp())::float8 * 1000 AS now
           FROM model_breakers WHERE scope = $1 AND model_id = $2 FOR UPDATE`,
          rowKey,
        ),
      ]);
      const [row] = rows;
      // Another process has just deleted the row. The next observation creates it again.
      if (row === undefined) return { change: null, notifies: false };
      const before: BreakerState =
        row.fingerprint === key.fingerprint
          ? {
              recent: row.recent,
              openings: row.openings,
              openUntil: row.open_until,
              openedAt: row.opened_at,
              probeUntil: row.probe_until,
              notifiedAt: row.notified_at,
            }
          : closedState();
      const { state, change, notifies } = observe(before, seen, row.now);
      if (isForgettable(state)) {
        await tx.query('forget_model_breaker', 'DELETE FROM model_breakers WHERE scope = $1 AND model_id = $2', rowKey);
      } else {
        const troubledAt = Math.max(...state.recent.filter(({ failed }) => failed > 0).map(({ at }) => at));
        const mails = notifies && key.tenantId !== null;
        await tx.query(
          'write_model_breaker',
          `UPDATE model_breakers SET fingerprint = $3, recent = $4::jsonb, openings = $5, open_until = ${toInstant('$6')},
             probe_until = ${toInstant('$7')}, notified_at = ${toInstant('$8')}, troubled_until = ${toInstant('$9')},
             notified_status = CASE WHEN $10 THEN $11 ELSE notified_status END, mail_due_at = CASE WHEN $10 THEN now() ELSE mail_due_at END,
             opened_at = ${toInstant('$12')}, updated_at = now()
           WHERE scope = $1 AND model_id = $2`,
          [
            ...rowKey,
            key.fingerprint,
            JSON.stringify(state.recent),
            state.openings,
            state.openUntil,
            state.probeUntil,
            state.notifiedAt,
            Number.isFinite(troubledAt) ? troubledAt + windowMs : null,
            mails,
            refusedStatus,
            state.openedAt,
          ],
        );
        if (mails) await audit(tx, key, refusedStatus);
      }
      return { change, notifies };
    },
    { durable: false },
  );
}

async function audit(tx: Transaction, { tenantId, modelId }: BreakerKey, status: number | null): Promise<void> {
  await recordAudit(tx, {
    tenantId: tenantId as string,
    actor: 'platform',
    action: 'models.refused',
    targetType: 'models',
    targetId: modelId,
    details: { status },
  });
}

const inMs = (column: string) => `extract(epoch FROM ${column})::float8 * 1000 AS ${column}`;
const toInstant = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
