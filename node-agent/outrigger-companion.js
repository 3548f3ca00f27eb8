#!/usr/bin/env node
// The command `outrigger-companion`. Plain JavaScript that any Node can parse, so that an old Node gets a message, not a
// syntax error. A checkout has the TypeScript sources and runs them; the published package has compiled files in `lib`.
import { existsSync } from 'node:fs';
import * as modules from 'node:module';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const isCheckout = existsSync(new URL('runtime/cli.ts', import.meta.url));
const wanted = isCheckout ? '24.0' : '22.12';
const [major, minor] = process.versions.node.split('.').map(Number);
const [wantedMajor, wantedMinor] = wanted.split('.').map(Number);
if (major < wantedMajor || (major === wantedMajor && minor < wantedMinor)) {
  const remedy = isCheckout ? ' Run it with npx in the checkout, which has its own Node.' : '';
  process.stderr.write(
    `outrigger-companion: this is Node ${process.versions.node}, but it needs Node ${wanted} or newer.${remedy}\n`,
  );
  process.exit(1);
}

// The cache is in the folder of the package: a user who can write there can also change the programs. The temporary
// folder of the system would be writable for every user. Without write access Node keeps no cache.
modules.enableCompileCache?.(fileURLToPath(new URL('node_modules/.cache/compile', import.meta.url)));
await import(isCheckout ? './runtime/cli.ts' : './lib/node-agent/runtime/cli.js');
