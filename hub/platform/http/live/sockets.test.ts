import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { until } from '../../../../test/fixtures/until.ts';
import { MemoryBudget } from '../../process/memory-budget.ts';
import type { ServingOptions } from '../routing/serve-operation.ts';
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
const ample = new MemoryBudget({ limitBytes: 64 * 1024 * 1024, waitMs: 1_000 });
/** Has capacity for a few messages of 100 bytes. */
const incomingMemory = new MemoryBudget({ limitBytes: 6_000, waitMs: 1_000, largestPart: 1, freeBytes: 500 });

async function serve(
  open: SocketRoute['open'],
  pingMs: number,
  authenticateDevice: ServingOptions['auth']['devices']['authenticate'] = async (nodeId) => ({
    nodeId,
    tenantId: 't',
    secretHash: '',
  }),
  memory = ample,
): Promise<string> {
  const serving = {
    auth: {
      devices: { authenticate: authenticateDevice, confirm: async (device: object) => device, findCached: () => null },
    },
    limitDevice: async () => undefined,
    incomingMemory: memory,
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
  const server = createServer({ shouldUpgradeCallback: (request) => served.handlesUpgrade(request) });
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

test('a socket that does not respond to pings is disconnected, and one that only responds to pings is not', async () => {
  let pings = 0;
  const url = await serve(({ socket }) => socket.on('pong', () => (pings += 1)), 100);
  const alive = await connect(url);
  const dead = await connect(url, { autoPong: false });
  await until(
    () => dead.closed() !== undefined,
    () => 'the dead socket was not disconnected',
  );
  expect(dead.closed()).toBe(1006);
  const before = pings;
  await until(
    () => pings > before + 3,
    () => 'the hub does not ping',
  );
  expect(alive.closed()).toBeUndefined();
});

test('a socket whose client does not read is disconnected when too many bytes are buffered', async () => {
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
    () => 'the bytes are still buffered',
  );
});
/** Opens a WebSocket whose frames the test writes as bytes. */
async function openRaw(url: string): Promise<{ write: (frame: Buffer) => void; closed: Promise<unknown> }> {
  const request = send(url.replace('ws:', 'http:'), {
    headers: {
      authorization: 'Bearer x',
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.alloc(16, 1).toString('base64'),
      'sec-websocket-protocol': 'test',
    },
  });
  request.end();
  const [, connection] = (await once(request, 'upgrade')) as [unknown, Socket];
  onTestFinished(() => void connection.destroy());
  connection.on('error', () => undefined);
  connection.resume();
  return { write: (frame) => void connection.write(frame), closed: once(connection, 'close') };
}

/** A frame with a mask of zeros, which does not change the payload. */
const frameOf = (opcode: number, length: number, sent = length) =>
  Buffer.concat([Buffer.from([opcode, 0x80 | length, 0, 0, 0, 0]), Buffer.alloc(sent, 'x')]);
const [wholeText, ping, unfinishedText, continuation] = [0x81, 0x89, 0x01, 0x00];

/** Memory that a message in one chunk uses besides its bytes. */
const overhead = 512;

test('the memory of incomplete messages is limited by workspace', async () => {
  const url = await serve(() => undefined, 60_000, undefined, incomingMemory);
  const stalled: Promise<unknown>[] = [];
  const closed: number[] = [];
  for (let n = 0; n < 12; n += 1) {
    const socket = await openRaw(url);
    stalled.push(socket.closed.then(() => closed.push(n)));
    socket.write(frameOf(wholeText, 100, 90));
  }
  // Half of 6,000 bytes has capacity for five messages; the other half is left to other workspaces.
  await expect.poll(() => closed.length).toBe(7);
  expect(incomingMemory.counts.used).toBe(5 * (90 + overhead));
  const other = incomingMemory.open('another workspace');
  expect(other.tryResize(1_500)).toBe(true);
  other[Symbol.dispose]();
  sockets?.[Symbol.dispose]();
  await Promise.all(stalled);
  await expect.poll(() => incomingMemory.counts).toEqual({ used: 0, workspaces: 0 });
});

test('complete messages and pings use no memory for incomplete messages', async () => {
  let received = 0;
  const url = await serve(
    ({ socket }) => socket.on('message', () => (received += 1)),
    60_000,
    undefined,
    incomingMemory,
  );
  const socket = await openRaw(url);
  for (let n = 0; n < 20; n += 1) {
    socket.write(Buffer.concat([frameOf(wholeText, 90), frameOf(ping, 20), frameOf(ping, 20), frameOf(ping, 20)]));
    await expect.poll(() => received).toBe(n + 1);
    expect(incomingMemory.counts.used).toBe(0);
  }
});

test('pings between the fragments of a message do not reset the count of its bytes', async () => {
  const url = await serve(() => undefined, 60_000, undefined, incomingMemory);
  const socket = await openRaw(url);
  socket.write(Buffer.concat([frameOf(unfinishedText, 50), frameOf(ping, 20), frameOf(continuation, 20)]));
  await expect.poll(() => incomingMemory.counts.used).toBe(70 + 2 * overhead);
});

test('each chunk of a message counts with its overhead', async () => {
  const url = await serve(() => undefined, 60_000, undefined, incomingMemory);
  const socket = await openRaw(url);
  socket.write(frameOf(wholeText, 100, 0));
  for (let n = 1; n <= 4; n += 1) {
    socket.write(Buffer.from('x'));
    await expect.poll(() => incomingMemory.counts.used).toBe(n * (1 + overhead));
  }
});

test('a message in many small fragments closes its socket', async () => {
  const url = await serve(() => undefined, 60_000);
  const socket = await openRaw(url);
  socket.write(
    Buffer.concat([frameOf(unfinishedText, 1), ...Array.from({ length: 60 }, () => frameOf(continuation, 1))]),
  );
  await expect(socket.closed).resolves.toBeDefined();
});

test('a socket that receives bytes is alive, even if a frame takes long', async () => {
  let text = '';
  const url = await serve(({ socket }) => socket.on('message', (data: Buffer) => (text += data.toString())), 1_000);
  const request = send(url.replace('ws:', 'http:'), {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      authorization: 'Bearer x',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'test',
      'sec-websocket-key': Buffer.alloc(16).toString('base64'),
    },
  }).end();
  const [, connection] = (await once(request, 'upgrade')) as [unknown, Socket];
  onTestFinished(() => {
    connection.destroy();
  });
  connection.resume();
  const payload = 'as slow as it may be'.repeat(4);
  const frame = Buffer.concat([Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]), Buffer.from(payload)]);
  for (const byte of frame) {
    connection.write(Buffer.from([byte]));
    await delay(50);
  }
  await expect.poll(() => text).toBe(payload);
});

test('a socket that the hub has paused is not disconnected', async () => {
  let opened = 0;
  const url = await serve(({ socket }) => {
    opened += 1;
    if (opened <= 2) socket.pause();
  }, 50);
  const paused = [await connect(url), await connect(url, { autoPong: false })];
  // Wait until three dead sockets that are not paused were disconnected.
  for (let round = 0; round < 3; round += 1) {
    const dead = await connect(url, { autoPong: false });
    await until(
      () => dead.closed() !== undefined,
      () => 'the dead socket was not disconnected',
    );
  }
  expect(paused.map(({ closed }) => closed())).toEqual([undefined, undefined]);
});

test('disposing closes a connection whose caller is still being authenticated', async () => {
  const authenticating = Promise.withResolvers<void>();
  const url = await serve(
    () => undefined,
    100,
    () => {
      authenticating.resolve();
      return new Promise(() => undefined);
    },
  );
  const socket = new WebSocket(url, 'test', { headers: { authorization: 'Bearer x' } });
  let isClosed = false;
  socket.on('error', () => undefined).on('close', () => (isClosed = true));
  await authenticating.promise;
  sockets?.[Symbol.dispose]();
  await expect.poll(() => isClosed).toBe(true);
});

test('a socket for callers whose access is not monitored is refused at start', () => {
  const routes = [{ operation: { ...operation, callers: ['session'] as const }, open: () => undefined }];
  expect(() => new Sockets({ routes } as never)).toThrow('whose access is not monitored');
});
