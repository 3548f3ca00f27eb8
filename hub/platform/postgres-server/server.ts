import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';
import { readStateFile, writeStateFile } from '../process/state-file.ts';
import { findPostgresPrograms } from './binaries.ts';
import type { PostgresPrograms } from './binaries.ts';
import { clusterBase, initialiseCluster, superuser } from './cluster-folder.ts';
import { failureReason } from './failure-reason.ts';
import { hubUser, prepareDatabase } from './hub-role.ts';
import { stopOrphanedServer } from './orphaned-server.ts';

export interface PostgresServerOptions {
  /** The data folder of the hub. */
  home: string;
  /** Called with a line of text when something takes a while, or fails and is retried. */
  onNotice: (message: string) => void;
  /** Further `-c name=value` settings, for tests. */
  settings?: Record<string, string>;
}

/** A PostgreSQL server that belongs to this process. */
export interface PostgresServer extends AsyncDisposable {
  /** postgres:// URL of the hub's database with the password of a role that owns the tables and is not a superuser. */
  url: string;
  /** The same for the superuser. The hub itself never uses it. */
  superuserUrl: string;
}

/** Name of the hub's database on the embedded server. */
const database = 'outrigger';
const readyDeadlineMs = 60_000;
const stopDeadlineMs = 20_000;
/** Delays between attempts to start double from the first to the second value. */
const minRetryMs = 100;
const maxRetryMs = 30_000;
const maxLogBytes = 10 * 1024 * 1024;

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '128MB',
  jit: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '1GB',
  checkpoint_timeout: '15min',
  // Tables of a new hub grow from empty within seconds. Plans from before the growth must not stay for a minute.
  autovacuum_naptime: '5s',
  // Statement errors quote parameters. The client that sent the statement gets the error, so the log does not need it.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
};

/**
 * Stops the server when its standard input closes. The kernel closes it when the hub ends for any reason, so a killed
 * hub takes its database along. SIGINT requests a fast and clean shutdown.
 */
const guardScript = `exec 3<&0
"$@" </dev/null &
child=$!
( read -r _ <&3; kill -INT $child 2>/dev/null ) &
watch=$!
wait $child
code=$?
kill $watch 2>/dev/null
exit $code`;

/**
 * Port and passwords of the embedded server of a data folder. They are stored so that the command line can connect to a
 * running server.
 */
const storedAccess = z.object({
  port: z.int().min(1).max(65_535),
  /** Password of the superuser. */
  password: z.string().min(1),
  /** Password of the hub's role. Missing in data folders of earlier versions, whose hub was the superuser. */
  hubPassword: z.string().min(1).optional(),
});
type Access = Required<z.output<typeof storedAccess>>;

const accessFile = (home: string) => join(home, 'postgres.json');

function urlOf(port: number, user: string, password: string, name = database): string {
  return `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${name}`;
}

/** URL of the embedded server of a data folder, as last started; null when there was none. */
export function readPostgresUrl(home: string): string | null {
  const known = readStateFile(accessFile(home), storedAccess);
  if (known === null) return null;
  return known.hubPassword === undefined
    ? urlOf(known.port, superuser, known.password)
    : urlOf(known.port, hubUser, known.hubPassword);
}

/**
 * Starts the embedded server of a data folder, also after a crash. A first start takes about two seconds, later ones a
 * fraction of a second. A server that crashes is restarted, with retries until it starts.
 * @throws AppError with a one-line message when the server can't be started.
 */
export async function startPostgresServer(options: PostgresServerOptions): Promise<PostgresServer> {
  const home = resolve(options.home);
  const programs = findPostgresPrograms();
  const base = clusterBase(home, programs);
  const data = join(base, 'data');
  await stopOrphanedServer(data, options.onNotice);
  const known = readStateFile(accessFile(home), storedAccess);
  const isNew = !existsSync(join(data, 'PG_VERSION'));
  if (!isNew && known === null)
    throw new AppError(
      'unavailable',
      `${accessFile(home)} is missing or broken. It holds the password of the embedded database; restore the file.`,
    );
  const newPassword = () => randomBytes(24).toString('base64url');
  const port = await freePort(known?.port);
  const wanted: Access = {
    port,
    password: known?.password ?? newPassword(),
    hubPassword: known?.hubPassword ?? newPassword(),
  };
  // Stored before the database gets the passwords. A crash in between must not lose a password that the database
  // already uses.
  writeStateFile(accessFile(home), JSON.stringify(wanted));
  if (isNew) {
    options.onNotice('Creating the embedded database (first start only)');
    await initialiseCluster(programs, base, data, wanted.password);
  }
  const server = new Server(programs, data, join(base, 'postgres.log'), wanted, options);
  await server.start();
  return server;
}

class Server implements PostgresServer {
  readonly url: string;
  readonly superuserUrl: string;
  readonly #programs: PostgresPrograms;
  readonly #data: string;
  readonly #log: string;
  readonly #access: Access;
  readonly #options: PostgresServerOptions;
  #guard: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  #wasReady = false;
  #restarting: Promise<void> = Promise.resolve();
  /** Size of the log file before the last attempt to start. */
  #attemptOffset = 0;

  constructor(programs: PostgresPrograms, data: string, log: string, access: Access, options: PostgresServerOptions) {
    this.#programs = programs;
    this.#data = data;
    this.#log = log;
    this.#access = access;
    this.#options = options;
    this.url = urlOf(access.port, hubUser, access.hubPassword);
    this.superuserUrl = urlOf(access.port, superuser, access.password);
  }

  /** @throws AppError with a one-line message when the server does not start. */
  async start(): Promise<void> {
    const deadline = performance.now() + readyDeadlineMs;
    for (let retryMs = minRetryMs; ; retryMs = Math.min(retryMs * 2, 2_000)) {
      try {
        await this.#attempt();
        return;
      } catch (error) {
        // After a kill, old backend processes keep the shared memory for a moment.
        const isTemporary = /pre-existing shared memory|lock file|could not bind/.test(this.#logOfAttempt());
        if (!isTemporary || performance.now() + retryMs > deadline) throw error;
      }
      await delay(retryMs);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#end();
    await this.#restarting;
  }

  /**
   * Starts the server once. Stops the process when it does not become ready. @throws AppError with a one-line message.
   */
  async #attempt(): Promise<void> {
    try {
      this.#spawn();
      const problem = await this.#ready();
      if (problem === null) return;
      throw new AppError('unavailable', `The embedded database did not start: ${problem} (log: ${this.#log})`);
    } catch (error) {
      await this.#end();
      throw error;
    }
  }

  #spawn(): void {
    if (existsSync(this.#log) && statSync(this.#log).size > maxLogBytes) renameSync(this.#log, `${this.#log}.1`);
    const log = openSync(this.#log, 'a', 0o600);
    this.#attemptOffset = fstatSync(log).size;
    const flags = Object.entries({ ...settings, ...this.#options.settings }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const command = [this.#programs.postgres, '-D', this.#data, '-p', String(this.#access.port), ...flags];
    const guard = spawn('sh', ['-c', guardScript, 'outrigger-postgres-guard', ...command], {
      stdio: ['pipe', log, log],
      // Runs in its own session, so that Ctrl-C in the terminal reaches only the hub, which stops the database last.
      detached: true,
      cwd: '/',
      env: { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' },
      ...(this.#programs.owner === null ? {} : this.#programs.owner),
    });
    closeSync(log);
    guard.stdin?.on('error', () => undefined);
    guard.unref();
    this.#guard = guard;
    this.#exited = new Promise((done) => {
      const onEnd = () => {
        done();
        if (this.#wasReady && this.#guard === guard) this.#restarting = this.#restart();
      };
      guard.once('exit', onEnd);
      guard.once('error', onEnd);
    });
  }

  /** Retries until the server is ready or this object is disposed. Causes such as a full disk can be temporary. */
  async #restart(): Promise<void> {
    const { signal } = this.#stop;
    const reported = new Set<string>();
    this.#wasReady = false;
    this.#options.onNotice('The embedded database stopped unexpectedly and is restarted');
    for (let retryMs = minRetryMs; !signal.aborted; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
      try {
        await this.#attempt();
        if (reported.size > 0) this.#options.onNotice('The embedded database is running again');
        return;
      } catch (error) {
        const { message } = error as Error;
        // The same cause can contain different process ids.
        const cause = message.replace(/\d+/g, '#');
        if (!signal.aborted && !reported.has(cause)) this.#options.onNotice(`${message}; trying again`);
        reported.add(cause);
      }
      await delay(retryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Waits until the server accepts connections and has the hub's database. Returns null when ready, else the problem in
   * one line.
   */
  async #ready(): Promise<string | null> {
    const guard = this.#guard;
    const isRunning = () => guard?.pid !== undefined && guard.exitCode === null && guard.signalCode === null;
    let deadline = performance.now() + readyDeadlineMs;
    let problem = 'it does not answer';
    while (isRunning() && performance.now() < deadline) {
      const client = new Client({
        connectionString: urlOf(this.#access.port, superuser, this.#access.password, 'postgres'),
        connectionTimeoutMillis: 2_000,
      });
      client.on('error', () => undefined);
      try {
        await client.connect();
        await prepareDatabase(client, {
          database,
          superuserUrl: this.superuserUrl,
          hubPassword: this.#access.hubPassword,
        });
        // The exit listener does not restart a server that dies before `#wasReady` is set.
        if (!isRunning()) break;
        this.#wasReady = true;
        return null;
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        if (code === '28P01')
          throw new AppError(
            'unavailable',
            `The embedded database refuses the password in postgres.json of the data folder; restore the file.`,
            { cause: error },
          );
        // cannot_connect_now: PostgreSQL starts or recovers. Stopping a long recovery would only make it start over.
        if (code === '57P03') deadline = performance.now() + readyDeadlineMs;
        problem = message;
        await delay(20);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
    return isRunning() ? problem : failureReason(this.#logOfAttempt());
  }

  async #end(): Promise<void> {
    const guard = this.#guard;
    this.#guard = undefined;
    if (guard === undefined) return;
    guard.stdin?.end();
    const timer = new AbortController();
    await Promise.race([
      this.#exited,
      delay(stopDeadlineMs, undefined, { signal: timer.signal }).catch(() => undefined),
    ]);
    // A remaining timer would delay the exit of this process.
    timer.abort();
    if (guard.exitCode === null && guard.signalCode === null && guard.pid !== undefined)
      process.kill(-guard.pid, 'SIGKILL');
  }

  /** The output of the server since the last attempt to start it. */
  #logOfAttempt(): string {
    try {
      return readFileSync(this.#log).subarray(this.#attemptOffset).toString('utf8').trim();
    } catch {
      return '';
    }
  }
}

/**
 * Returns the preferred port if it is free, else another free port below 32768. Systems use ports from 32768 for
 * outgoing connections, so a port below it is still free when PostgreSQL restarts after a crash.
 */
async function freePort(wanted: number | undefined): Promise<number> {
  const listen = (port: number) =>
    new Promise<number | null>((done) => {
      const probe = createServer();
      probe.once('error', () => done(null));
      probe.listen(port, '127.0.0.1', () => {
        const address = probe.address();
        probe.close(() => done(typeof address === 'object' && address !== null ? address.port : null));
      });
    });
  let port = wanted === undefined ? null : await listen(wanted);
  for (let tries = 0; port === null && tries < 20; tries += 1) port = await listen(randomInt(20_000, 32_000));
  port ??= await listen(0);
  if (port === null) throw new AppError('unavailable', 'No free port for the embedded database.');
  return port;
}
