// Plain JavaScript of ES2020 without dependencies, because it runs before there is a Node that knows TypeScript: it finds the one that this package brings.
import { spawn } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join, sep } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** Names the launcher to the program that it started; the program ends when its launcher does. */
const launcherVariable = 'OUTRIGGER_LAUNCHER';
const typeHooks = new URL('type-hooks.js', import.meta.url);
const compileCache = new URL('compile-cache.js', import.meta.url);
const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

/** @returns {string} Path of the Node that the npm package `node` brings. */
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
      `outrigger: this is Node ${process.versions.node}, and the Node ${wanted} that this package brings is not there; install with its scripts allowed (npm ci), or use Node ${wanted.split('.')[0]}.\n`,
    );
    process.exit(1);
  }
}

function pinnedVersion() {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).dependencies.node;
}

/** Becomes another program where the system can, so that nobody stands between it and who started us; else starts it and stays until it ends. */
function become(program, args, env) {
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    // Its warning that it is experimental is none of the user's business.
    process.emitWarning = () => undefined;
    process.execve(program, [program, ...args], env);
  }
  const child = spawn(program, args, { stdio: 'inherit', env: { ...env, [launcherVariable]: String(process.pid) } });
  for (const signal of passedOn) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => {
    process.stderr.write(`outrigger: ${program} can't be started: ${error.message}\n`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    for (const name of passedOn) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}

/**
 * Runs a TypeScript program of this package on the Node that it needs, whatever Node this is: its arguments, input, terminal, signals and exit code pass through.
 * @param {URL} target
 * @param {string[]} args
 * @param {{ flags?: string[], threads?: boolean }} [options] Flags of Node that the program wants; whether it wants more threads than libuv's four.
 */
export async function launch(target, args, { flags = [], threads = false } = {}) {
  const path = fileURLToPath(target);
  // Node strips no types below node_modules, where an installed package lies.
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
  // Passwords, files and names of hosts share these threads.
  if (threads && env.UV_THREADPOOL_SIZE === undefined)
    env.UV_THREADPOOL_SIZE = String(Math.min(32, Math.max(8, 2 * cpus().length)));
  become(
    node,
    [...flags, '--import', compileCache.href, ...(isInstalled ? ['--import', typeHooks.href] : []), path, ...args],
    env,
  );
}
