import type { Database } from './database.ts';

/** Connections that a process opens beside its pool: leader and months; without Redis also events, queue (3, its listener among them). */
const besidesPool = { withRedis: 2, withoutRedis: 6 };

/** The most connections that one process of the hub opens. */
export const connectionsOfProcess = (poolSize: number, hasRedis: boolean): number =>
  poolSize + (hasRedis ? besidesPool.withRedis : besidesPool.withoutRedis);

export interface DatabaseAdvice {
  /** Connections in use and allowed, and what one process opens at most. */
  summary: string;
  /** What the operator should change. */
  warnings: string[];
}

interface Facts {
  login: string;
  is_unlimited: boolean;
  allowed: number;
  used: number;
  by_hub: number;
}

/**
 * Reads how many connections PostgreSQL allows and how its login is privileged, in one statement.
 * @param poolSize `DATABASE_POOL_SIZE`.
 */
export async function adviseOnDatabase(
  db: Database,
  { poolSize, hasRedis, isExternal }: { poolSize: number; hasRedis: boolean; isExternal: boolean },
): Promise<DatabaseAdvice> {
  const { rows } = await db.system((tx) =>
    tx.query<Facts>(
      'read_database_facts',
      `SELECT session_user AS login, r.rolsuper OR r.rolbypassrls AS is_unlimited,
         least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
             - coalesce(current_setting('reserved_connections', true)::int, 0),
           nullif(d.datconnlimit, -1), nullif(r.rolconnlimit, -1)) AS allowed,
         (SELECT sum(numbackends)::int FROM pg_stat_database) AS used,
         (SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'outrigger%') AS by_hub
       FROM pg_roles r, pg_database d WHERE r.rolname = session_user AND d.datname = current_database()`,
      [],
    ),
  );
  const [facts] = rows;
  if (facts === undefined) throw new Error('the database named neither its login nor itself');
  const { login, allowed, used } = facts;
  const needed = connectionsOfProcess(poolSize, hasRedis);
  const free = allowed - used;
  const warnings = [
    ...(free < needed
      ? [
          `PostgreSQL allows ${allowed} connections and ${used} are in use, so there is no room for another process, which opens up to ${needed}. Raise max_connections (or the limit of the database or login), or lower DATABASE_POOL_SIZE (${poolSize}).`,
        ]
      : []),
    ...(facts.is_unlimited && isExternal
      ? [
          `The login ${login} of DATABASE_URL is SUPERUSER or has BYPASSRLS, so row-level security does not protect workspaces against a fault that leaves the role of a session. Use a login without both (docs/reference/database.md).`,
        ]
      : []),
  ];
  return {
    summary: `${used} of ${allowed} connections in use (${facts.by_hub} by hubs); one process opens up to ${needed}`,
    warnings,
  };
}
