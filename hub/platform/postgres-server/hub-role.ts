import { Client, escapeIdentifier, escapeLiteral } from 'pg';

/** The login role of the hub on its embedded server. */
export const hubUser = 'outrigger_hub';

/** The roles that transactions of the hub run as. The first migration creates them. */
const workRoles = ['outrigger_app', 'outrigger_system'];

/**
 * Transfers all objects of the current user to the hub's role. Identity sequences and TOAST tables follow their tables.
 */
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
 * Creates the hub's database and login role if they are missing, and transfers to the role the objects that earlier
 * versions created as superuser. The role owns the database and its tables and can switch to the two roles of
 * transactions. It is not a superuser, so injected SQL cannot read files or passwords.
 * @param admin is connected as superuser.
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
    const hubClient = new Client({ connectionString: options.superuserUrl, connectionTimeoutMillis: 2_000 });
    hubClient.on('error', () => undefined);
    await hubClient.connect();
    try {
      await hubClient.query('BEGIN');
      for (const role of workRoles) {
        if (await exists('SELECT 1 FROM pg_roles WHERE rolname = $1', role)) {
          await hubClient.query(`GRANT ${role} TO ${hubUser} WITH ADMIN OPTION, SET TRUE, INHERIT FALSE`);
        }
      }
      await hubClient.query(transferOwnership);
      // The default privileges of the first migrations must also apply to tables that the new owner creates.
      if (await exists('SELECT 1 FROM pg_roles WHERE rolname = $1', 'outrigger_app')) {
        await hubClient.query(
          `ALTER DEFAULT PRIVILEGES FOR ROLE ${hubUser} IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${workRoles.join(', ')}`,
        );
        await hubClient.query(
          `ALTER DEFAULT PRIVILEGES FOR ROLE ${hubUser} IN SCHEMA public GRANT USAGE ON SEQUENCES TO ${workRoles.join(', ')}`,
        );
        await hubClient.query(`ALTER DEFAULT PRIVILEGES FOR ROLE ${hubUser} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC`);
      }
      await hubClient.query(`ALTER DATABASE ${database} OWNER TO ${hubUser}`);
      await hubClient.query('COMMIT');
    } finally {
      await hubClient.end();
    }
  }
}
