import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findTool } from '../media-tool.ts';

/** An installed browser that Playwright can drive. */
export interface InstalledBrowser {
  name: string;
  path: string;
}

const linuxNames = [
  'google-chrome-stable',
  'google-chrome',
  'chromium',
  'chromium-browser',
  'microsoft-edge-stable',
  'microsoft-edge',
];
const macApps = ['Google Chrome', 'Microsoft Edge', 'Chromium'];
const windowsPaths = [
  'Google\\Chrome\\Application\\chrome.exe',
  'Microsoft\\Edge\\Application\\msedge.exe',
  'Chromium\\Application\\chrome.exe',
];

/**
 * Returns the browser that the owner configured, else the first installed one of Chrome, Chromium and Edge; null if
 * there is none.
 */
export function findBrowser(executablePath: string | undefined): InstalledBrowser | null {
  if (executablePath !== undefined)
    return existsSync(executablePath) ? { name: executablePath, path: executablePath } : null;
  const candidates =
    process.platform === 'darwin'
      ? macApps.map((app) => ({ name: app, path: `/Applications/${app}.app/Contents/MacOS/${app}` }))
      : process.platform === 'win32'
        ? ['PROGRAMFILES', 'PROGRAMFILES(X86)', 'LOCALAPPDATA'].flatMap((variable) =>
            windowsPaths.map((path) => ({ name: path, path: join(process.env[variable] ?? 'C:\\', path) })),
          )
        : linuxNames.flatMap((name) => {
            const path = findTool(name);
            return path === null ? [] : [{ name, path }];
          });
  return candidates.find(({ path }) => existsSync(path)) ?? null;
}
