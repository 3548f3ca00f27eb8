import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { BrowserContext, Page } from 'playwright-core';
import type { LocalSettings } from '../../../../shared/companion/settings.ts';
import { read, signalProcess } from '../../marked-processes.ts';
import { unlessAborted } from '../../until-aborted.ts';
import { CommandError } from '../handler.ts';
import { findBrowser } from './find-browser.ts';
import { lacksSandbox, sandboxProblem } from './sandbox.ts';

const launchTimeoutMs = 30_000;
/** Interval at which processes of a browser are searched while its aborted start has not ended, in milliseconds. */
const killIntervalMs = 100;
/** Time in which Playwright must report the end of a killed browser that was starting. It can miss this end. */
const noticeKillMs = 200;
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

export interface LaunchOptions {
  /** Identifies the processes of this browser, see `killBrowser`. */
  launchId: string;
  /** The address of the filter, which is the proxy of the browser. */
  filterUrl: string;
  downloadsPath: string;
  /** Ends a browser that is still starting. */
  signal: AbortSignal;
}

/**
 * Starts a browser with the given profile.
 * @throws CommandError `failed` with one line of text; the reason of the signal.
 */
export async function launchBrowser(
  profile: string,
  executablePath: string,
  settings: LocalSettings['browser'],
  { launchId, filterUrl, downloadsPath, signal }: LaunchOptions,
): Promise<BrowserContext> {
  const canShow =
    process.platform !== 'linux' ||
    process.env['DISPLAY'] !== undefined ||
    process.env['WAYLAND_DISPLAY'] !== undefined;
  // Loading Playwright takes as long as loading the rest of the companion, and most companions use no browser.
  const { chromium } = await import('playwright-core');
  signal.throwIfAborted();
  const launched = chromium.launchPersistentContext(profile, {
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
      launchArgument(launchId),
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
  try {
    return await unlessAborted(launched, signal);
  } catch (error) {
    if (signal.aborted) {
      await endStart(launchId, launched);
      throw error;
    }
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

/** Ends a browser whose start was aborted, also if its process starts later. */
async function endStart(launchId: string, launched: Promise<BrowserContext>): Promise<void> {
  const killed = Promise.withResolvers<void>();
  const ended = killBrowserUntil(
    launchId,
    launched.then((context) => context.close()),
    0,
    () => setTimeout(killed.resolve, noticeKillMs),
  );
  await Promise.race([ended, killed.promise]);
}

/**
 * Kills the processes of a start of a browser again and again until a promise settles.
 * @param graceMs Time before the first attempt.
 * @param onKilled Called when a process was killed.
 */
export async function killBrowserUntil(
  launchId: string,
  ended: Promise<unknown>,
  graceMs = 0,
  onKilled: () => void = () => undefined,
): Promise<void> {
  let hasEnded = false;
  const settled = ended.catch(() => undefined).finally(() => (hasEnded = true));
  await Promise.race([settled, delay(graceMs)]);
  while (!hasEnded) {
    // Without a free file handle no process is found. The next attempt may succeed.
    if (await killBrowser(launchId).catch(() => false)) onKilled();
    await Promise.race([settled, delay(killIntervalMs)]);
  }
}

/** An argument that Chromium ignores. It is in the command line of the browser and of a script that starts it. */
const launchArgument = (launchId: string) => `--outrigger-launch=${launchId}`;

/**
 * Kills the processes of one start of a browser, with their process groups. On Windows nothing is killed.
 * @returns Whether a process was found.
 */
async function killBrowser(launchId: string): Promise<boolean> {
  const found = await processesWithArgument(launchArgument(launchId));
  for (const pid of found) {
    signalProcess(-pid, 'SIGKILL');
    signalProcess(pid, 'SIGKILL');
  }
  return found.length > 0;
}

async function processesWithArgument(argument: string): Promise<number[]> {
  if (process.platform === 'linux')
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && read(`/proc/${pid}/cmdline`).split('\0').includes(argument));
  if (process.platform === 'win32') return [];
  const { stdout } = await promisify(execFile)('/bin/ps', ['-axww', '-o', 'pid=,args='], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout
    .split('\n')
    .filter((line) => line.split(' ').includes(argument))
    .map((line) => Number.parseInt(line, 10));
}
