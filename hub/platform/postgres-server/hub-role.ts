import { Client, escapeIdentifier, escapeLiteral } from 'pg';

/** As whom the hub signs in to its embedded server. */
export const hubUser = 'outrigger_hub';

/** The roles that the hub works under, each transaction under one of them; the first migration makes them where they are missing. */
const workRoles = ['outrigger_app', 'outrigger_system'];

/** Kinds of objects with the statement that gives each away; identity sequences and toast go with their tables. */
const transferOwnership = `
DO $$
DECLARE
  command text;
BEGIN
  FOR command IN
    SELECT format('ALTER SCHEMA %I OWNER TO ${hubUser}', nspname) FROM pg_namespace WHERE nspowner = current_user::regrole AND nspname !~ '^(pg_|information_schema$)'
    UNION ALL
    SELECT format('ALTER %s %I.%I OWNER TO ${hubUser}', CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, n.nspname, c.relname)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relowner = current_user::regrole AND n.nspname !~ '^(pg_|information_schema$)' AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
        AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i') AND c.relkind = 'S')
    UNION ALL
    SELECT format('ALTER ROUTINE %s OWNER TO ${hubUser}', p.oid::regprocedure) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE p.proowner = current_user::regrole AND n.nspname !~ '^(pg_|information_schema$)'
    UNION ALL
    SELECT format('ALTER TYPE %I.%I OWNER TO ${hubUser}', n.nspname, t.typname) FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
      WHERE t.typowner = current_user::regrole AND n.nspname !~ '^(pg_|information_schema$)' AND t.typtype IN ('e', 'd', 'r')
  LOOP
    EXECUTE command;
  END LOOP;
END
$$`;

/**
 * Makes the hub's database and its role where they are missing, and gives the role what an earlier version left to the superuser. The role owns database
 * and tables and can take on the two roles it works under; it is no superuser, so a statement that somebody smuggled in reads no file and no password.
 * @param admin signed in to the server as its superuser.
 */
export async function prepareDatabase(
  admin: Client,
  options: { database: string; superuserUrl: string; hubPassword: string },
): Promise<void> {
  const exists = async (text: string, value: string) => (await admin.query(text, [value])).rowCount !== 0;
  const password = escapeLiteral(options.hubPassword);
  if (!(await exists('SELECT 1 FROM pg_roles WHERE rolname = $1', hubUser)))
    await admin.query(`CREATE ROLE ${hubUser} LOGIN NOSUPERUSER CREATEROLE NOCREATEDB NOINHERIT`);
  await admin.query(`ALTER ROLE ${hubUser} PASSWORD ${password}`);
  const database = escapeIdentifier(options.database);
  if (!(await exists('SELECT 1 FROM pg_database WHERE datname = $1', options.database))) {
    await admin.query(`CREATE DATABASE ${database} OWNER ${hubUser}`);
    return;
  }
  if (
    await exists(
      'SELECT 1 FROM pg_database WHERE datname = $1 AND pg_get_userbyid(datdba) = current_user',
      options.database,
    )
  ) {
    const inside = new Client({ connectionString: options.superuserUrl, connectionTimeoutMillis: 2_000 });
    inside.on('error', () => undefined);
    await inside.connect();
    try {
      await inside.query('BEGIN');
      for (const role of workRoles) {
        if (await exists('SELECT 1 FROM pg_roles WHERE rolname = $1', role)) {
          await inside.query(`GRANT ${role} TO ${hubUser} WITH ADMIN OPTION, SET TRUE, INHERIT FALSE`);
        }
      }
      await inside.query(transferOwnership);
      // What the first migrations promised for what is to come holds for those of their new owner.
      if (await exists('SELECT 1 FROM pg_roles WHERE rolname = $1', 'outrigger_app')) {
        await inside.query(
          `ALTER DEFAULT PRIVILEGES FOR ROLE ${hubUser} IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${workRoles.join(', ')}`,
        );
        await inside.query(
          `ALTER DEFAULT PRIVILEGES FOR ROLE ${hubUser} IN SCHEMA public GRANT USAGE ON SEQUENCES TO ${workRoles.join(', ')}`,
        );
        await inside.query(`ALTER DEFAULT PRIVILEGES FOR ROLE ${hubUser} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC`);
      }
      await inside.query(`ALTER DATABASE ${database} OWNER TO ${hubUser}`);
      await inside.query('COMMIT');
    } finally {
      await inside.end();
    }
  }
}
