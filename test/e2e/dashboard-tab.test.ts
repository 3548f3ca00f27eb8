import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';

/** Starts a site with one page, whose script is the query of the address. */
async function startSite(): Promise<Server> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
    if (pathname === '/broken') response.writeHead(500).end();
    else if (pathname === '/dropped') request.socket.destroy();
    else if (pathname === '/page')
      response
        .writeHead(200, {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': "script-src 'nonce-n1'; connect-src 'self'",
        })
        .end(`<!doctype html><link rel="icon" href="data:,"><script nonce="n1">${searchParams.get('script')}</script>`);
    else if (pathname !== '/slow') response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return server;
}

describe.skipIf(!canOpenDashboard)('the complaints of a page (needs Chromium)', () => {
  let site: Server;
  let browser: Browser;
  beforeAll(async () => {
    site = await startSite();
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    site?.closeAllConnections();
    site?.close();
  });
  const open = (script: string) =>
    openDashboard(browser, `/page?${new URLSearchParams({ script }).toString()}`, {
      hubUrl: `http://127.0.0.1:${(site.address() as AddressInfo).port}`,
      session: null,
    });

  const causes: [what: string, script: string, complaint: RegExp][] = [
    [
      'a violation of the policy',
      "fetch('https://elsewhere.invalid/').catch(() => 0)",
      /connect-src|^console: Fetch API/,
    ],
    ['an uncaught error', "throw new Error('not caught')", /error: not caught/],
    ['an error in the console', "console.error('in the console')", /console: in the console/],
    ['a warning in the console', "console.warn('a warning')", /console: a warning/],
  ];

  test.fails.each(causes)('%s fails the test', async (_what, script, complaint) => {
    await using tab = await open(script);
    await expect.poll(() => tab.complaints.join('\n')).toMatch(complaint);
  });

  test.each(causes)('%s does not fail a test that expects it', async (_what, script, complaint) => {
    await using tab = await open(script);
    tab.expectComplaint(complaint);
    await expect.poll(() => tab.complaints.join('\n')).toMatch(complaint);
  });

  test.fails('an expected complaint that does not come fails the test', async () => {
    await using tab = await open('');
    tab.expectComplaint(/^console: never$/);
    expect(tab.complaints).toEqual([]);
  });

  test('failed requests, and requests that the page or the test ended, are no complaints', async () => {
    await using tab = await open(
      `const stop = new AbortController();
      for (const signal of [stop.signal, null]) fetch('/slow', { signal }).catch(() => 0);
      stop.abort();
      new WebSocket('/slow').close();
      for (const path of ['/missing', '/broken', '/dropped']) fetch(path).catch(() => 0);`,
    );
    const { page } = tab;
    await page.context().setOffline(true);
    await page.evaluate("fetch('/offline').catch(() => 0)");
    await page.context().setOffline(false);
    await page.reload();
    // The requests of the page are still open when the tab is closed.
    expect(tab.complaints).toEqual([]);
  });
});
