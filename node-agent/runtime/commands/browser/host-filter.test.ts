import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { localSettings } from '../../settings.ts';
import { HostFilter } from './host-filter.ts';
import { navigationProblem } from './host-rules.ts';
import type { HostRules } from './host-rules.ts';

const open = { allowHosts: [], blockHosts: [], privateHosts: ['127.0.0.0/8', '::1'] };

test.each([
  ['Bücher.example', 'http://xn--bcher-kva.example/'],
  ['*.bücher.example', 'https://a.BÜCHER.example./x'],
  ['[::1]', 'http://[::1]:8080/'],
  ['::1', 'http://[0:0:0:0:0:0:0:1]/'],
  ['127.1', 'http://127.0.0.1/'],
  ['Example.ORG.', 'https://example.org/'],
])('the pattern %s blocks %s in any notation', (pattern, address) => {
  expect(navigationProblem(address, { ...open, blockHosts: [pattern] })).toContain('blocks');
  expect(navigationProblem(address, { ...open, allowHosts: [pattern] })).toBeNull();
  expect(navigationProblem('http://other.example/', { ...open, blockHosts: [pattern] })).toBeNull();
});

test.each(['https://example.org', 'example.org:8080', 'example.org/path', '*', 'example.*', 'user@example.org', ''])(
  'the settings refuse the pattern %j, which names no host',
  (pattern) => {
    expect(localSettings.safeParse({ browser: { blockHosts: [pattern] } }).success).toBe(false);
    expect(localSettings.safeParse({ browser: { allowHosts: [pattern] } }).success).toBe(false);
  },
);

test('a running response is closed when its host is no longer allowed', async () => {
  const far = createServer((_request, response) => response.write('one'));
  await new Promise<void>((done) => far.listen(0, '127.0.0.1', done));
  let rules: HostRules = open;
  const filter = await HostFilter.listen(() => rules);
  try {
    const { hostname, port } = new URL(filter.url);
    const sent = request({
      hostname,
      port,
      path: `http://127.0.0.1:${(far.address() as AddressInfo).port}/`,
      headers: asBrowser(filter),
    }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.on('error', () => undefined);
    await once(answer, 'data');
    filter.recheck();
    expect(answer.destroyed).toBe(false);
    rules = { ...open, blockHosts: ['127.0.0.1'] };
    filter.recheck();
    await new Promise<void>((done) => answer.once('close', done));
  } finally {
    await filter[Symbol.asyncDispose]();
    far.closeAllConnections();
    far.close();
  }
});

/** The headers with which a browser uses a filter. */
const asBrowser = ({ credentials: { username, password } }: HostFilter) => ({
  'proxy-authorization': `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
});

/** Starts a server on 127.0.0.1 that records its requests. */
async function listen(): Promise<{ port: number; seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((incoming, response) => {
    seen.push(`${incoming.method} ${incoming.url}`);
    response.end('reached');
  });
  server.on('upgrade', (incoming, socket) => {
    seen.push(`upgrade ${incoming.url}`);
    socket.destroy();
  });
  server.on('connect', (incoming, socket) => {
    seen.push(`CONNECT ${incoming.url} ${incoming.headers['proxy-authorization'] ?? ''}`);
    socket.end('HTTP/1.1 200 OK\r\n\r\nearly');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

/** Sends CONNECT and a request through a filter, and returns all received bytes as text. */
async function tunnel(
  filter: HostFilter,
  target: string,
  headers: Record<string, string> = asBrowser(filter),
): Promise<string> {
  const { hostname, port } = new URL(filter.url);
  const socket = connect(Number(port), hostname);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${lines.join('')}\r\n`);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    if (text.endsWith('\r\n\r\n') && text.includes(' 200 '))
      socket.write('GET /in HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  });
  await once(socket, 'close');
  return text;
}

/** Sends a request through a filter, and returns status, headers and text of the response. */
async function send(filter: HostFilter, path: string, options: { method?: string; headers?: Record<string, string> }) {
  const { hostname, port } = new URL(filter.url);
  const [response] = (await once(request({ hostname, port, path, ...options }).end(), 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, text };
}

test('only the browser that has the credentials of a filter can use it', async () => {
  const { port, seen } = await listen();
  const to = `127.0.0.1:${port}`;
  await using filter = await HostFilter.listen(() => open);
  await using other = await HostFilter.listen(() => open);
  const half = { 'proxy-authorization': asBrowser(filter)['proxy-authorization'].slice(0, -3) };
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
  for (const headers of [{}, half, asBrowser(other), upgrade] as Record<string, string>[]) {
    for (const path of [`http://${to}/in`, filter.url, `${filter.url}/`]) {
      const { status, headers: answered } = await send(filter, path, { headers });
      expect({ status, answered }).toMatchObject({
        status: 407,
        answered: { 'proxy-authenticate': expect.stringMatching(/^Basic realm="/) as string },
      });
    }
    expect(await tunnel(filter, to, headers)).toMatch(/^HTTP\/1\.1 407 [\s\S]*\r\nProxy-Authenticate: Basic realm="/);
  }
  expect(filter.problemOf(`http://${to}/`)).toBeNull();
  expect(seen).toEqual([]);
  expect(await send(filter, `http://${to}/in`, { headers: asBrowser(filter) })).toMatchObject({ text: 'reached' });
  expect(await tunnel(filter, to)).toContain('reached');
});

test("no response of the owner's proxy can contain its credentials, and servers do not get those of the filter", async () => {
  const proxy = createServer((incoming, response) => {
    response.end(`${incoming.method} ${JSON.stringify(incoming.headers)}`);
  });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  for (const name of ['HTTP_PROXY', 'no_proxy', 'NO_PROXY']) vi.stubEnv(name, undefined);
  vi.stubEnv('http_proxy', `http://user:secret@127.0.0.1:${port}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  await using filter = await HostFilter.listen(
    () => open,
    async () => ['93.184.216.34'],
  );
  const headers = asBrowser(filter);
  const traced = await send(filter, 'http://far.example/', { method: 'TRACE', headers });
  expect(traced).toMatchObject({ status: 405, text: '' });
  const direct = await send(filter, `http://127.0.0.1:${port}/`, { headers });
  expect(direct.text).toMatch(/^GET /);
  expect(direct.text).not.toContain('authorization');
});

/** Starts a server and proxy on 127.0.0.1 that answers everything with status 407. */
async function listenWith407(): Promise<number> {
  const server = createServer((_incoming, response) =>
    response.writeHead(407, { 'proxy-authenticate': 'Basic realm="outrigger-companion"' }).end('no'),
  );
  server.on('connect', (_incoming, socket) => {
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test('the browser gets no request for credentials from a server', async () => {
  const port = await listenWith407();
  await using filter = await HostFilter.listen(() => open);
  const { status, headers, text } = await send(filter, `http://127.0.0.1:${port}/`, { headers: asBrowser(filter) });
  expect(status).toBe(502);
  expect(headers['proxy-authenticate']).toBeUndefined();
  expect(text).toBe(`127.0.0.1:${port} answered with status 407, which only a proxy may send.\n`);
});

test.each([
  ['', 'requires a user name and a password (HTTP 407)'],
  ['user:wrong@', 'does not accept the user name and the password'],
])("a request of the owner's proxy at http://%s for credentials is reported and not forwarded", async (user, why) => {
  const port = await listenWith407();
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'no_proxy', 'NO_PROXY']) vi.stubEnv(name, undefined);
  for (const name of ['https_proxy', 'http_proxy']) vi.stubEnv(name, `http://${user}127.0.0.1:${port}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  await using filter = await HostFilter.listen(
    () => open,
    async () => ['93.184.216.34'],
  );
  await expect(send(filter, 'http://far.example/', { headers: asBrowser(filter) })).rejects.toThrow('socket hang up');
  expect(await tunnel(filter, 'far.example:443')).toContain('502');
  for (const [address, variable] of [
    ['http://far.example/', 'HTTP_PROXY'],
    ['https://far.example/', 'HTTPS_PROXY'],
  ] as const)
    expect(filter.problemOf(address)).toMatchObject({
      isRefused: false,
      message: expect.stringContaining(`the proxy 127.0.0.1:${port} (${variable}) ${why}`) as string,
    });
});

test('a name that resolves to a private address is refused before a request is sent', async () => {
  const { port, seen } = await listen();
  let asked = 0;
  await using filter = await HostFilter.listen(
    () => ({ allowHosts: [], blockHosts: [], privateHosts: [] }),
    async () => {
      asked += 1;
      return ['127.0.0.1'];
    },
  );
  expect(await tunnel(filter, `rebinding.example:${port}`)).toContain('403');
  expect(filter.problemOf(`https://rebinding.example:${port}/`)).toMatchObject({
    isRefused: true,
    message: expect.stringContaining('leads to 127.0.0.1') as string,
  });
  expect(asked).toBe(1);
  expect(seen).toEqual([]);
});

test('the filter connects to the checked address without resolving the name again', async () => {
  const { port, seen } = await listen();
  await using filter = await HostFilter.listen(
    () => ({ allowHosts: [], blockHosts: [], privateHosts: ['named.example'] }),
    async () => ['127.0.0.1'],
  );
  // The system cannot resolve the name, so only the checked address can reach the server.
  expect(await tunnel(filter, `named.example:${port}`)).toContain('reached');
  expect(seen).toEqual(['GET /in']);
});

test("the browser's traffic goes through the owner's proxy, except to this machine and to hosts in NO_PROXY", async () => {
  const proxy = await listen();
  const near = await listen();
  vi.stubEnv('HTTPS_PROXY', `http://user:secret@127.0.0.1:${proxy.port}`);
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${proxy.port}`);
  vi.stubEnv('NO_PROXY', 'direct.example');
  for (const name of ['https_proxy', 'http_proxy', 'no_proxy']) vi.stubEnv(name, undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
  await using filter = await HostFilter.listen(
    () => ({ allowHosts: [], blockHosts: [], privateHosts: ['127.0.0.1', 'direct.example'] }),
    async (host) => {
      if (host === 'direct.example') return ['127.0.0.1'];
      if (host === 'inside.example') return ['10.0.0.1'];
      throw new Error('ENOTFOUND');
    },
  );
  expect(await tunnel(filter, 'far.example:443')).toContain('early');
  const authorization = `Basic ${Buffer.from('user:secret').toString('base64')}`;
  expect(proxy.seen).toEqual([`CONNECT far.example:443 ${authorization}`]);
  expect(await tunnel(filter, 'inside.example:443')).toContain('403');
  expect(await tunnel(filter, `127.0.0.1:${near.port}`)).toContain('reached');
  expect(await tunnel(filter, `direct.example:${near.port}`)).toContain('reached');
  const { hostname, port } = new URL(filter.url);
  const sent = request({ hostname, port, path: 'http://far.example/page', headers: asBrowser(filter) }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  expect(proxy.seen).toEqual([`CONNECT far.example:443 ${authorization}`, 'GET http://far.example/page']);
});

test.each([
  ['a status code below 100', 'HTTP/1.1 042 Hi\r\nContent-Length: 2\r\n\r\nhi'],
  ['the status code 000', 'HTTP/1.1 000 Hi\r\nContent-Length: 2\r\n\r\nhi'],
  ['an upgrade without a request for it', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhi'],
  ['no status line', 'hi\r\n\r\n'],
  ['a control character in a header', 'HTTP/1.1 200 OK\r\nX-A: a\u0001b\r\nContent-Length: 2\r\n\r\nhi'],
  ['a header without a name', 'HTTP/1.1 200 OK\r\n: a\r\nContent-Length: 2\r\n\r\nhi'],
  ['an invalid trailer', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX y\u0000: z\r\n\r\n'],
  ['an invalid chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nzz\r\n'],
  ['an end before the announced length', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhi'],
])('the filter closes the connection of the browser when a server sends %s', async (_name, bytes) => {
  const far = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes, 'latin1'));
  });
  await new Promise<void>((done) => far.listen(0, '127.0.0.1', done));
  onTestFinished(() => void far.close());
  await using filter = await HostFilter.listen(() => open);
  const browser = connect(Number(new URL(filter.url).port), '127.0.0.1');
  browser.on('error', () => undefined).resume();
  const address = `http://127.0.0.1:${(far.address() as AddressInfo).port}/`;
  const authorization = asBrowser(filter)['proxy-authorization'];
  browser.write(`GET ${address} HTTP/1.1\r\nHost: 127.0.0.1\r\nProxy-Authorization: ${authorization}\r\n\r\n`);
  await once(browser, 'close');
  expect(filter.problemOf(address)?.message ?? '').not.toMatch(/can't be reached \((HPE|ERR_HTTP)/);
  const near = await listen();
  expect(await tunnel(filter, `127.0.0.1:${near.port}`)).toContain('reached');
});
