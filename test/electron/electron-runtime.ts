import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const name = { darwin: 'Electron.app/Contents/MacOS/Electron', win32: 'electron.exe' }[process.platform as string];
const folders = [process.env['ELECTRON_OVERRIDE_DIST_PATH'], 'node_modules/electron/dist'];

/** The Electron that the tests of the app run; null where there is none, and then they are skipped. */
export const electronPath: string | null =
  folders
    .flatMap((folder) => (folder === undefined || folder === '' ? [] : [resolve(folder, name ?? 'electron')]))
    .find((path) => existsSync(path)) ?? null;

/** Why they are skipped, for the titles of tests. */
export const needsElectron = '(needs Electron; see test/electron/fetch-runtime.sh)';

/** Arguments that make it run this project: as root Chromium has no sandbox, and a runtime with an app of its own takes no other. */
export function electronArguments(asRoot = process.getuid?.() === 0): string[] {
  const hasApp = electronPath !== null && existsSync(join(electronPath, '../resources/app'));
  return [...(asRoot ? ['--no-sandbox'] : []), ...(hasApp ? [] : [resolve('.')])];
}

/** Bundles the app, once before its tests. */
export default function buildApp(): void {
  if (electronPath !== null) execFileSync(process.execPath, [resolve('node-agent/build.ts')], { stdio: 'inherit' });
}
