// Plain ES2020 without dependencies, because this file can run on an old Node without TypeScript support. It finds the
// pinned Node of this package.
import { spawn } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join, sep } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** Process id of the launcher, for the program that it starts. The program ends when its launcher ends. */
const launcherVariable = 'OUTRIGGER_LAUNCHER';
const typeHooks = new URL('type-hooks.js', import.meta.url);
const compileCache = new URL('compile-cache.js', import.meta.url);
const forwardedSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

/** @returns {string} Path of the Node in the npm package `node`. */
function findPinnedNode() {
  const require = createRequire(import.meta.url);
  const program = process.platform === 'win32' ? 'node.exe' : 'node';
  try {
    const path = join(dirname(require.resolve('node/package.json')), 'bin', program);
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    const wanted = pinnedVersion();
    process.stderr.write(
      `outrigger: this is Node ${process.versions.node}, and the Node ${wanted} of this package is not installed. Install with scripts enabled (npm ci), or use Node ${wanted.split('.')[0]}.\n`,
    );
    process.exit(1);
  }
}

function pinnedVersion() {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).dependencies.node;
}

/**
 * Replaces this process by another program if the system supports it, so that the caller controls the program directly.
 * Otherwise starts the program and stays until it ends.
 */
function become(program, args, env) {
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    // Hides the warning that execve is experimental.
    process.emitWarning = () => undefined;
    process.execve(program, [program, ...args], env);
  }
  const child = spawn(program, args, { stdio: 'inherit', env: { ...env, [launcherVariable]: String(process.pid) } });
  for (const signal of forwardedSignals) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => {
    process.stderr.write(`outrigger: ${program} cannot be started: ${error.message}\n`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    for (const name of forwardedSignals) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}

/**
 * Runs a TypeScript program of this package on the required Node, whatever the current Node is. Arguments, input,
 * terminal, signals and exit code are passed through.
 * @param {URL} target
 * @param {string[]} args
 * @param {{ flags?: string[], threads?: boolean }} [options] Node flags of the program; whether it needs more than the
 * four default threads of libuv.
 */
export async function launch(target, args, { flags = [], threads = false } = {}) {
  const path = fileURLToPath(target);
  // Node does not strip types in node_modules, where an installed package is.
  const isInstalled = path.includes(`${sep}node_modules${sep}`);
  const isRightNode = Number(process.versions.node.split('.')[0]) >= Number(pinnedVersion().split('.')[0]);
  if (isRightNode && flags.length === 0 && !threads) {
    await import(compileCache.href);
    if (isInstalled) await import(typeHooks.href);
    process.argv.splice(1, process.argv.length - 1, path, ...args);
    await import(target.href);
    return;
  }
  const node = isRightNode ? process.execPath : findPinnedNode();
  const env = { ...process.env };
  // Password hashing, file access and DNS lookups share these threads.
  if (threads && env.UV_THREADPOOL_SIZE === undefined)
    env.UV_THREADPOOL_SIZE = String(Math.min(32, Math.max(8, 2 * cpus().length)));
  become(
    node,
    [...flags, '--import', compileCache.href, ...(isInstalled ? ['--import', typeHooks.href] : []), path, ...args],
    env,
  );
}
