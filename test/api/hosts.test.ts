import { createServer, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import { send } from '../fixtures/requests.ts';

let hub: TestHub;
let workspace: TestWorkspace;
const log: string[] = [];
beforeAll(async () => {
  hub = await startHub({}, undefined, {
    logger: pino({ level: 'debug' }, { write: (line: string) => log.push(line) }),
  });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** Sends a request with headers that `fetch` does not allow. */
function sendRaw(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
  url = hub.url,
): Promise<{ status: number; text: string }> {
  return new Promise((done, fail) => {
    const request = httpRequest(
      `${url}${path}`,
      { method, headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers } },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        response.on('end', () => done({ status: response.statusCode ?? 0, text }));
      },
    );
    request.on('error', fail);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/**
 * Sends text on its own connection. Returns the received text once the hub closed the connection or sent enough
 * responses.
 */
function sendText(text: string, answers: number): Promise<string> {
  const socket = connect(Number(new URL(hub.url).port), '127.0.0.1');
  let receivedText = '';
  return new Promise((done) => {
    socket.on('data', (chunk: Buffer) => {
      receivedText += chunk.toString();
      if (receivedText.split('HTTP/1.1 ').length > answers) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => done(receivedText));
    socket.write(text);
  });
}

describe('a request that is rejected before routing', () => {
  test('gets a status when it is sent alone', async () => {
    expect(await sendText('GET /healthz HTTP/1.1\r\n\r\n', 1)).toMatch(/^HTTP\/1\.1 400 /);
    expect(await sendText('GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n', 1)).toMatch(/^HTTP\/1\.1 417 /);
    expect(await sendText('GET /healthz HTTP/1.0\r\n\r\n', 1)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each(['GET / HTTP/1.1\r\n\r\n', 'GET / HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n'])(
    'is counted among pipelined requests: %j',
    async (request) => {
      const receivedText = await sendText(request.repeat(2_000), 2_000);
      expect(receivedText.split('HTTP/1.1 ').length - 1).toBeLessThanOrEqual(16);
    },
  );

  test('with a long host or origin is rejected without parsing the value', async () => {
    const parse = vi.spyOn(URL, 'parse');
    try {
      const host = `a${'%CD%84'.repeat(2_000)}`;
      await sendRaw('OPTIONS', '/auth/login', {
        origin: `http://${host}`,
        'access-control-request-method': 'POST',
      });
      await sendRaw('POST', '/auth/logout', { cookie: `outrigger_session=${workspace.jwt}`, origin: `http://${host}` });
      await sendRaw('GET', '/metrics', { host });
      expect(parse.mock.calls.filter(([url]) => String(url).length > 300)).toEqual([]);
    } finally {
      parse.mockRestore();
    }
  });
});

describe('a Host header', () => {
  test('of another site: changes authenticated by a cookie are rejected, and links do not use the host', async () => {
    const cookie = `outrigger_session=${workspace.jwt}`;
    const { port } = new URL(hub.url);
    for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example']) {
      expect(await sendRaw('POST', '/auth/logout', { cookie, host, origin: `http://${host}` })).toMatchObject({
        status: 403,
        text: expect.stringContaining('PUBLIC_URL') as string,
      });
    }
    const hubOf = async (host: string, url = hub.url) => {
      const { text } = await sendRaw('POST', '/v1/automations/nodes', { host, 'x-api-key': workspace.key }, {}, url);
      return new URL((JSON.parse(text) as { pairingUri: string }).pairingUri).searchParams.get('hub');
    };
    expect(await hubOf('evil.example')).toBe(hub.url);
    expect(await hubOf('203.0.113.9')).toBe(hub.url);
    expect(await hubOf(`localhost:${port}`)).toBe(`http://localhost:${port}`);
    await using published = await startHub({ PUBLIC_URL: 'https://hub.example.org' }, hub.database);
    expect(await hubOf('evil.example', published.url)).toBe('https://hub.example.org');
    expect(
      (
        await sendRaw(
          'POST',
          '/auth/logout',
          { cookie: `__Host-${cookie}`, host: 'hub.example.org', origin: 'https://hub.example.org' },
          undefined,
          published.url,
        )
      ).status,
    ).toBe(200);
  });
});

describe('an Origin header', () => {
  test('with http is rejected where PUBLIC_URL is https, and other names of the hub accept http and https', async () => {
    await using published = await startHub({ PUBLIC_URL: 'https://hub.example.org' }, hub.database);
    await using plain = await startHub({ PUBLIC_URL: 'http://hub.example.org:8080' }, hub.database);
    const logOut = async (at: TestHub, host: string, origin: string) => {
      const { jwt } = await at.workspace();
      const cookie = `${at === published ? '__Host-' : ''}outrigger_session=${jwt}`;
      return (await sendRaw('POST', '/auth/logout', { cookie, host, origin }, undefined, at.url)).status;
    };
    expect(await logOut(published, 'hub.example.org', 'https://hub.example.org')).toBe(200);
    expect(await logOut(published, 'hub.example.org', 'http://hub.example.org')).toBe(403);
    // A tunnel to the hub behind its proxy, with and without TLS of its own.
    const tunnel = `localhost:${new URL(published.url).port}`;
    expect(await logOut(published, tunnel, `http://${tunnel}`)).toBe(200);
    expect(await logOut(published, tunnel, `https://${tunnel}`)).toBe(200);
    expect(await logOut(hub, new URL(hub.url).host, `https://${new URL(hub.url).host}`)).toBe(200);
    for (const scheme of ['http', 'https'])
      expect(await logOut(plain, 'hub.example.org:8080', `${scheme}://hub.example.org:8080`)).toBe(200);
  });
});

describe('/metrics', () => {
  test('answers the machine of the hub, and other machines with METRICS_TOKEN only', async () => {
    expect((await send(hub.url, 'GET', '/metrics')).text).toContain('outrigger_http_request_seconds_bucket');
    expect((await send(hub.url, 'GET', '/metrics', { headers: { 'x-forwarded-for': '203.0.113.9' } })).status).toBe(
      401,
    );
    expect((await sendRaw('GET', '/metrics', { host: 'evil.example' })).status).toBe(401);
    await using guarded = await startHub({ METRICS_TOKEN: 'metrics-token' }, hub.database);
    const read = async (headers: Record<string, string>) =>
      (await send(guarded.url, 'GET', '/metrics', { headers })).status;
    expect([
      await read({}),
      await read({ authorization: 'Bearer metrics-tokem' }),
      await read({ authorization: 'Bearer metrics-token' }),
    ]).toEqual([401, 401, 200]);
  });
});

describe('the log', () => {
  test('contains the route of a request and never the token in its path or query, even at level debug', async () => {
    for (const path of [
      '/approve/apl_secret-of-a-link',
      '/unsubscribe/secret-of-a-link',
      '/sign-in?code=secret-of-a-link',
      '/nothing/secret-of-a-link?token=secret-of-a-link',
      '/v1/automations/runs/secret-of-a-link',
    ]) {
      await send(hub.url, 'GET', path, { headers: { 'x-api-key': workspace.key } });
    }
    await send(hub.url, 'POST', '/approve/apl_secret-of-a-link', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      raw: 'decision=approved',
    });
    await expect
      .poll(() => log.some((line) => line.includes('"route":"/approve/:token"') && line.includes('"method":"POST"')))
      .toBe(true);
    expect(log.some((line) => line.includes('"route":"/v1/automations/runs/:id"'))).toBe(true);
    expect(log.filter((line) => line.includes('secret-of-a-link'))).toEqual([]);
  });
});

describe('the sign-in form, in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    const installed = findPageBrowser();
    if (installed === null) throw new Error('no browser is installed');
    browser = await chromium.launch({
      executablePath: installed.path,
      chromiumSandbox: process.getuid?.() !== 0,
      timeout: 100_000,
      args: [
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
  });
  afterAll(() => browser.close());

  async function newContext(): Promise<BrowserContext> {
    const context = await browser.newContext();
    // As long as `expect.poll` waits.
    context.setDefaultTimeout(100_000);
    return context;
  }

  async function codeOf(name: string): Promise<string> {
    await hub.app.identity.createWorkspace(name);
    return hub.app.identity.createSignInCode(name);
  }

  test('signs in from its own page', async () => {
    const context = await newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(`${hub.url}/sign-in?code=${await codeOf('signs in itself')}`);
    await page.getByRole('button').click();
    await page.waitForURL(`${hub.url}/app`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.title()).toContain('signs in itself');
  });

  test.each(['no-referrer', 'unsafe-url'])(
    'rejects a sign-in from the page of another site that sends %s',
    async (policy) => {
      const code = await codeOf(`of a stranger with ${policy}`);
      const foreign = createServer((_request, response) => {
        response.setHeader('Content-Type', 'text/html');
        response.end(
          `<meta name="referrer" content="${policy}"><form method="post" action="${hub.url}/sign-in"><input name="code" value="${code}"><button>go</button></form>`,
        );
      });
      await new Promise<void>((done) => foreign.listen(0, '127.0.0.1', done));
      const context = await newContext();
      onTestFinished(async () => {
        await context.close();
        foreign.closeAllConnections();
        foreign.close();
      });
      const page = await context.newPage();
      await page.goto(`http://localhost:${(foreign.address() as AddressInfo).port}/`);
      await page.getByRole('button').click();
      await page.waitForURL(`${hub.url}/sign-in`);
      expect(await context.cookies(hub.url)).toEqual([]);
      // The code is still valid, because the request was refused before it was checked.
      expect((await hub.client().call('redeemSignInLink', { body: { code } })).token).not.toBe('');
    },
  );
});
