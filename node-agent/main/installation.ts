import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { app } from 'electron';
import { folderSuffix } from '../runtime/data-folder.ts';
import { commandLine } from '../runtime/program-rules.ts';
import { desktopAutostart, loginItemAutostart } from './autostart.ts';
import type { Autostart } from './autostart.ts';
import { createUpdater, runningAppImage } from './updates/create-updater.ts';
import type { Installation } from './updates/create-updater.ts';
import { loadElectronUpdater } from './updates/load-electron-updater.ts';
import type { UpdatePort, Updater } from './updates/updater.ts';

/** How this app came onto this machine. */
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

/** Starts a program that outlives this one. */
export function startDetached(program: string, args: readonly string[]): void {
  spawn(program, args, { detached: true, stdio: 'ignore' })
    .once('error', () => undefined)
    .unref();
}

/** Before anything else of a start: the program to start instead, where an update did not work and was taken back; else null. */
export function checkPendingUpdate(dataFolder: string): string | null {
  const image = runningAppImage(readInstallation(dataFolder));
  return image?.checkPending(app.getVersion()) === 'restart' ? image.path : null;
}

/** Where the AppImage lies that this app runs from; null where it runs from none. */
export const ownAppImage = (dataFolder: string): string | null =>
  runningAppImage(readInstallation(dataFolder))?.path ?? null;

/** How it is updated. */
export const openUpdater = (dataFolder: string, port: UpdatePort): Promise<Updater> =>
  createUpdater(readInstallation(dataFolder), port, loadElectronUpdater);

/** The command line that pauses the companion of a data folder. */
export const pauseCommandOf = (dataFolder: string): string =>
  commandLine([
    'outrigger-companion',
    ...(folderSuffix(dataFolder) === '' ? [] : ['--data-folder', dataFolder]),
    'pause',
  ]);

/** Whether and how it starts at login; null where what runs are sources, which have no place of their own. */
export function findAutostart(dataFolder: string): Autostart | null {
  if (!app.isPackaged) return null;
  const target = { dataFolder, suffix: folderSuffix(dataFolder) };
  if (process.platform !== 'linux') return loginItemAutostart(app, target);
  return desktopAutostart(ownAppImage(dataFolder) ?? process.execPath, target, {
    configHome: process.env['XDG_CONFIG_HOME'],
    home: homedir(),
  });
}
