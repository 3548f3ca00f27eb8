import { AppError } from '../../../../shared/errors.ts';
import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { todayStart } from './today.ts';

/** What a call may take. */
export interface Demand {
  tokens: number;
  /** By currency: models of the hub and of the workspace may have prices in different ones. */
  costMicros: Readonly<Record<string, bigint>>;
}

/** A call is over by then, or its process is dead; in seconds. */
const leaseSeconds = 90;
const pollMs = 250;
/** For so long a call waits while those under way may take all that is left. */
const longestWaitMs = 3_000;
const comeBackSeconds = 5;

interface Row {
  is_made: boolean;
  is_used_up: boolean;
  seconds_left: number;
}

/**
 * Reserves what a call may take of the day's budget, before it leaves; over all processes one decides at a time. A call is let through as long as what was used and what
 * calls under way may take is below each limit, so a day goes beyond one by no more than a call.
 * @returns the reservation; null where the workspace has no budget any more.
 * @throws AppError `ai_budget_used_up`; the signal's reason.
 */
export async function reserve(
  { db, clock }: { db: Database; clock: Clock },
  tenantId: string,
  demand: Demand,
  signal: AbortSignal,
): Promise<string | null> {
  const endsAt = clock.now() + longestWaitMs;
  for (;;) {
    signal.throwIfAborted();
    const id = newId();
    const row = await tryToReserve(db, tenantId, id, demand);
    if (row === null) return null;
    if (row.is_made) return id;
    if (row.is_used_up)
      throw new AppError(
        'ai_budget_used_up',
        'The budget of this workspace for models is used up for today: models are asked again from 00:00 UTC. An admin can change it with PUT /tenants/{tenantId}/ai/budget.',
        { retryAfterSeconds: Math.max(1, Math.ceil(row.seconds_left)) },
      );
    if (clock.now() + pollMs > endsAt)
      throw new AppError(
        'ai_budget_used_up',
        'The calls of models that are under way may take all that is left of the budget of this workspace for today; try again shortly.',
        { retryAfterSeconds: comeBackSeconds },
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
      // Sent together: the second sees what was committed before the first had its lock.
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
