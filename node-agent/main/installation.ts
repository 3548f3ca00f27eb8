import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { app } from 'electron';
import { commandLine } from '../../shared/command-line.ts';
import { folderSuffix } from '../runtime/data-folder.ts';
import { desktopAutostart, loginItemAutostart } from './autostart.ts';
import type { Autostart } from './autostart.ts';
import { createUpdater, runningAppImage } from './updates/create-updater.ts';
import type { Installation } from './updates/create-updater.ts';
import { loadElectronUpdater } from './updates/load-electron-updater.ts';
import type { UpdatePort, Updater } from './updates/updater.ts';

/** Facts about how this app was installed. */
function readInstallation(dataFolder: string): Installation {
  return {
    current: app.getVersion(),
    platform: process.platform,
    arch: process.arch,
    appImage: process.env['APPIMAGE'],
    appDir: process.env['APPDIR'],
    resources: process.resourcesPath,
    isPackaged: app.isPackaged,
    folder: join(dataFolder, 'app'),
  };
}

/** Starts a program that outlives this process. */
export function startDetached(program: string, args: readonly string[]): void {
  spawn(program, args, { detached: true, stdio: 'ignore' })
    .once('error', () => undefined)
    .unref();
}

/** Checks a pending update at the start. If it was rolled back, returns the program to start instead, else null. */
export function checkPendingUpdate(dataFolder: string): string | null {
  const image = runningAppImage(readInstallation(dataFolder));
  return image?.checkPending(app.getVersion()) === 'restart' ? image.path : null;
}

/** Path of the AppImage that this app runs from. Null if it runs from none. */
export const ownAppImage = (dataFolder: string): string | null =>
  runningAppImage(readInstallation(dataFolder))?.path ?? null;

export const openUpdater = (dataFolder: string, port: UpdatePort): Promise<Updater> =>
  createUpdater(readInstallation(dataFolder), port, loadElectronUpdater);

/** The command that pauses the companion of a data folder. */
export const pauseCommandOf = (dataFolder: string): string =>
  commandLine([
    'outrigger-companion',
    ...(folderSuffix(dataFolder) === '' ? [] : ['--data-folder', dataFolder]),
    'pause',
  ]);

/** Controls the start at login. Null when the app runs from sources. */
export function findAutostart(dataFolder: string): Autostart | null {
  if (!app.isPackaged) return null;
  const target = { dataFolder, suffix: folderSuffix(dataFolder) };
  if (process.platform !== 'linux') return loginItemAutostart(app, target);
  return desktopAutostart(ownAppImage(dataFolder) ?? process.execPath, target, {
    configHome: process.env['XDG_CONFIG_HOME'],
    home: homedir(),
  });
}
