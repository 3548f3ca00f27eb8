import type { Database, Transaction } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { closedState, isForgettable, observe, windowMs } from './breaker.ts';
import type { BreakerState, Observation } from './breaker.ts';

/** The scope of the hub's own model. */
export const hubScope = '00000000-0000-0000-0000-000000000000';

/** A model under one configuration. */
export interface BreakerKey {
  scope: string;
  modelId: string;
  /** Null for the hub's own. */
  tenantId: string | null;
  fingerprint: string;
}

/** What the configuration is read with of a breaker that has a row. */
export interface BreakerView {
  fingerprint: string;
  /** For how long it is open still; null when it is closed. */
  openMs: number | null;
  /** Whether somebody is finding out now. */
  isProbed: boolean;
  /** Whether it failed within the last minute. */
  isTroubled: boolean;
}

/** A probe whose process died ends so. It outlasts every call. */
const probeSeconds = 40;

/** Claims the probe of a half-open breaker; true for one caller of all processes. */
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

/** Breakers that are open or half open, of all workspaces and of the hub; without those that nobody came back to for 10 minutes. */
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
  probe_until: number | null;
  told_at: number | null;
  now: number;
}

/** Adds what was seen of a model to its breaker; tells the admins of its workspace, once, when it refuses its calls. */
export function writeObservation(
  db: Database,
  key: BreakerKey,
  refusedStatus: number | null,
  seen: Observation,
): Promise<{ change: ReturnType<typeof observe>['change']; tells: boolean }> {
  const place = [key.scope, key.modelId];
  return db.system(
    async (tx) => {
      const [, { rows }] = await Promise.all([
        tx.query(
          'make_model_breaker',
          `INSERT INTO model_breakers (scope, model_id, tenant_id, fingerprint) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
          [...place, key.tenantId, key.fingerprint],
        ),
        tx.query<Row>(
          'lock_model_breaker',
          `SELECT fingerprint, recent, openings, ${inMs('open_until')}, ${inMs('probe_until')}, ${inMs('told_at')},
             extract(epoch FROM clock_timestamp())::float8 * 1000 AS now
           FROM model_breakers WHERE scope = $1 AND model_id = $2 FOR UPDATE`,
          place,
        ),
      ]);
      const [row] = rows;
      // Another one has just forgotten it; what comes next is counted.
      if (row === undefined) return { change: null, tells: false };
      const before: BreakerState =
        row.fingerprint === key.fingerprint
          ? {
              recent: row.recent,
              openings: row.openings,
              openUntil: row.open_until,
              probeUntil: row.probe_until,
              toldAt: row.told_at,
            }
          : closedState();
      const { state, change, tells } = observe(before, seen, row.now);
      if (isForgettable(state)) {
        await tx.query('forget_model_breaker', 'DELETE FROM model_breakers WHERE scope = $1 AND model_id = $2', place);
      } else {
        const troubledAt = Math.max(...state.recent.filter(({ failed }) => failed > 0).map(({ at }) => at));
        const mails = tells && key.tenantId !== null;
        await tx.query(
          'write_model_breaker',
          `UPDATE model_breakers SET fingerprint = $3, recent = $4::jsonb, openings = $5, open_until = ${toInstant('$6')},
             probe_until = ${toInstant('$7')}, told_at = ${toInstant('$8')}, troubled_until = ${toInstant('$9')},
             told_status = CASE WHEN $10 THEN $11 ELSE told_status END, mail_due_at = CASE WHEN $10 THEN now() ELSE mail_due_at END,
             updated_at = now()
           WHERE scope = $1 AND model_id = $2`,
          [
            ...place,
            key.fingerprint,
            JSON.stringify(state.recent),
            state.openings,
            state.openUntil,
            state.probeUntil,
            state.toldAt,
            Number.isFinite(troubledAt) ? troubledAt + windowMs : null,
            mails,
            refusedStatus,
          ],
        );
        if (mails) await audit(tx, key, refusedStatus);
      }
      return { change, tells };
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
