import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../test/fixtures/until.ts';
import { Database } from '../db/database.ts';
import { migrateDatabase } from '../db/migrate.ts';
import { processStart } from '../process/process-identity.ts';
import { readPostgresUrl, startPostgresServer } from './server.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-server-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
const start = (onNotice: (message: string) => void = () => undefined) =>
  startPostgresServer({ home, onNotice, settings: { fsync: 'off' } });

/** The process id of the running server, from its pid file; undefined while there is none. */
function serverPid(): number | undefined {
  try {
    const pid = Number(readFileSync(join(home, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]);
    return pid > 0 && processStart(pid) !== null ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Ends the server as in a crash. Returns the process id. */
function crash(): number {
  const pid = serverPid();
  if (pid === undefined) throw new Error('no server is running');
  process.kill(pid, 'SIGQUIT');
  return pid;
}

/** PostgreSQL refuses to start on a data folder that other users can write to. */
const refuseStarts = () => chmodSync(join(home, 'postgres/data'), 0o777);
const allowStarts = () => chmodSync(join(home, 'postgres/data'), 0o700);
const countRefusedStarts = () =>
  readFileSync(join(home, 'postgres/postgres.log'), 'utf8').match(/FATAL: .*invalid permissions/g)?.length ?? 0;

const answers = async (url: string) => {
  try {
    return (await withClient(url, (client) => client.query('SELECT 1'))).rowCount === 1;
  } catch {
    return false;
  }
};

async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Checks that the hub's role can run all migrations and work under both roles. */
async function expectToServe(url: string): Promise<void> {
  await migrateDatabase(url);
  await using db = new Database({ url, maxConnections: 3, applicationName: 'test', onError: () => undefined });
  await db.system((tx) =>
    tx.query(
      'x',
      `INSERT INTO tenants (id, name, entitlements) VALUES (gen_random_uuid(), 'kept ' || random(), '{}')`,
      [],
    ),
  );
  await db.workspace('01890a5d-ac96-774b-bcce-b302099a8057', (tx) => tx.query('y', 'SELECT 1 FROM runs', []));
  const { rows: tables } = await withClient(url, async (client) => {
    // Both roles can use tables that later migrations create.
    await client.query('CREATE TABLE public.later (id bigserial PRIMARY KEY, tenant_id uuid)');
    await client.query(`CREATE FUNCTION public.later() RETURNS int LANGUAGE sql AS 'SELECT 1'`);
    const { rows } = await client.query(
      `SELECT has_function_privilege('public', 'public.later()', 'EXECUTE') OR has_schema_privilege('public', 'public', 'CREATE') OR has_database_privilege('public', 'outrigger', 'TEMPORARY') AS is_open,
         has_database_privilege('outrigger_system', 'outrigger', 'TEMPORARY') AS can_probe`,
    );
    expect(rows).toEqual([{ is_open: false, can_probe: true }]);
    return client.query<{ owner: string; ok: boolean }>(
      `SELECT pg_get_userbyid(c.relowner) AS owner, has_table_privilege('outrigger_app', 'public.later', 'INSERT') AND has_sequence_privilege('outrigger_system', 'public.later_id_seq', 'USAGE') AS ok
       FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S', 'p')`,
    );
  });
  expect(tables.length).toBeGreaterThan(40);
  expect(new Set(tables.map(({ owner }) => owner))).toEqual(new Set(['outrigger_hub']));
  expect(tables.every(({ ok }) => ok)).toBe(true);
}

async function expectNoPower(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query(
      'SELECT rolname, rolsuper, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = current_user',
    );
    expect(rows).toEqual([
      { rolname: 'outrigger_hub', rolsuper: false, rolcreatedb: false, rolreplication: false, rolbypassrls: false },
    ]);
    for (const statement of [
      "SELECT pg_read_file('postgresql.conf')",
      'SELECT * FROM pg_authid',
      "COPY tenants TO PROGRAM 'true'",
      'ALTER ROLE outrigger_hub SUPERUSER',
      'SET ROLE outrigger',
      "ALTER ROLE outrigger PASSWORD 'x'",
    ]) {
      await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    }
  });
}

describe('the embedded database', () => {
  test('starts again after a second crash during recovery', async () => {
    await using server = await start();
    const first = crash();
    await until(
      () => ![undefined, first].includes(serverPid()),
      () => 'the server was not started again',
    );
    const second = crash();
    await until(
      () => ![undefined, second].includes(serverPid()),
      () => 'the server did not start after the second crash',
    );
    await expect.poll(() => answers(server.url)).toBe(true);
  });

  test('restarts after failed attempts, with one notice for each cause', async () => {
    const notices: string[] = [];
    await using server = await start((message) => notices.push(message));
    refuseStarts();
    crash();
    await until(
      () => countRefusedStarts() >= 3,
      () => `only ${countRefusedStarts()} tries: ${notices.join('; ')}`,
    );
    allowStarts();
    await until(
      () => answers(server.url),
      () => `the server did not start again: ${notices.join('; ')}`,
    );
    await expect.poll(() => notices.at(-1)).toBe('The embedded database is running again');
    expect(notices.filter((notice) => notice.includes('did not start'))).toEqual([
      expect.stringMatching(
        /^The embedded database did not start: FATAL: .* has invalid permissions \(log: .*\); trying again$/,
      ),
    ]);
  });

  test('stays stopped when it is disposed between two attempts to start', async () => {
    const notices: string[] = [];
    {
      await using server = await start((message) => notices.push(message));
      refuseStarts();
      crash();
      await until(
        () => countRefusedStarts() >= 2,
        () => notices.join('; '),
      );
      await server[Symbol.asyncDispose]();
      allowStarts();
    }
    expect(serverPid()).toBeUndefined();
    notices.length = 0;
    await using server = await start((message) => notices.push(message));
    expect(await answers(server.url)).toBe(true);
    // No process of the disposed server was left to wait for.
    expect(notices).toEqual([]);
  });

  test('is used by a role that owns the tables and is not a superuser', async () => {
    await using server = await start();
    expect(readPostgresUrl(home)).toBe(server.url);
    await expectToServe(server.url);
    await expectNoPower(server.url);
  });

  test('of an earlier version, whose hub was the superuser, is transferred to the hub role with its data', async () => {
    {
      await using server = await start();
      const { superuserUrl } = server;
      await withClient(superuserUrl.replace(/\/outrigger$/, '/postgres'), async (admin) => {
        await admin.query('DROP DATABASE outrigger');
        await admin.query('DROP ROLE outrigger_hub');
        await admin.query('CREATE DATABASE outrigger');
      });
      await migrateDatabase(superuserUrl);
      await withClient(superuserUrl, async (admin) => {
        await admin.query(
          `INSERT INTO tenants (id, name, entitlements) VALUES (gen_random_uuid(), 'from before', '{}')`,
        );
        await admin.query(
          `CREATE SCHEMA bullmq; CREATE TYPE bullmq.state AS ENUM ('a'); CREATE TABLE bullmq.job (id serial, state bullmq.state); CREATE FUNCTION bullmq.f(int) RETURNS int LANGUAGE sql AS 'SELECT $1'; CREATE VIEW bullmq.v AS SELECT 1 AS one`,
        );
      });
      const { port, password } = JSON.parse(readFileSync(join(home, 'postgres.json'), 'utf8')) as {
        port: number;
        password: string;
      };
      writeFileSync(join(home, 'postgres.json'), JSON.stringify({ port, password }));
    }
    for (let again = 0; again < 2; again += 1) {
      await using server = await start();
      expect(new URL(server.url).username).toBe('outrigger_hub');
      if (again === 0) await expectToServe(server.url);
      await expectNoPower(server.url);
      const kept = await withClient(server.url, async (client) => {
        await client.query(
          `ALTER TABLE bullmq.job ADD COLUMN IF NOT EXISTS more int; ALTER TYPE bullmq.state ADD VALUE IF NOT EXISTS 'b'`,
        );
        return (await client.query<{ name: string }>(`SELECT name FROM tenants WHERE name = 'from before'`)).rows;
      });
      expect(kept).toHaveLength(1);
    }
  });

  test('without its password file is left unchanged, and the error says what to do', async () => {
    await (await start())[Symbol.asyncDispose]();
    for (const text of ['', '{"port":1']) {
      writeFileSync(join(home, 'postgres.json'), text);
      await expect(start()).rejects.toThrow(/postgres\.json is missing or broken.*restore the file/);
      expect(readFileSync(join(home, 'postgres.json'), 'utf8')).toBe(text);
    }
  });
});
