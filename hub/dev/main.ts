#!/usr/bin/env node
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { createClient } from '../../shared/client/client.ts';
import { onStopRequest } from '../../shared/node/process-lifetime.ts';
import { companionCli, pairCompanion } from '../demo/companion.ts';
import { DemoError, hasEnded, runToEnd, start, waitUntil } from '../demo/processes.ts';
import type { OwnedProcess } from '../demo/processes.ts';
import { seedWorkflows } from './workflows.ts';

const help = `Usage: npm run dev

Starts a hub and a companion paired with it; each restarts when a file that it imports changes. The first start creates the data
folder .outrigger-dev, with example workflows in the workspace "demo" and an API token. Delete the folder to start over.

Settings come from the environment, such as PORT and LOG_LEVEL, and from .env in the data folder; OUTRIGGER_HOME names another.
`;

const hubMain = fileURLToPath(new URL('../main.ts', import.meta.url));
const hubCli = fileURLToPath(new URL('../cli/cli.ts', import.meta.url));
const print = (line: string) => process.stdout.write(`${line}\n`);

const noColor = process.env['NO_COLOR'];
const color = process.stdout.isTTY && (noColor === undefined || noColor === '');
const prefix = (name: string, code: number) => {
  const padded = name.padEnd(9);
  return color ? `\u001b[${code}m${padded}\u001b[0m` : padded;
};

/** State that the first start creates for later starts. */
const seed = z.object({ key: z.string(), nodeId: z.string() });

interface Dev {
  home: string;
  url: string;
  signal: AbortSignal;
}

/** Starts a program that restarts when a file that it imported changes. Its output lines are prefixed with its name. */
function watch(
  dev: Dev,
  prefixText: string,
  args: string[],
  env: Record<string, string>,
  filter: (line: string) => boolean = () => true,
): OwnedProcess {
  // The watching process is set as the launcher, so that the program also ends when only the watcher is killed.
  const viaLauncher = ['-c', 'OUTRIGGER_PARENT_PID=$$ exec "$@"', 'sh'];
  return start('sh', [...viaLauncher, process.execPath, '--watch', '--watch-preserve-output', ...args], {
    env,
    cwd: dev.home,
    output: {
      onLine: (line) => {
        if (filter(line)) print(`${prefixText} ${line}`);
      },
    },
  });
}

async function answers(url: string): Promise<boolean> {
  return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).ok;
}

const advice = (home: string) =>
  `Commands such as a sign-in link: OUTRIGGER_HOME=${relative('.', home) || '.'} npx outrigger link`;

function readSeed(path: string): z.output<typeof seed> | null {
  try {
    return seed.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

/** Creates a token and the workflows and pairs the companion, once per data folder. */
async function ensureSeed(dev: Dev, companionEnv: Record<string, string>): Promise<void> {
  const { home, url, signal } = dev;
  const path = join(home, 'dev.json');
  const shown = relative('.', path);
  if (readSeed(path) !== null) {
    print(`\nThe API token of the workspace "demo" is in ${shown}. ${advice(home)}\n`);
    return;
  }
  const { key } = JSON.parse(
    await runToEnd(
      process.execPath,
      [hubCli, 'token', 'create', '--workspace', 'demo', '--product', 'automations', '--name', 'dev', '--json'],
      { env: { OUTRIGGER_HOME: home }, cwd: home, signal },
    ),
  ) as { key: string };
  const api = createClient({ baseUrl: url, fetch, token: key });
  const folder = join(home, 'shared');
  const nodeId = await pairCompanion(api, { name: 'Dev machine', hubUrl: url, folder, env: companionEnv, signal });
  await seedWorkflows(api, { nodeId, folder });
  writeFileSync(`${path}.new`, JSON.stringify({ key, nodeId }), { mode: 0o600 });
  renameSync(`${path}.new`, path);
  print(
    `\nCreated workflows and a node in the workspace "demo". Its API token, stored in ${shown}:\n  ${key}\n${advice(home)}\n`,
  );
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { help: { type: 'boolean' } } });
  if (values.help === true) {
    print(help);
    return;
  }
  const stop = new AbortController();
  onStopRequest({ onStop: () => stop.abort(new DemoError('stopped')) });
  const port = process.env['PORT'] ?? '4400';
  const dev: Dev = {
    home: resolve(process.env['OUTRIGGER_HOME'] ?? '.outrigger-dev'),
    url: `http://127.0.0.1:${port}`,
    signal: stop.signal,
  };
  mkdirSync(dev.home, { recursive: true, mode: 0o700 });

  await using stack = new AsyncDisposableStack();
  const hub = stack.use(
    watch(
      dev,
      prefix('hub', 36),
      [hubMain],
      {
        LOG_FORMAT: 'pretty',
        NODE_ENV: 'development',
        // A restart does not wait long: interrupted work continues afterwards.
        SHUTDOWN_SECONDS: '3',
        ...(process.env as Record<string, string>),
        OUTRIGGER_HOME: dev.home,
        PORT: port,
      },
      // The commands in the greeting are for the default data folder, so they are hidden.
      (line) => !/^ .*npm run /.test(line),
    ),
  );
  const findFailure = () => (hasEnded(hub.child) ? hub.tail() : null);
  await waitUntil('The hub did not start', () => answers(dev.url), {
    timeoutMs: 60_000,
    signal: dev.signal,
    findFailure,
  });
  const companionEnv = { OUTRIGGER_COMPANION_HOME: join(dev.home, 'companion') };
  await ensureSeed(dev, companionEnv);
  const companion = stack.use(watch(dev, prefix('companion', 35), [companionCli, 'run'], companionEnv));
  const stopped = new Promise<void>((done) => dev.signal.addEventListener('abort', () => done(), { once: true }));
  const ended = await Promise.race([stopped, hub.exited.then(() => 'hub'), companion.exited.then(() => 'companion')]);
  if (ended !== undefined && !dev.signal.aborted) throw new DemoError(`the watcher of the ${ended} has ended`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof DemoError && error.message === 'stopped')) {
    process.stderr.write(`dev: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
process.exit();
