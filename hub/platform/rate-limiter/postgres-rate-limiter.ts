import type { Database } from '../db/database.ts';
import { stateOf } from './rate-limiter.ts';
import type { RateLimiter } from './rate-limiter.ts';

/** How many windows that are over one statement of a sweep forgets. */
const pruneBatch = 1_000;

const windowStart = `to_timestamp(floor(extract(epoch from clock_timestamp()) / $2) * $2)`;

/** Counts in an unlogged table: exact while the database lives, anew after a crash of it. */
export function createPostgresRateLimiter(db: Database): RateLimiter {
  return {
    async take(key, limit) {
      const rows = await db.systemStatement<{ count: number; reset_at: Date }>(
        'take_rate_limit',
        `INSERT INTO rate_limits AS r (key, window_start, count, expires_at) VALUES ($1, ${windowStart}, 1, ${windowStart} + make_interval(secs => $2))
             ON CONFLICT (key) DO UPDATE SET
               count = CASE WHEN r.window_start >= excluded.window_start THEN r.count + 1 ELSE 1 END,
               window_start = greatest(r.window_start, excluded.window_start),
               expires_at = CASE WHEN r.window_start >= excluded.window_start THEN r.expires_at ELSE excluded.expires_at END
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
      for (;;) {
        const pruned = await db.systemStatement<{ key: string }>(
          'prune_rate_limits',
          `DELETE FROM rate_limits WHERE key = ANY(ARRAY(SELECT key FROM rate_limits WHERE expires_at < now() ORDER BY expires_at LIMIT $1)) AND expires_at < now() RETURNING key`,
          [pruneBatch],
        );
        if (pruned.length < pruneBatch) return;
      }
    },

    [Symbol.asyncDispose]: async () => undefined,
  };
}
