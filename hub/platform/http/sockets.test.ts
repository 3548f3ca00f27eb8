import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
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

let sockets: Sockets | undefined;

async function serve(
  open: SocketRoute['open'],
  pingMs: number,
  authenticateDevice: ServingOptions['auth']['devices']['authenticate'] = async (nodeId) => ({
    nodeId,
    tenantId: 't',
    secretHash: '',
  }),
): Promise<string> {
  const serving = {
    auth: {
      devices: { authenticate: authenticateDevice, confirm: async (device: object) => device, recall: () => null },
    },
    limitDevice: async () => undefined,
    trustedProxies: [],
  } as unknown as ServingOptions;
  const served = new Sockets({
    serving,
    routes: [{ operation, open }],
    logger: pino({ level: 'silent' }),
    stopping: new AbortController().signal,
    pingMs,
    onFinished: () => undefined,
  });
  const server = createServer({ shouldUpgradeCallback: (request) => served.isFor(request) });
  sockets = served;
  served.serve(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    served[Symbol.dispose]();
    server.close();
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/listen/${crypto.randomUUID()}`;
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
test('a socket on which bytes come is alive, however long its frame takes', async () => {
  let text = '';
  const url = await serve(({ socket }) => socket.on('message', (data: Buffer) => (text += data.toString())), 100);
  const asked = send(url.replace('ws:', 'http:'), {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      authorization: 'Bearer x',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'test',
      'sec-websocket-key': Buffer.alloc(16).toString('base64'),
    },
  }).end();
  const [, line] = (await once(asked, 'upgrade')) as [unknown, Socket];
  onTestFinished(() => {
    line.destroy();
  });
  line.resume();
  const payload = 'as slow as it may be'.repeat(4);
  const frame = Buffer.concat([Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]), Buffer.from(payload)]);
  for (const byte of frame) {
    line.write(Buffer.from([byte]));
    await delay(15);
  }
  await expect.poll(() => text).toBe(payload);
});

test('a socket that is not read on is not taken for dead', async () => {
  let opened = 0;
  const url = await serve(({ socket }) => {
    opened += 1;
    if (opened <= 2) socket.pause();
  }, 50);
  const paused = [await connect(url), await connect(url, { autoPong: false })];
  // As long as it takes to find out about those that are read.
  for (let round = 0; round < 3; round += 1) {
    const dead = await connect(url, { autoPong: false });
    await until(
      () => dead.closed() !== undefined,
      () => 'it was kept',
    );
  }
  expect(paused.map(({ closed }) => closed())).toEqual([undefined, undefined]);
});

test('a socket that is still being asked about when all end does not outlive them', async () => {
  const asked = Promise.withResolvers<void>();
  const url = await serve(
    () => undefined,
    100,
    () => {
      asked.resolve();
      return new Promise(() => undefined);
    },
  );
  const socket = new WebSocket(url, 'test', { headers: { authorization: 'Bearer x' } });
  let isClosed = false;
  socket.on('error', () => undefined).on('close', () => (isClosed = true));
  await asked.promise;
  sockets?.[Symbol.dispose]();
  await expect.poll(() => isClosed).toBe(true);
});

test('no socket is served whose callers could lose their right to it unseen', () => {
  const routes = [{ operation: { ...operation, callers: ['session'] as const }, open: () => undefined }];
  expect(() => new Sockets({ routes } as never)).toThrow('whose rights nobody watches');
});
