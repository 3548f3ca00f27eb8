import { createServer } from 'node:http';
import type { Server, ServerOptions } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { closeWithoutRequest, guardConnections, limitPipelining } from './connections.ts';
import type { ConnectionLimits } from './connections.ts';

async function serve(limits: ConnectionLimits, options: ServerOptions = {}): Promise<Server> {
  const server = createServer({ connectionsCheckingInterval: 50, ...options }, (request, response) => {
    if (request.url === '/large') response.end('x'.repeat(32 * 1024 * 1024));
    else request.resume().on('end', () => response.end('read'));
  });
  guardConnections(server, limits);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

/** Opens connections that send something, keep what they hear, and never close by themselves. */
function openAll(server: Server, count: number, text: string): { socket: Socket; heard: string }[] {
  const opened = Array.from({ length: count }, () => ({
    socket: connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true }),
    heard: '',
  }));
  for (const one of opened) {
    one.socket.on('data', (chunk: Buffer) => {
      one.heard += chunk.toString();
    });
    one.socket.on('error', () => undefined);
    one.socket.write(text);
  }
  onTestFinished(() => opened.forEach(({ socket }) => socket.destroy()));
  return opened;
}

const connectionsOf = (server: Server) =>
  new Promise<number>((done) => server.getConnections((_error, count) => done(count)));

test('requests that can not be read are answered, and none of their connections stays although its client does', async () => {
  const server = await serve({ lingerMs: 100 });
  const opened = openAll(server, 500, 'NOT HTTP AT ALL\r\n\r\nand more of it');
  await expect.poll(() => opened.every(({ heard }) => heard.startsWith('HTTP/1.1 400 '))).toBe(true);
  await expect.poll(() => connectionsOf(server)).toBe(0);
});

test.each([
  ['headers', 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '],
  ['bodies', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{'],
])('%s that come too slowly are answered 408, and none of their connections stays', async (_what, text) => {
  const server = await serve({ lingerMs: 100 }, { headersTimeout: 200, requestTimeout: 200 });
  const opened = openAll(server, 50, text);
  await expect.poll(() => opened.every(({ heard }) => heard.startsWith('HTTP/1.1 408 '))).toBe(true);
  await expect.poll(() => connectionsOf(server)).toBe(0);
});

test('an answer that nobody takes holds no connection', async () => {
  const server = await serve({ inactivityMs: 300 });
  const [one] = openAll(server, 1, 'GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
  one?.socket.pause();
  await expect.poll(() => connectionsOf(server)).toBe(1);
  await expect.poll(() => connectionsOf(server)).toBe(0);
});

test('connections without a request under way are closed, also where a part of one came, and no others', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/slow') setTimeout(() => response.end('slow'), 300);
    else response.end('fast');
  });
  const closeRest = closeWithoutRequest(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const silent = openAll(server, 2, '');
  const half = openAll(server, 2, 'GET /v1/auto');
  const behind = openAll(server, 2, 'GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /v1');
  const slow = openAll(server, 2, 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
  await expect.poll(() => behind.every(({ heard }) => heard.includes('fast'))).toBe(true);
  await expect.poll(() => connectionsOf(server)).toBe(8);
  closeRest();
  await expect.poll(() => connectionsOf(server)).toBe(2);
  await expect.poll(() => slow.every(({ heard }) => heard.endsWith('slow'))).toBe(true);
  expect([...silent, ...half].every(({ heard }) => heard === '')).toBe(true);
});

test('a connection with more than 16 requests that wait for their answers is destroyed, and none of the rest is served', async () => {
  const isWithinPipeline = limitPipelining();
  let served = 0;
  const server = createServer((request, response) => {
    if (!isWithinPipeline(request, response)) return;
    served += 1;
    setImmediate(() => response.end('served'));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const one = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
  const [within] = openAll(server, 1, one.repeat(16));
  await expect.poll(() => within?.heard.match(/served/g)?.length).toBe(16);
  within?.socket.write(one);
  await expect.poll(() => within?.heard.match(/served/g)?.length).toBe(17);
  within?.socket.destroy();
  await expect.poll(() => connectionsOf(server)).toBe(0);
  served = 0;
  openAll(server, 1, one.repeat(2_000));
  await expect.poll(() => served).toBe(16);
  await expect.poll(() => connectionsOf(server)).toBe(0);
  expect(served).toBe(16);
});
