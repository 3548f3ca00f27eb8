import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { localSettings } from '../../settings.ts';
import { findBrowser } from './find-browser.ts';
import { BrowserSession } from './session.ts';
import { Windows } from './windows.ts';

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
    if (url === '/407') {
      response.writeHead(407, { 'proxy-authenticate': 'Basic realm="outrigger-companion"' }).end();
      return;
    }
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

/** PIDs and command lines of the processes of a browser. */
function processesOf(profile: string): { pid: number; line: string }[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(Number.isInteger)
    .map((pid) => {
      try {
        return { pid, line: readFileSync(`/proc/${pid}/cmdline`, 'utf8') };
      } catch {
        // It has ended.
        return { pid, line: '' };
      }
    })
    .filter(({ line }) => line.includes(profile));
}

/** PID of the process of a browser that sends all its requests. */
function networkProcessOf(profile: string): number {
  const found = processesOf(profile).find(({ line }) => line.includes('NetworkService'));
  if (found === undefined) throw new Error('the browser has no network process');
  return found.pid;
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

  test('a server that answers with status 407 does not disturb other requests', async () => {
    const { base } = await listen();
    await withPage(async ({ page }) => {
      await page.goto(`${base}/`);
      const statuses = `(async () => {
        const statuses = [];
        for (let count = 0; count < 4; count += 1)
          for (const path of ['/407', '/again?' + count])
            statuses.push(await fetch(path).then(({ status }) => status, ({ message }) => message));
        return statuses;
      })()`;
      expect(await page.evaluate(statuses)).toEqual([502, 200, 502, 200, 502, 200, 502, 200]);
    });
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

  describe.skipIf(process.platform !== 'linux')('that is denied while it starts', () => {
    /** A browser whose start script waits while the file `slow` exists, and its session. */
    function slowBrowser(profile: string) {
      const folder = newProfile();
      const [executablePath, slow, started] = ['browser', 'slow', 'started'].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ];
      const { path } = findBrowser(undefined) ?? { path: '' };
      writeFileSync(
        executablePath,
        `#!/bin/sh\n: > ${started}\nwhile [ -e ${slow} ]; do sleep 1; done\nexec ${path} "$@"\n`,
        { mode: 0o755 },
      );
      writeFileSync(slow, '');
      const session = new BrowserSession(profile);
      onTestFinished(async () => {
        rmSync(slow, { force: true });
        await session[Symbol.asyncDispose]();
      });
      const open = () =>
        session.withPage({ ...settings, executablePath }, owner, { opens: true }, async ({ page }) => page.url());
      return { session, open, started, becomeFast: () => rmSync(slow) };
    }

    test('ends immediately, does not start later, and starts again when it is allowed', async () => {
      const profile = newProfile();
      const { session, open, started, becomeFast } = slowBrowser(profile);
      const opened = open().catch((error: unknown) => error);
      await expect.poll(() => existsSync(started)).toBe(true);
      await session.end('denied');
      expect(processesOf(profile)).toEqual([]);
      expect(await opened).toMatchObject({ message: 'The browser was ended while it started.' });
      becomeFast();
      expect(await open()).toBe('about:blank');
      // The script of the first start would have started its browser by now.
      const launches = processesOf(profile).flatMap(({ line }) => /--outrigger-launch=[\w-]+/.exec(line) ?? []);
      expect(new Set(launches).size).toBe(1);
    });

    test('ends when its process did not exist yet', async () => {
      const profile = join(newProfile(), 'profile');
      const { session, open, becomeFast } = slowBrowser(profile);
      becomeFast();
      const opened = open().catch((error: unknown) => error);
      await expect.poll(() => existsSync(profile), { interval: 1 }).toBe(true);
      await session.end('denied');
      expect(processesOf(profile)).toEqual([]);
      expect(await opened).toMatchObject({ message: 'The browser was ended while it started.' });
      expect(await open()).toBe('about:blank');
    });

    test('ends also when its processes are stopped at the end of their start', async () => {
      const profile = newProfile();
      const { session, open, becomeFast } = slowBrowser(profile);
      becomeFast();
      const watch = Windows.watch.bind(Windows);
      const stopped = Promise.withResolvers<void>();
      vi.spyOn(Windows, 'watch').mockImplementationOnce((...args) => {
        for (const { pid } of processesOf(profile)) process.kill(pid, 'SIGSTOP');
        stopped.resolve();
        return watch(...args);
      });
      const opened = open().catch((error: unknown) => error);
      await stopped.promise;
      await session.end('denied');
      expect(processesOf(profile)).toEqual([]);
      expect(await opened).toMatchObject({ message: 'The browser was ended while it started.' });
      expect(await open()).toBe('about:blank');
    });

    test('ends no other process, and starts again with the lock of an ended browser', async () => {
      const profile = newProfile();
      const other = spawn('sleep', ['60'], { stdio: 'ignore' });
      onTestFinished(() => void other.kill('SIGKILL'));
      // A power failure leaves the lock. Its process number can belong to another process after the next start.
      const lock = join(profile, 'SingletonLock');
      symlinkSync(`${hostname()}-${other.pid}`, lock);
      const { session, open, started, becomeFast } = slowBrowser(profile);
      const opened = open().catch((error: unknown) => error);
      await expect.poll(() => existsSync(started)).toBe(true);
      await session.end('denied');
      expect([other.exitCode, other.signalCode]).toEqual([null, null]);
      expect(processesOf(profile)).toEqual([]);
      expect(await opened).toBeInstanceOf(Error);
      other.kill('SIGKILL');
      await new Promise((done) => other.once('exit', done));
      becomeFast();
      expect(await open()).toBe('about:blank');
    });
  });
});
