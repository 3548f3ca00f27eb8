import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Option } from 'commander';
import type { Command } from 'commander';
import { z } from 'zod';
import { ApiError, createClient } from '../../shared/client/client.ts';
import type { Client } from '../../shared/client/client.ts';
import { AppError } from '../../shared/errors.ts';
import { commandLines } from '../platform/process/command-lines.ts';
import { ArgumentError, environmentVariable, json } from './context.ts';
import { print, readPassword } from './terminal.ts';

/** Sign-ins to remote hubs: what `outrigger login` stores, and the client that uses it. */

const answerTimeoutMs = 30_000;

/** Sign-ins by the URL of the hub. */
const logins = z.record(
  z.string(),
  z.object({ token: z.string(), tenantId: z.string(), email: z.string(), expiresAt: z.string() }),
);
type Logins = z.output<typeof logins>;

/** A remote hub with the session of a member. */
export interface RemoteHub {
  client: Client;
  tenantId: string;
}

export const hubOption = () =>
  new Option('--hub <url>', `URL of a remote hub, after: ${commandLines.hub} login --hub URL`).env('OUTRIGGER_HUB');

const loginsFile = () =>
  join(environmentVariable('XDG_CONFIG_HOME') ?? join(homedir(), '.config'), 'outrigger', 'logins.json');

function readLogins(): Logins {
  try {
    return logins.parse(JSON.parse(readFileSync(loginsFile(), 'utf8')));
  } catch {
    return {};
  }
}

/** Replaces the file atomically, readable only by its owner. */
function writeLogins(all: Logins): void {
  const path = loginsFile();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Normalizes the URL of a hub. Plain http is accepted only for this machine, because passwords and tokens are sent to
 * the URL. @throws ArgumentError.
 */
function addressOfHub(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.search !== '')
    throw new ArgumentError(`--hub ${value}: must be the URL of a hub, such as https://hub.example.com`);
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  if (url.protocol === 'http:' && !isLocal)
    throw new ArgumentError(`--hub ${value}: must begin with https://, because your password or token is sent there`);
  return url.href.replace(/(?<!\/)\/+$/, '');
}

const clientOf = (baseUrl: string, token?: string): Client =>
  createClient({
    baseUrl,
    ...(token === undefined ? {} : { token }),
    async fetch(url, { signal: _signal, ...init }) {
      try {
        // A redirect would send the token to another address.
        return await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(answerTimeoutMs) });
      } catch (error) {
        throw new AppError('unavailable', `The hub ${baseUrl} does not answer; check the URL and the network.`, {
          cause: error,
        });
      }
    },
  });

/**
 * Opens a remote hub with the token of `OUTRIGGER_TOKEN` or the stored sign-in. @throws AppError `unauthenticated` that
 * says what to do.
 */
export async function openRemoteHub(value: string): Promise<RemoteHub> {
  const address = addressOfHub(value);
  const token = environmentVariable('OUTRIGGER_TOKEN');
  if (token !== null) {
    const client = clientOf(address, token);
    return { client, tenantId: (await client.call('readMe')).tenantId };
  }
  const login = readLogins()[address];
  if (login === undefined || Date.parse(login.expiresAt) <= Date.now())
    throw new AppError(
      'unauthenticated',
      `${login === undefined ? 'You are not signed in' : 'Your sign-in has expired'}; sign in with: ${commandLines.hub} login --hub ${address} --email YOUR_EMAIL`,
    );
  return { client: clientOf(address, login.token), tenantId: login.tenantId };
}

/** Whether a retry can succeed. */
export const isTemporaryError = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 408 || error.status === 429 || error.status >= 500);

export function addLoginCommands(program: Command): void {
  const hub = () => hubOption().makeOptionMandatory();
  program
    .command('login')
    .description(
      'sign in to a remote hub; the password is read from standard input, and the sign-in is stored for one day',
    )
    .addOption(hub())
    .addOption(new Option('--email <email>', 'your email address').makeOptionMandatory())
    .addOption(json())
    .action(async (options: { hub: string; email: string; json?: boolean }) => {
      const address = addressOfHub(options.hub);
      const password = await readPassword();
      const signedIn = await clientOf(address).call('logIn', { body: { email: options.email, password } });
      const { token, tenantId, expiresAt, user } = signedIn;
      writeLogins({ ...readLogins(), [address]: { token, tenantId, expiresAt, email: user.email } });
      // The token must not appear on the terminal.
      const shown = { hub: address, tenantId, email: user.email, role: user.role, expiresAt };
      print(shown, options.json, `signed in to ${address} as ${user.email} (${user.role}) until ${expiresAt}`);
    });
  program
    .command('logout')
    .description('sign out of a remote hub; the stored sign-in stops working immediately')
    .addOption(hub())
    .addOption(json())
    .action(async (options: { hub: string; json?: boolean }) => {
      const address = addressOfHub(options.hub);
      const { [address]: login, ...others } = readLogins();
      if (login === undefined) throw new AppError('not_found', `You are not signed in to ${address}.`);
      try {
        await clientOf(address, login.token).call('logOut');
      } catch (error) {
        // An expired sign-in counts as signed out.
        if (!(error instanceof ApiError && error.status === 401)) throw error;
      }
      writeLogins(others);
      print({ hub: address, signedOut: true }, options.json, `signed out of ${address}`);
    });
}
