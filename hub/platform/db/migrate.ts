import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, DatabaseError } from 'pg';
import { concurrentSteps } from './concurrent-indexes.ts';
import type { IndexStep } from './concurrent-indexes.ts';
import { readMigrationFiles } from './orm.ts';
import type { MigrationMeta } from './orm.ts';

/** Where the migrations of this product lie. */
export const migrationsFolder = fileURLToPath(new URL('../../../migrations', import.meta.url));

/** Spells "outr": the advisory lock under which one process at a time migrates a database. */
const migrationLock = 0x6f757472;

/** What another session's lock or transaction caused, so that the same migration may go through later. */
const passingCodes = new Set(['55P03', '40P01', '40001']);

const raisedWarning = '01000';

/** The last migration of the baseline (0000 to 0003), by its time in the journal. */
const baselineMillis = 1_795_752_003_000;

export interface MigrateOptions {
  folder?: string;
  /** How long a migration may stand in the queue for a table: everybody who comes after it waits as long. */
  lockTimeoutMs?: number;
  /** How long the build of an index may wait for older transactions, which holds up nobody. */
  indexLockTimeoutMs?: number;
  /** Tries of one migration before it is given up. */
  maxAttempts?: number;
  /** The pause after the first try; it doubles up to ten seconds. */
  backoffMs?: number;
  /** How long to wait for another process that migrates. */
  turnTimeoutMs?: number;
  /** Told in a line why a migration is tried again, and what one warns of. */
  onNotice?: (message: string) => void;
  signal?: AbortSignal;
}

/**
 * Brings the database to the newest schema while others go on using it; safe to call from several processes at once. Each
 * migration is one transaction that waits for its locks a moment only and else comes again later; one that holds
 * `CREATE INDEX CONCURRENTLY` runs statement by statement, and may be repeated after a crash half-way. Which ones were run
 * stands in Drizzle's own table.
 * @param url postgres:// URL of the user that owns the tables.
 * @throws when the database cannot be reached, when a development version before the baseline created it, or when a migration fails. A failed
 * migration leaves nothing behind, except indexes that it had built.
 */
export async function migrateDatabase(url: string, options: MigrateOptions = {}): Promise<void> {
  const {
    folder = migrationsFolder,
    lockTimeoutMs = 1_000,
    indexLockTimeoutMs = 600_000,
    maxAttempts = 40,
    backoffMs = 250,
    turnTimeoutMs = 1_800_000,
    onNotice,
    signal,
  } = options;
  const migrations = readMigrationFiles({ migrationsFolder: folder }).map((migration) => ({
    ...migration,
    steps: concurrentSteps(migration.sql),
  }));
  const client = new Client({
    connectionString: url,
    application_name: 'outrigger-migrate',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  // Without a listener a connection that dies would end the process.
  client.on('error', () => undefined);
  client.on('notice', ({ code, message }) => {
    // What statements warn of by themselves has codes of its own.
    if (code === raisedWarning && message !== undefined) onNotice?.(message);
  });
  await client.connect();
  try {
    // A limit that the server sets for requests would end the build of a large index, each time anew.
    await client.query('SET statement_timeout = 0');
    for (let attempt = 1; ; attempt += 1) {
      await takeTurn(client, turnTimeoutMs, signal);
      let failed: unknown;
      try {
        for (const migration of await pendingOf(client, migrations)) {
          signal?.throwIfAborted();
          await (migration.steps === null
            ? runInTransaction(client, migration, lockTimeoutMs)
            : runConcurrently(client, migration, migration.steps, indexLockTimeoutMs));
          attempt = 1;
        }
        return;
      } catch (error) {
        if (!isPassing(error) || attempt >= maxAttempts) throw error;
        failed = error;
      } finally {
        // Whoever waits for this turn in a statement of its own would hold a snapshot that the build of an index waits for.
        await client.query('SELECT pg_advisory_unlock($1)', [migrationLock]).catch(() => undefined);
      }
      onNotice?.(
        `A migration waits for others that use the database (${(failed as Error).message}); it is tried again.`,
      );
      await sleep(Math.min(backoffMs * 2 ** (attempt - 1), 10_000) * (0.5 + Math.random() / 2), undefined, { signal });
    }
  } finally {
    await client.end();
  }
}

/** Takes the advisory lock by asking again and again: a statement that waited would hold a snapshot, for which the build of an index waits in turn. */
async function takeTurn(client: Client, timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
  for (const deadline = performance.now() + timeoutMs; ;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
      migrationLock,
    ]);
    if (rows[0]?.taken === true) return;
    if (performance.now() > deadline) throw new Error('another process has been migrating the database for too long');
    await sleep(100, undefined, { signal });
  }
}

async function pendingOf<Migration extends MigrationMeta>(
  client: Client,
  migrations: Migration[],
): Promise<Migration[]> {
  await client.query(
    'CREATE SCHEMA IF NOT EXISTS drizzle; CREATE TABLE IF NOT EXISTS drizzle.__drizzle_migrations (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at bigint)',
  );
  const { rows } = await client.query<{ created_at: string }>('SELECT created_at FROM drizzle.__drizzle_migrations');
  const done = new Set(rows.map((row) => Number(row.created_at)));
  const known = new Set(migrations.map((migration) => migration.folderMillis));
  if (!done.has(baselineMillis) && [...done].some((millis) => !known.has(millis)))
    throw new Error(
      'A development version of Outrigger created this database, and its tables cannot be upgraded. Use a new database (DATABASE_URL), or a new data folder (OUTRIGGER_HOME) for the embedded one.',
    );
  return migrations.filter((migration) => !done.has(migration.folderMillis));
}

async function runInTransaction(client: Client, migration: MigrationMeta, lockTimeoutMs: number): Promise<void> {
  await client.query(`BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}`);
  try {
    for (const statement of migration.sql) await client.query(statement);
    await record(client, migration);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function runConcurrently(
  client: Client,
  migration: MigrationMeta,
  steps: IndexStep[],
  lockTimeoutMs: number,
): Promise<void> {
  await client.query(`SET lock_timeout = ${lockTimeoutMs}`);
  try {
    for (const step of steps) {
      const drop = `DROP INDEX CONCURRENTLY IF EXISTS ${step.name}`;
      if (step.kind === 'create') {
        const { rows } = await client.query<{ valid: boolean }>(
          'SELECT indisvalid AND indisready AS valid FROM pg_index WHERE indexrelid = to_regclass($1)',
          [step.name],
        );
        if (rows[0]?.valid === true) continue;
        // What a build leaves that was cut off: never used, and kept up by every write.
        if (rows[0] !== undefined) await client.query(drop);
      }
      await client.query(step.kind === 'create' ? step.statement : drop);
    }
    await record(client, migration);
  } finally {
    await client.query('RESET lock_timeout').catch(() => undefined);
  }
}

async function record(client: Client, migration: MigrationMeta): Promise<void> {
  await client.query('INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ($1, $2)', [
    migration.hash,
    migration.folderMillis,
  ]);
}

function isPassing(error: unknown): boolean {
  return error instanceof DatabaseError && passingCodes.has(error.code ?? '');
}
