import { readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import type { LocalSettings } from '../../../../shared/companion/settings.ts';
import { CommandError } from '../handler.ts';
import { findBrowser } from './find-browser.ts';
import { lacksSandbox, sandboxProblem } from './sandbox.ts';

const launchTimeoutMs = 30_000;
/** Sends all traffic through the filter: the browser resolves no host names, and WebRTC uses no direct UDP. */
const filterArguments = [
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--dns-prefetch-disable',
];

/**
 * Returns the path of the browser that the owner's settings allow.
 * @throws CommandError `tool_missing`, `denied_by_device`.
 */
export function usableBrowser(settings: LocalSettings['browser']): string {
  const browser = findBrowser(settings.executablePath);
  if (browser === null) {
    throw new CommandError(
      'tool_missing',
      settings.executablePath === undefined
        ? 'No Chrome, Edge or Chromium is installed on this machine; on Debian get one with: sudo apt-get install chromium'
        : `There is no browser at ${settings.executablePath}.`,
    );
  }
  const unsafe = sandboxProblem(settings);
  if (unsafe !== null) throw new CommandError('denied_by_device', unsafe);
  return browser.path;
}

/**
 * Starts a browser with the given profile, whose proxy is the filter at `filterUrl`.
 * @throws CommandError `failed` with one line of text.
 */
export async function launchBrowser(
  profile: string,
  executablePath: string,
  settings: LocalSettings['browser'],
  { filterUrl, downloadsPath }: { filterUrl: string; downloadsPath: string },
): Promise<BrowserContext> {
  const canShow =
    process.platform !== 'linux' ||
    process.env['DISPLAY'] !== undefined ||
    process.env['WAYLAND_DISPLAY'] !== undefined;
  // Loading Playwright takes as long as loading the rest of the companion, and most companions use no browser.
  const { chromium } = await import('playwright-core');
  try {
    return await chromium.launchPersistentContext(profile, {
      executablePath,
      headless: !(settings.headed && canShow),
      chromiumSandbox: !lacksSandbox(),
      acceptDownloads: true,
      downloadsPath,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      viewport: { width: 1280, height: 800 },
      timeout: launchTimeoutMs,
      proxy: { server: filterUrl, bypass: '<-loopback>' },
      args: [
        ...filterArguments,
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--no-default-browser-check',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
  } catch (error) {
    const text = (error as Error).message;
    const inUse = /ProcessSingleton|SingletonLock|profile.*in use|existing browser session/i.test(text);
    throw new CommandError(
      'failed',
      inUse
        ? `The browser profile ${profile} is in use by another browser; close it.`
        : `The browser did not start: ${text.split('\n')[0]?.slice(0, 300)}`,
      { cause: error },
    );
  }
}

/**
 * Makes a browser store the credentials of its proxy, by a request of a page that is answered with 204, so the page does
 * not change. The browser then sends them with every request. Playwright's own `proxy.username` would intercept every
 * request, and switch off the HTTP cache.
 */
export async function storeProxyCredentials(
  page: Page,
  { url, credentials }: { url: string; credentials: { username: string; password: string } },
): Promise<void> {
  const session = await page.context().newCDPSession(page);
  try {
    session.on('Fetch.requestPaused', ({ requestId }) => {
      session.send('Fetch.continueRequest', { requestId }).catch(() => undefined);
    });
    session.on('Fetch.authRequired', ({ requestId, authChallenge }) => {
      const authChallengeResponse =
        authChallenge.source === 'Proxy'
          ? { response: 'ProvideCredentials' as const, ...credentials }
          : { response: 'CancelAuth' as const };
      session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined);
    });
    await session.send('Fetch.enable', { handleAuthRequests: true });
    await session.send('Page.navigate', { url });
  } finally {
    await session.detach().catch(() => undefined);
  }
}

/**
 * Kills the browser that uses a profile. Chromium writes its process ID to the profile on Linux and macOS only.
 * @returns Whether a process was killed.
 */
export function killBrowser(profile: string): boolean {
  try {
    const pid = Number(/-(\d+)$/.exec(readlinkSync(join(profile, 'SingletonLock')))?.[1] ?? 0);
    return pid > 1 && pid !== process.pid && process.kill(pid, 'SIGKILL');
  } catch {
    // The browser has ended, or the system has no such link.
    return false;
  }
}
