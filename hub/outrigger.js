#!/usr/bin/env node
// The command `outrigger`. Plain JavaScript that any Node can parse, so that an old Node gets a message, not a syntax
// error. A checkout has the TypeScript sources and runs them; the published package has compiled files in `lib`.
import { existsSync } from 'node:fs';
import * as modules from 'node:module';
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const isCheckout = existsSync(new URL('main.ts', import.meta.url));
const wanted = 24;
if (Number(process.versions.node.split('.')[0]) < wanted) {
  const remedy = isCheckout ? ' Run it with npx in the checkout, which has its own Node.' : '';
  process.stderr.write(
    `outrigger: this is Node ${process.versions.node}, but it needs Node ${wanted} or newer.${remedy}\n`,
  );
  process.exit(1);
}

const [command, ...options] = process.argv.slice(2);
const isStart = command === 'start';
if (isStart) {
  // Password hashing, file access and DNS lookups share these threads.
  process.env.UV_THREADPOOL_SIZE ??= String(Math.min(32, Math.max(8, 2 * availableParallelism())));
  // By default the young generation of the heap grows to 64 MiB, which an idle hub never gives back. Node takes this
  // flag only at its start.
  const flag = '--max-semi-space-size=8';
  if (!process.execArgv.includes(flag) && process.execve !== undefined && process.platform !== 'win32') {
    // Hides the warning that execve is experimental.
    process.emitWarning = () => undefined;
    process.execve(
      process.execPath,
      [process.execPath, flag, ...process.execArgv, ...process.argv.slice(1)],
      process.env,
    );
  }
  process.argv.splice(2, process.argv.length, ...options);
}
// The cache is in the folder of the package: a user who can write there can also change the programs. The temporary
// folder of the system would be writable for every user. Without write access Node keeps no cache.
modules.enableCompileCache?.(fileURLToPath(new URL('node_modules/.cache/compile', import.meta.url)));
const program = isStart ? 'main' : 'cli/cli';
await import(isCheckout ? `./${program}.ts` : `./lib/hub/${program}.js`);
