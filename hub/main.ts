#!/usr/bin/env node
import { flushCompileCache } from 'node:module';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AppError } from '../shared/errors.ts';
import { onStopRequest } from '../shared/node/process-lifetime.ts';
import { createApp, version } from './app.ts';
import type { App } from './app.ts';
import { ConfigError, parseConfig } from './config.ts';
import type { Config, HubRole } from './config.ts';
import { readEnvironment } from './environment.ts';
import { explainError } from './platform/observability/describe-error.ts';
import { createLogger } from './platform/observability/logger.ts';
import { commandLines } from './platform/process/command-lines.ts';
import { FolderLock, prepareDataFolder, waitForFolder } from './platform/process/data-folder.ts';

// Node.js opens its inspector on SIGUSR1. A program of the same user, such as an approved command, could then run code
// as the hub.
process.on('SIGUSR1', () => undefined);

const help = `Usage: ${commandLines.start} [--role api|worker|all] [--port PORT]

Starts the hub. Settings come from the environment and from .env; docs/reference/settings.md lists them all.

  --role    what this process does; all by default
  --port    port to listen on, instead of PORT
  --version, --help
`;

/** Delay of the first garbage collection, when clients of a restarted hub have reconnected. */
const firstCollectionMs = 30_000;

/** Limit of the whole shutdown, as a multiple of the limit for requests. */
const stopDeadlineFactor = 3;

/** Prints one line on standard error and exits with code 1. */
function exitWithError(message: string): never {
  process.stderr.write(`outrigger: ${message}\n`);
  process.exit(1);
}

function explain(error: unknown): string {
  if (error instanceof ConfigError) return `settings that can't be used:\n  ${error.problems.join('\n  ')}`;
  if (error instanceof AppError) return error.message;
  return `could not start: ${explainError(error)}`;
}

function readArguments(): { role: HubRole; port: string | undefined } {
  let values: { role?: string; port?: string; help?: boolean; version?: boolean };
  try {
    ({ values } = parseArgs({
      options: {
        role: { type: 'string' },
        port: { type: 'string' },
        help: { type: 'boolean' },
        version: { type: 'boolean' },
      },
    }));
  } catch (error) {
    exitWithError(`${(error as Error).message.split('\n')[0]} See --help.`);
  }
  if (values.help === true || values.version === true) {
    process.stdout.write(values.help === true ? help : `${version}\n`);
    process.exit(0);
  }
  const role = values.role ?? 'all';
  if (role !== 'all' && role !== 'api' && role !== 'worker')
    exitWithError(`--role must be api, worker or all (it is "${role}").`);
  return { role, port: values.port };
}

function readConfig(): Config {
  const { role, port } = readArguments();
  const sources = readEnvironment(process.env);
  if (port !== undefined) sources.env = { ...sources.env, PORT: port };
  const config = parseConfig(sources, { role, isTerminal: process.stderr.isTTY });
  // The embedded database belongs to one process, which must then have all roles.
  if (role !== 'all' && config.database.url === null)
    exitWithError(
      `--role ${role} needs DATABASE_URL: several hub processes share an external PostgreSQL. Without it, omit --role.`,
    );
  return { ...config, home: resolve(config.home) };
}

async function greet(app: App, config: Config): Promise<void> {
  if (app.url === null) {
    process.stdout.write('Outrigger worker is ready.\n');
    return;
  }
  const address = config.http.publicUrl ?? app.url;
  const lines = [
    `Outrigger ${version} is ready at ${address}`,
    `  Dashboard          ${address}/app`,
    `  API reference      ${address}/docs`,
    `  Talk to the agent  ${address}/voice`,
  ];
  if (app.isNew) {
    const code = await app.identity.createSignInCode('demo');
    lines.push('  Workspace          demo', `  Sign in (once)     ${address}/sign-in?code=${code}`);
  } else {
    lines.push(`  Sign in            ${commandLines.hub} link`, `  With a password    ${address}/sign-in`);
  }
  if (config.role === 'all') {
    lines.push(
      `  Pair this machine  ${commandLines.hub} node pair`,
      `                     ${commandLines.companion} pair CODE --hub ${address} && ${commandLines.companion} run`,
    );
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}

/**
 * Collects garbage once. V8 then collects again at a size near that of an idle hub, instead of after hundreds of MB. A
 * minute after a load of 6,000 runs, a hub has about 400 MB without this collection, and 180 to 250 MB with it.
 */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

async function main(): Promise<void> {
  const config = readConfig();
  const logger = createLogger(config.log);
  prepareDataFolder(config.home);
  // Only the embedded database needs an exclusive owner. With an external database, several hubs can share a folder of
  // artifacts.
  if (config.database.url === null) await waitForFolder(config.home, { starting: false });
  using lock = config.database.url === null ? FolderLock.acquire(config.home) : null;
  const stop = Promise.withResolvers<void>();
  onStopRequest({
    onStop: (reason) => {
      process.stderr.write(`Stopping (${reason}); interrupt again to stop immediately\n`);
      stop.resolve();
    },
  });
  await using app = await createApp(config, { logger, onNotice: (message) => process.stderr.write(`${message}\n`) });
  lock?.announce(app.url ?? 'worker');
  await greet(app, config);
  // Flushed here, because a killed process writes nothing at its end.
  flushCompileCache();
  setTimeout(collectGarbage, firstCollectionMs).unref();
  await stop.promise;
  // Each part has its own shutdown deadline. This limit applies to all of them together, so that a supervisor does not
  // wait longer.
  setTimeout(
    () => exitWithError('did not stop in time and was terminated'),
    stopDeadlineFactor * config.http.shutdownMs,
  ).unref();
}

process.on('uncaughtException', (error) => exitWithError(`stopped by an unexpected error: ${explainError(error)}`));
try {
  await main();
  process.exit(0);
} catch (error) {
  exitWithError(explain(error));
}
