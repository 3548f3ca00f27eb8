import type { SystemSignedUpdates } from './signed-updater.ts';

/** Loads electron-updater. Only signed builds for Windows and macOS need it. */
export async function loadElectronUpdater(): Promise<SystemSignedUpdates> {
  const { default: library } = await import('electron-updater');
  return library.autoUpdater;
}
