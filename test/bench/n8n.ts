import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client as PgClient } from 'pg';
import { freePort } from '../fixtures/free-port.ts';

/** An n8n in its own process with one workflow: a webhook and a no-op step. It stores each execution. */
export interface BenchN8n extends AsyncDisposable {
  webhookUrl: string;
  /** A connection to its database. */
  database: PgClient;
}

/** The path of n8n: `N8N_BIN`, or found in PATH. Null if it is not installed. */
export function findN8n(): string | null {
  const named = process.env['N8N_BIN'];
  const places = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'n8n'));
  return (named === undefined ? places : [named]).find((path) => existsSync(path)) ?? null;
}

const workflow = {
  id: 'benchworkflow001',
  name: 'bench',
  active: false,
  nodes: [
    {
      id: '1f9be3f5-2f6f-4c3f-8a0f-0c9be2f4a001',
      name: 'Webhook',
      type: 'n8n-nodes-base.webhook',
      typeVersion: 2,
      position: [0, 0],
      webhookId: '1f9be3f5-2f6f-4c3f-8a0f-0c9be2f4a002',
      parameters: { httpMethod: 'POST', path: 'bench', responseMode: 'onReceived' },
    },
    {
      id: '1f9be3f5-2f6f-4c3f-8a0f-0c9be2f4a003',
      name: 'Done',
      type: 'n8n-nodes-base.noOp',
      typeVersion: 1,
      position: [200, 0],
      parameters: {},
    },
  ],
  connections: { Webhook: { main: [[{ node: 'Done', type: 'main', index: 0 }]] } },
  settings: { executionOrder: 'v1', saveDataSuccessExecution: 'all' },
};

/** @param serverUrl a PostgreSQL database, in which n8n gets its own schema. */
export async function startBenchN8n(bin: string, serverUrl: string): Promise<BenchN8n> {
  const home = await mkdtemp(join(tmpdir(), 'outrigger-bench-n8n-'));
  const name = `n8n_${process.pid}`;
  const database = new PgClient({ connectionString: serverUrl, options: `-c search_path=${name}` });
  // This connection ends with its server. The failure that ended the server is reported elsewhere.
  database.on('error', () => undefined);
  await database.connect();
  await database.query(`CREATE SCHEMA ${name}`);
  const url = new URL(serverUrl);
  const port = await freePort();
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    N8N_USER_FOLDER: home,
    N8N_LISTEN_ADDRESS: '127.0.0.1',
    N8N_HOST: '127.0.0.1',
    N8N_PORT: String(port),
    DB_TYPE: 'postgresdb',
    DB_POSTGRESDB_HOST: url.hostname,
    DB_POSTGRESDB_PORT: url.port,
    DB_POSTGRESDB_DATABASE: url.pathname.slice(1),
    DB_POSTGRESDB_SCHEMA: name,
    DB_POSTGRESDB_USER: decodeURIComponent(url.username),
    DB_POSTGRESDB_PASSWORD: decodeURIComponent(url.password),
    // With the default of two connections, the benchmark would measure the wait for a connection.
    DB_POSTGRESDB_POOL_SIZE: '14',
    N8N_DIAGNOSTICS_ENABLED: 'false',
    N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
    N8N_TEMPLATES_ENABLED: 'false',
    N8N_PERSONALIZATION_ENABLED: 'false',
    N8N_LOG_LEVEL: 'error',
  };
  const run = (...args: string[]) => promisify(execFile)(process.execPath, [bin, ...args], { env, timeout: 180_000 });
  const file = join(home, 'workflow.json');
  await writeFile(file, JSON.stringify([workflow]));
  await run('import:workflow', `--input=${file}`);
  await run('publish:workflow', `--id=${workflow.id}`);
  const child = spawn(process.execPath, [bin, 'start'], { env, stdio: 'ignore' });
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  const webhookUrl = `http://127.0.0.1:${port}/webhook/bench`;
  const deadline = performance.now() + 120_000;
  for (;;) {
    const answer = await fetch(webhookUrl, { method: 'POST' }).catch(() => null);
    if (answer?.ok === true) break;
    if (performance.now() > deadline || child.exitCode !== null) throw new Error('n8n did not start');
    await delay(500);
  }
  return {
    webhookUrl,
    database,
    async [Symbol.asyncDispose]() {
      await database.end();
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await exited;
      clearTimeout(timer);
      await rm(home, { recursive: true, force: true });
    },
  };
}
