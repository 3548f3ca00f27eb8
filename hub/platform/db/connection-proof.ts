import { Client } from 'pg';
import type { ClientBase } from 'pg';
import { AppError } from '../../../shared/errors.ts';
import { newId } from '../ids.ts';

/** The roles that the hub works under, one for each pool of connections. */
export type WorkRole = 'outrigger_app' | 'outrigger_system';

const remedy =
  'DATABASE_URL must lead to PostgreSQL itself, not through a connection pooler such as PgBouncer, and must not set "options".';

/** A connection on which the hub must not send a statement, since workspaces would not be isolated. */
const refuse = (problem: string): AppError => new AppError('unavailable', `${problem} ${remedy}`);

/**
 * Proves that a new connection works under its role, with row-level security, and with its time-outs. A pooler that ignores start-up options gives a connection of the owner
 * of the tables, who sees every workspace.
 * @throws AppError that names the cause and the remedy.
 */
export async function proveConnection(client: ClientBase, role: WorkRole): Promise<void> {
  const { rows } = await client.query<{
    role: string;
    is_exempt: boolean;
    is_isolated: boolean;
    has_limits: boolean;
  }>(
    `SELECT current_user AS role, (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) AS is_exempt,
       row_security_active('public.tenants') AS is_isolated,
       current_setting('statement_timeout') <> '0' AND current_setting('lock_timeout') <> '0' AND current_setting('idle_in_transaction_session_timeout') <> '0' AS has_limits`,
  );
  const [proof] = rows;
  if (proof?.role !== role)
    throw refuse(
      `A database connection works as ${proof?.role ?? 'nobody'} and not as ${role}: something between the hub and PostgreSQL ignores the start-up options of connections, so workspaces would not be isolated.`,
    );
  if (proof.is_exempt || !proof.is_isolated)
    throw refuse(
      `Row-level security does not apply to the role ${role}: take SUPERUSER and BYPASSRLS from it, and let it own no table.`,
    );
  if (!proof.has_limits)
    throw refuse('A database connection has no time-outs: something between the hub and PostgreSQL ignores them.');
}

/**
 * Proves, before anything is written, that connections keep what they ask for as they start. The hub needs that for its roles, for LISTEN, for advisory locks
 * and for prepared statements.
 * @throws AppError that names the cause and the remedy; what keeps the database from being reached.
 */
export async function proveSession(url: string): Promise<void> {
  const mark = newId();
  const client = new Client({
    connectionString: url,
    application_name: 'outrigger-proof',
    connectionTimeoutMillis: 10_000,
    options: `-c outrigger.session=${mark}`,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ mark: string | null }>(
      `SELECT current_setting('outrigger.session', true) AS mark`,
    );
    if (rows[0]?.mark !== mark)
      throw refuse('Something between the hub and PostgreSQL ignores the start-up options of connections.');
  } catch (error) {
    // What PgBouncer answers to options that it does not pass on.
    if (error instanceof Error && /unsupported startup parameter/i.test(error.message))
      throw refuse('Something between the hub and PostgreSQL refuses the start-up options of connections.');
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}
