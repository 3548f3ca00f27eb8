import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import { Client } from 'pg';

const migrationsFolder = fileURLToPath(new URL('../../../migrations', import.meta.url));

/** Spells "outr": the advisory lock under which one process at a time migrates a database. */
const migrationLock = 0x6f757472;

/**
 * Brings the database to the newest schema; safe to call from several processes at once.
 * @param url postgres:// URL of the user that owns the tables.
 * @throws when the database is out of reach or a migration fails; then nothing of that migration stays.
 */
export async function migrateDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url, application_name: 'outrigger-migrate', connectionTimeoutMillis: 10_000 });
  // Without a listener a connection that dies would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [migrationLock]);
    await migrate(drizzle({ client }), { migrationsFolder });
  } finally {
    await client.end();
  }
}
