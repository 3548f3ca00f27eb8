import type { SystemSignedUpdates } from './signed-updater.ts';

/** Loads electron-updater, which only a signed build on Windows or macOS needs. */
export async function loadElectronUpdater(): Promise<SystemSignedUpdates> {
  const { default: library } = await import('electron-updater');
  return library.autoUpdater;
}
