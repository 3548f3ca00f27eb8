import { AppError } from '../../../../shared/errors.ts';
import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { todayStart } from './today.ts';

/** Upper bound of the usage of a call. */
export interface Demand {
  tokens: number;
  /** Cost by currency, because models can have prices in different currencies. */
  costMicros: Readonly<Record<string, bigint>>;
}

/** Lifetime of a reservation in seconds. Every call ends earlier, unless its process crashed. */
const leaseSeconds = 90;
const pollMs = 250;
/** Longest wait while calls in progress have reserved the rest of the budget. */
const maxWaitMs = 3_000;
const retryAfterSeconds = 5;

interface Row {
  is_made: boolean;
  is_used_up: boolean;
  seconds_left: number;
}

/**
 * Reserves the upper bound of a call in the daily budget before the call. Decisions are serialized over all processes.
 * A call is admitted while the used and reserved amounts are below each limit, so a day exceeds a limit by at most one
 * call.
 * @returns the reservation ID, or null if the workspace has no budget.
 * @throws AppError `ai_budget_used_up`; the reason of the signal.
 */
export async function reserve(
  { db, clock }: { db: Database; clock: Clock },
  tenantId: string,
  demand: Demand,
  signal: AbortSignal,
): Promise<string | null> {
  const deadline = clock.now() + maxWaitMs;
  for (;;) {
    signal.throwIfAborted();
    const id = newId();
    const row = await tryToReserve(db, tenantId, id, demand);
    if (row === null) return null;
    if (row.is_made) return id;
    if (row.is_used_up)
      throw new AppError(
        'ai_budget_used_up',
        'The budget of this workspace for models is used up for today; it resets at 00:00 UTC. An admin can change it with PUT /tenants/{tenantId}/ai/budget.',
        { retryAfterSeconds: Math.max(1, Math.ceil(row.seconds_left)) },
      );
    if (clock.now() + pollMs > deadline)
      throw new AppError(
        'ai_budget_used_up',
        'Model calls in progress have reserved the rest of the budget of this workspace for today; try again shortly.',
        { retryAfterSeconds },
      );
    await waitFor(clock, pollMs, signal);
  }
}

function tryToReserve(db: Database, tenantId: string, id: string, demand: Demand): Promise<Row | null> {
  const costs = JSON.stringify(demand.costMicros, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return db.workspace(
    tenantId,
    async (tx) => {
      // The statements are pipelined. The second one sees everything committed before the first got its lock.
      const [, { rows }] = await Promise.all([
        tx.query('lock_ai_budget', 'SELECT FROM ai_budgets WHERE tenant_id = $1 FOR UPDATE', [tenantId]),
        tx.query<Row>(
          'reserve_ai_budget',
          `WITH used AS (
             SELECT coalesce(sum(input_tokens + output_tokens), 0) AS tokens,
               coalesce(sum(cost_micros) FILTER (WHERE currency = (SELECT currency FROM ai_budgets WHERE tenant_id = $1)), 0) AS cost
             FROM ai_usage WHERE tenant_id = $1 AND hour >= ${todayStart}
           ), held AS (
             SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(cost_micros), 0) AS cost FROM ai_reservations WHERE tenant_id = $1 AND expires_at > now()
           ), state AS (
             SELECT b.currency, used.tokens >= b.daily_tokens IS TRUE OR used.cost >= b.daily_cost_micros IS TRUE AS is_used_up,
               used.tokens + held.tokens >= b.daily_tokens IS TRUE OR used.cost + held.cost >= b.daily_cost_micros IS TRUE AS is_full
             FROM ai_budgets b CROSS JOIN used CROSS JOIN held WHERE b.tenant_id = $1 AND (b.daily_tokens IS NOT NULL OR b.currency IS NOT NULL)
           ), made AS (
             INSERT INTO ai_reservations (id, tenant_id, tokens, cost_micros, expires_at)
             SELECT $2, $1, $3, coalesce(($4::jsonb ->> currency)::bigint, 0), now() + make_interval(secs => $5) FROM state WHERE NOT is_full RETURNING id)
           SELECT is_used_up, EXISTS (SELECT FROM made) AS is_made, extract(epoch FROM ${todayStart} + interval '1 day' - now())::float8 AS seconds_left FROM state`,
          [tenantId, id, demand.tokens, costs, leaseSeconds],
        ),
      ]);
      return rows[0] ?? null;
    },
    { durable: false },
  );
}
