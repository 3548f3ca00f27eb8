import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { until } from '../../../test/fixtures/until.ts';
import type { ServingOptions } from './serve-operation.ts';
import { Sockets } from './sockets.ts';
import type { SocketRoute } from './sockets.ts';

const operation: SocketRoute['operation'] = {
  id: 'listen',
  tag: 'x',
  summary: 'x',
  method: 'GET',
  path: '/listen/{id}',
  callers: ['device'],
  params: z.strictObject({ id: z.string() }),
  socket: { protocol: 'test', maxFrameBytes: 100 },
  response: z.never(),
};

async function serve(open: SocketRoute['open'], pingMs: number): Promise<string> {
  const serving = {
    auth: { authenticateDevice: async (nodeId: string) => ({ nodeId, tenantId: 't' }) },
    limitDevice: async () => undefined,
    trustedProxies: [],
  } as unknown as ServingOptions;
  const sockets = new Sockets({
    serving,
    routes: [{ operation, open }],
    logger: pino({ level: 'silent' }),
    stopping: new AbortController().signal,
    pingMs,
    onFinished: () => undefined,
  });
  const server = createServer({ shouldUpgradeCallback: (request) => sockets.isFor(request) });
  sockets.serve(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    sockets[Symbol.dispose]();
    server.close();
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/listen/1`;
}

async function connect(
  url: string,
  options: { autoPong?: boolean } = {},
): Promise<{ closed: () => number | undefined }> {
  const socket = new WebSocket(url, 'test', { headers: { authorization: 'Bearer x' }, ...options });
  let code: number | undefined;
  socket.on('close', (given) => {
    code = given;
  });
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  return { closed: () => code };
}

test('a socket that shows no life loses its place, and one that only listens keeps it', async () => {
  let pings = 0;
  const url = await serve(({ socket }) => socket.on('pong', () => (pings += 1)), 100);
  const alive = await connect(url);
  const dead = await connect(url, { autoPong: false });
  await until(
    () => dead.closed() !== undefined,
    () => 'it was kept',
  );
  expect(dead.closed()).toBe(1006);
  const before = pings;
  await until(
    () => pings > before + 3,
    () => 'nobody pings',
  );
  expect(alive.closed()).toBeUndefined();
});

test('a socket whose caller takes nothing is cut off before what waits for it fills the memory', async () => {
  let waiting = 0;
  const url = await serve(({ socket }) => {
    const chunk = Buffer.alloc(1024 * 1024);
    for (let index = 0; index < 64; index += 1) socket.send(chunk);
    waiting = socket.bufferedAmount;
    socket.on('close', () => {
      waiting = 0;
    });
  }, 100);
  const socket = new WebSocket(url, 'test', { headers: { authorization: 'Bearer x' } });
  onTestFinished(() => socket.terminate());
  socket.on('error', () => undefined);
  await once(socket, 'open');
  socket.pause();
  expect(waiting).toBeGreaterThan(16 * 1024 * 1024);
  await until(
    () => waiting === 0,
    () => 'it still waits',
  );
});
test('no socket is served whose callers could lose their right to it unseen', () => {
  const routes = [{ operation: { ...operation, callers: ['session'] as const }, open: () => undefined }];
  expect(() => new Sockets({ routes } as never)).toThrow('whose rights nobody watches');
});
