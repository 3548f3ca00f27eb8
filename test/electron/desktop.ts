import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasOwnerOnBus } from '../../node-agent/main/session-bus.ts';
import { findTool } from '../../node-agent/runtime/commands/media-tool.ts';
import { until } from '../fixtures/until.ts';

/** The desktop of one test: a virtual screen, a private bus and a private home folder. */
export interface TestDesktop extends AsyncDisposable {
  env: Record<string, string>;
  home: string;
  /** Starts the key store of GNOME on the bus and unlocks it. */
  startKeyStore(): Promise<void>;
  /** Starts a window manager, which is required to minimize windows. */
  startWindowManager(): Promise<void>;
}

export const hasDesktop = findTool('Xvfb') !== null && findTool('dbus-daemon') !== null;
export const hasWindowManager = findTool('openbox') !== null && findTool('xprop') !== null;
export const hasKeyStore = findTool('gnome-keyring-daemon') !== null;

/** Starts a program and returns the first line that it prints. */
async function startAndRead(
  children: ChildProcess[],
  [command, ...args]: [string, ...string[]],
  env: Record<string, string>,
): Promise<string> {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  children.push(child);
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await until(
    () => text.includes('\n'),
    () => `${command} did not start`,
  );
  return text.split('\n')[0] as string;
}

export async function startDesktop(): Promise<TestDesktop> {
  const home = await mkdtemp(join(tmpdir(), 'outrigger-desktop-'));
  const runtimeFolder = join(home, 'runtime');
  await mkdir(runtimeFolder, { mode: 0o700 });
  const children: ChildProcess[] = [];
  const base = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    TMPDIR: tmpdir(),
    XDG_RUNTIME_DIR: runtimeFolder,
    XDG_CURRENT_DESKTOP: 'test',
    LANG: 'C.UTF-8',
  };
  const display = `:${await startAndRead(children, ['Xvfb', '-displayfd', '1', '-screen', '0', '1280x800x24', '-nolisten', 'tcp', '-noreset'], base)}`;
  const bus = await startAndRead(
    children,
    ['dbus-daemon', '--session', '--nofork', '--print-address', `--address=unix:path=${join(runtimeFolder, 'bus')}`],
    {
      ...base,
      DISPLAY: display,
    },
  );
  const env = { ...base, DISPLAY: display, DBUS_SESSION_BUS_ADDRESS: bus };
  return {
    env,
    home,
    async startKeyStore() {
      const child = spawn('gnome-keyring-daemon', ['--foreground', '--unlock', '--components=secrets'], {
        env,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      children.push(child);
      // The password for the new keyring.
      child.stdin.end('password');
      await until(
        async () => (await hasOwnerOnBus('org.freedesktop.secrets', bus)) === true,
        () => 'no key store',
      );
    },
    async startWindowManager() {
      children.push(spawn('openbox', [], { env, stdio: 'ignore' }));
      await until(
        () => spawnSync('xprop', ['-root', '_NET_SUPPORTING_WM_CHECK'], { env }).stdout.includes('window id'),
        () => 'no window manager',
      );
    },
    async [Symbol.asyncDispose]() {
      for (const child of children.toReversed()) child.kill('SIGKILL');
      await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
