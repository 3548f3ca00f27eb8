import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { localSettings } from '../../settings.ts';
import { findBrowser } from './find-browser.ts';
import { BrowserSession } from './session.ts';

/** Starts a server whose page uses a WebSocket and a service worker. `seen` has the requests. */
async function listen(): Promise<{ base: string; seen: string[] }> {
  const seen: string[] = [];
  const files: Record<string, [type: string, text: string]> = {
    '/': ['text/html', '<title>Start</title>'],
    '/worker.js': [
      'text/javascript',
      `addEventListener('message', ({ source }) => fetch('/by-worker').then(() => source.postMessage('done')))`,
    ],
    '/cached': ['text/plain', 'cached'],
  };
  const server = createServer(({ url = '' }, response) => {
    seen.push(url);
    const [type, text] = files[url] ?? ['text/plain', 'other'];
    response.writeHead(200, { 'content-type': type, 'cache-control': 'max-age=1000' }).end(text);
  });
  server.on('upgrade', ({ url = '' }, socket) => {
    seen.push(url);
    socket.destroy();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** PID of the process of a browser that sends all its requests. */
function networkProcessOf(profile: string): number {
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    let line = '';
    try {
      line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      // It has ended.
    }
    if (line.includes(profile) && line.includes('NetworkService')) return pid;
  }
  throw new Error('the browser has no network process');
}

describe.skipIf(findBrowser(undefined) === null)('the browser (needs Chrome, Edge or Chromium)', () => {
  const isRoot = process.getuid?.() === 0;
  const settings = localSettings.parse({
    browser: { allowed: true, privateHosts: ['127.0.0.1'], withoutSandbox: isRoot },
  }).browser;
  const owner = { key: 'run', runId: 'run' };

  /** Calls `work` with a page of a browser with a new profile. */
  async function withPage(work: Parameters<BrowserSession['withPage']>[3], profile = newProfile()): Promise<void> {
    await using session = new BrowserSession(profile);
    await session.withPage(settings, owner, { opens: true }, work);
  }
  function newProfile(): string {
    const profile = mkdtempSync(join(tmpdir(), 'outrigger-profile-'));
    onTestFinished(() => rmSync(profile, { recursive: true, force: true, maxRetries: 5 }));
    return profile;
  }

  test('WebSockets, service workers and the HTTP cache work through a filter that needs credentials', async () => {
    const { base, seen } = await listen();
    await withPage(async ({ page }) => {
      await page.goto(`${base}/`);
      await page.evaluate(`(async () => {
        const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket');
        await new Promise((done) => socket.addEventListener('error', done));
        for (let count = 0; count < 3; count += 1) await (await fetch('/cached')).text();
        await navigator.serviceWorker.register('/worker.js');
        const { active } = await navigator.serviceWorker.ready;
        const answered = new Promise((done) => navigator.serviceWorker.addEventListener('message', done));
        active.postMessage('go');
        await answered;
      })()`);
    });
    for (const path of ['/', '/socket', '/worker.js', '/by-worker']) expect(seen).toContain(path);
    expect(seen.filter((path) => path === '/cached')).toHaveLength(1);
  });

  test.skipIf(process.platform !== 'linux')(
    'a browser gets the credentials of the filter again after its network process crashed',
    async () => {
      const { base } = await listen();
      const profile = newProfile();
      await withPage(async ({ page }) => {
        await page.goto(`${base}/`);
        process.kill(networkProcessOf(profile), 'SIGKILL');
        const reload = async () => {
          const response = await page.goto(`${base}/again`).catch(() => null);
          return response?.status();
        };
        await expect.poll(reload).toBe(200);
      }, profile);
    },
  );
});
