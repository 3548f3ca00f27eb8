import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerOptions } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { unawaited } from '../../../../test/fixtures/unawaited.ts';
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

/** Opens connections that send a text, collect what they receive, and never close on their own. */
function openAll(server: Server, count: number, text: string): { socket: Socket; received: string }[] {
  const opened = Array.from({ length: count }, () => ({
    socket: connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true }),
    received: '',
  }));
  for (const one of opened) {
    one.socket.on('data', (chunk: Buffer) => {
      one.received += chunk.toString();
    });
    one.socket.on('error', () => undefined);
    one.socket.write(text);
  }
  onTestFinished(() => opened.forEach(({ socket }) => socket.destroy()));
  return opened;
}

const connectionsOf = (server: Server) =>
  new Promise<number>((done) => server.getConnections((_error, count) => done(count)));

test('malformed requests get a 400 response, and their connections are closed although the clients keep them open', async () => {
  const server = await serve({ lingerMs: 100 });
  const opened = openAll(server, 500, 'NOT HTTP AT ALL\r\n\r\nand more of it');
  await expect.poll(() => opened.every(({ received }) => received.startsWith('HTTP/1.1 400 '))).toBe(true);
  await expect.poll(() => connectionsOf(server)).toBe(0);
});

test.each([
  ['headers', 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '],
  ['bodies', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{'],
])('%s that arrive too slowly get a 408 response, and their connections are closed', async (_what, text) => {
  const server = await serve({ lingerMs: 100 }, { headersTimeout: 200, requestTimeout: 200 });
  const opened = openAll(server, 50, text);
  await expect.poll(() => opened.every(({ received }) => received.startsWith('HTTP/1.1 408 '))).toBe(true);
  await expect.poll(() => connectionsOf(server)).toBe(0);
});

test('a connection whose client does not read the response is closed', async () => {
  const server = await serve({ inactivityMs: 300 });
  const connected = once(server, 'connection');
  const [one] = openAll(server, 1, 'GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
  one?.socket.pause();
  await connected;
  await expect.poll(() => connectionsOf(server)).toBe(0);
});

test('closing connections without a request in progress includes those with a partial request, and no others', async () => {
  const gate = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    if (request.url === '/slow') unawaited(gate.promise.then(() => response.end('slow')));
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
  await expect.poll(() => behind.every(({ received }) => received.includes('fast'))).toBe(true);
  await expect.poll(() => connectionsOf(server)).toBe(8);
  closeRest();
  await expect.poll(() => connectionsOf(server)).toBe(2);
  gate.resolve();
  await expect.poll(() => slow.every(({ received }) => received.endsWith('slow'))).toBe(true);
  expect([...silent, ...half].every(({ received }) => received === '')).toBe(true);
});

test('a connection with more than 16 pending requests is destroyed, and the requests beyond 16 are not served', async () => {
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
  await expect.poll(() => within?.received.match(/served/g)?.length).toBe(16);
  within?.socket.write(one);
  await expect.poll(() => within?.received.match(/served/g)?.length).toBe(17);
  within?.socket.destroy();
  await expect.poll(() => connectionsOf(server)).toBe(0);
  served = 0;
  openAll(server, 1, one.repeat(2_000));
  await expect.poll(() => served).toBe(16);
  await expect.poll(() => connectionsOf(server)).toBe(0);
  expect(served).toBe(16);
});
