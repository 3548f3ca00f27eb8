import type { Database } from '../db/database.ts';
import { stateOf } from './rate-limiter.ts';
import type { RateLimiter } from './rate-limiter.ts';

const windowStart = `to_timestamp(floor(extract(epoch from clock_timestamp()) / $2) * $2)`;

/** Counts in an unlogged table: exact while the database lives, anew after a crash of it. */
export function createPostgresRateLimiter(db: Database): RateLimiter {
  return {
    async take(key, limit) {
      const rows = await db.systemStatement<{ count: number; reset_at: Date }>(
            'take_rate_limit',
            `INSERT INTO rate_limits AS r (key, window_start, count) VALUES ($1, ${windowStart}, 1)
             ON CONFLICT (key) DO UPDATE SET
               count = CASE WHEN r.window_start >= excluded.window_start THEN r.count + 1 ELSE 1 END,
               window_start = greatest(r.window_start, excluded.window_start)
             RETURNING count, window_start + make_interval(secs => $2) AS reset_at`,
            [key, limit.windowSeconds],
      );
      const row = rows[0] as { count: number; reset_at: Date };
      return stateOf(row.count, limit, row.reset_at, false);
    },

    async peek(key, limit) {
      const rows = await db.systemStatement<{ count: number; reset_at: Date }>(
            'peek_rate_limit',
            `SELECT coalesce((SELECT count FROM rate_limits WHERE key = $1 AND window_start >= ${windowStart}), 0) AS count, ${windowStart} + make_interval(secs => $2) AS reset_at`,
            [key, limit.windowSeconds],
      );
      const row = rows[0] as { count: number; reset_at: Date };
      return stateOf(row.count, limit, row.reset_at, true);
    },

    async prune() {
      await db.systemStatement('prune_rate_limits', `DELETE FROM rate_limits WHERE window_start < now() - interval '1 hour'`, []);
    },

    [Symbol.asyncDispose]: async () => undefined,
  };
}
