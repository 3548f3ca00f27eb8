import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import { instantOf } from './months.ts';

const file = 'migrations/taken-back/0036_bound_run_history.sql';
const tries = 3;

/**
 * Takes back what stands of the division of the history into months where the last step of it can't be done: steps and lines have a bound then, which the
 * version before knows nothing of, and from which on it could write none. Call it without the lock of the migrations.
 * @param migrationLock the advisory lock under which migrations are done: whoever has it now goes on with them.
 * @returns what to tell whoever runs the hub; null where nothing of it stands, or another process is at it.
 */
export async function takeBackBound(
  client: Client,
  { migrationLock, lockTimeoutMs }: { migrationLock: number; lockTimeoutMs: number },
): Promise<string | null> {
  const { rows } = await client.query<{ bound: string }>(
    `SELECT substring(pg_get_constraintdef(oid) FROM '[0-9a-f]{8}-[0-9a-f-]{27}') AS bound FROM pg_constraint WHERE conrelid = to_regclass('public.run_steps') AND conname = 'run_steps_bound'`,
  );
  if (rows[0] === undefined) return null;
  const until = instantOf(rows[0].bound).toISOString().slice(0, 10);
  const statements = await readFile(fileURLToPath(new URL(`../../../${file}`, import.meta.url)), 'utf8');
  for (let count = 0; count < tries; count += 1) {
    try {
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}`);
      const turn = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS taken', [
        migrationLock,
      ]);
      if (turn.rows[0]?.taken !== true) {
        await client.query('ROLLBACK');
        return null;
      }
      await client.query(statements);
      await client.query('COMMIT');
      return 'what was begun of it was taken back, so that the version before can go on; start this one when nobody reads the tables for long';
    } catch {
      // Whatever it was: what stands is told below.
      await client.query('ROLLBACK').catch(() => undefined);
    }
  }
  return (
    `the upgrade is half done, and from ${until} 00:00 UTC on no steps or log lines can be written until it is finished: ` +
    `start this version again once nobody reads the tables for long (a backup does), or go back by "psql -1 -f ${file}" and the version before`
  );
}
