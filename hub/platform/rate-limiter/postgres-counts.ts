import type { Database } from '../db/database.ts';
import type { SharedCounts } from './shared-counts.ts';

/** Ended windows that one statement deletes. */
const pruneBatch = 1_000;

const windowStart = `to_timestamp(floor(extract(epoch from clock_timestamp()) / $2) * $2)`;

interface Counted {
  count: number;
  reset_at: Date;
  left_ms: number;
}

/** Counts in an unlogged table: exact, but reset by a crash of the database. */
export function createPostgresCounts(db: Database): SharedCounts {
  return {
    async add(key, { limit, windowSeconds }, amount) {
      const [row] =
        amount === 0
          ? await db.systemStatement<Counted>(
              'read_rate_limit',
              `SELECT coalesce((SELECT count FROM rate_limits WHERE key = $1 AND window_start >= ${windowStart}), 0) AS count, ${windowStart} + make_interval(secs => $2) AS reset_at, 0 AS left_ms`,
              [key, windowSeconds],
            )
          : await db.systemStatement<Counted>(
              'add_to_rate_limit',
              `INSERT INTO rate_limits AS r (key, window_start, count, expires_at) VALUES ($1, ${windowStart}, $3, ${windowStart} + make_interval(secs => $2))
               ON CONFLICT (key) DO UPDATE SET
                 count = CASE WHEN r.window_start >= excluded.window_start THEN r.count + $3 ELSE $3 END,
                 window_start = greatest(r.window_start, excluded.window_start),
                 expires_at = CASE WHEN r.window_start >= excluded.window_start THEN r.expires_at ELSE excluded.expires_at END
               RETURNING count, window_start + make_interval(secs => $2) AS reset_at,
                 extract(epoch from window_start + make_interval(secs => $2) - clock_timestamp())::float8 * 1000 AS left_ms`,
              [key, windowSeconds, amount],
            );
      const { count, reset_at: resetAt, left_ms: leftMs } = row as Counted;
      return { count, limit, resetAt, leftMs };
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
