import { resolve } from 'node:path';
import { Option } from 'commander';
import { ApiError } from '../../shared/client/client.ts';
import { AppError } from '../../shared/errors.ts';
import type { App } from '../app.ts';
import { ConfigError, parseConfig } from '../config.ts';
import type { Config } from '../config.ts';
import { readEnvironment } from '../environment.ts';
import { explainError } from '../platform/observability/describe-error.ts';
import { createLogger } from '../platform/observability/logger.ts';
import { readPostgresUrl } from '../platform/postgres-server/server.ts';
import { commandLines } from '../platform/process/command-lines.ts';
import { FolderLock, prepareDataFolder, readFolderOwner, waitForFolder } from '../platform/process/data-folder.ts';

/** Actor of commands in the audit log. */
export const actor = 'cli';

export function loadConfig(): Config {
  const config = parseConfig(readEnvironment(process.env), { role: 'api', isTerminal: process.stderr.isTTY });
  return { ...config, home: resolve(config.home), log: { ...config.log, level: 'warn' } };
}

/** An environment variable; null when it is missing or empty. */
export const environmentVariable = (name: string): string | null => process.env[name] || null;

/** Whether NO_COLOR disables colors. */
export const isColorDisabled = () => (process.env['NO_COLOR'] ?? '') !== '';

/**
 * Runs `work` with the hub's database: that of a running hub, or one that it starts for the duration of the work.
 * @param requiresRunningHub for commands that run for long. They never lock the data folder, which a hub needs to
 * start, and report an unavailable hub themselves instead of by the log.
 * @throws AppError `unavailable` when a running hub is required and there is none.
 */
export async function withApp<Result>(
  work: (app: App, config: Config) => Promise<Result>,
  { requiresRunningHub = false }: { requiresRunningHub?: boolean } = {},
): Promise<Result> {
  const config = loadConfig();
  prepareDataFolder(config.home);
  if (config.database.url === null && !requiresRunningHub) await waitForFolder(config.home, { starting: true });
  const owner = readFolderOwner(config.home);
  const isRunning = owner !== null;
  if (
    requiresRunningHub &&
    config.database.url === null &&
    (owner === null || owner.url === null || owner.url === 'command')
  )
    throw new AppError(
      'unavailable',
      `No hub runs on the data folder ${config.home}; start it with: ${commandLines.start}`,
    );
  using lock = config.database.url === null && !isRunning ? FolderLock.acquire(config.home) : null;
  lock?.announce('command');
  const url = config.database.url ?? (isRunning ? readPostgresUrl(config.home) : null);
  const database = { url, maxConnections: 4 };
  // Imported on demand, because loading the whole hub takes a while.
  const { createApp } = await import('../app.ts');
  await using app = await createApp(
    { ...config, database },
    {
      logger: createLogger(requiresRunningHub ? { ...config.log, level: 'silent' } : config.log),
      onNotice: (message) => process.stderr.write(`${message}\n`),
      serves: false,
    },
  );
  return await work(app, config);
}

/** The URL of the hub for printed links: its current one, else the configured one. */
export function hubAddress(config: Config): string {
  const url = readFolderOwner(config.home)?.url ?? null;
  return (
    config.http.publicUrl ??
    (url !== null && URL.canParse(url) ? url : `http://${config.http.host}:${config.http.port}`)
  );
}

/** Options of most commands. */
export interface CommonOptions {
  json?: boolean;
  workspace: string;
}

/** The arguments of a command are invalid. The process exits with code 2. */
export class ArgumentError extends AppError {
  constructor(message: string) {
    super('validation_failed', message);
  }
}

/** Validates input against a schema of the API. @throws ArgumentError that names each invalid field. */
export function validate<Output>(
  schema: {
    safeParse(
      value: unknown,
    ):
      | { success: true; data: Output }
      | { success: false; error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] } };
  },
  input: unknown,
): Output {
  const parsed = schema.safeParse(input);
  if (!parsed.success)
    throw new ArgumentError(parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; '));
  return parsed.data;
}

export const json = () => new Option('--json', 'print JSON');
export const workspace = () => new Option('--workspace <name>', 'workspace').default('demo');

/** Describes an error for the user. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError) return `settings that can't be used:\n  ${error.problems.join('\n  ')}`;
  if (error instanceof ApiError) {
    const details = error.details.map(({ path, message }) => `${path} ${message}`).join('; ');
    if (error.status !== 401 || error.code === 'invalid_credentials')
      return [error.message, details].filter(Boolean).join(' ');
    return `${error.message} Sign in again with: outrigger login`;
  }
  return explainError(error);
}
