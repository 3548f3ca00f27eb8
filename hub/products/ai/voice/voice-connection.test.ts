import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../../platform/clock.ts';
import { systemClock } from '../../../platform/clock.ts';
import { VoiceConnection } from './voice-connection.ts';

/** Returns a page that does not read, and the connection of the hub to it. */
async function unreadingPage(clock: Clock) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const opened = once(server, 'connection') as Promise<[WebSocket]>;
  const page = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  let code: number | null = null;
  page.on('close', (closeCode) => (code = closeCode));
  onTestFinished(() => {
    page.terminate();
    server.close();
  });
  const [[socket]] = await Promise.all([opened, once(page, 'open')]);
  page.pause();
  return {
    page,
    connection: new VoiceConnection({ socket, requestId: 'r' }, { clock, logger: pino({ level: 'silent' }) }),
    socket,
    closedBy: () => code,
  };
}

const turnId = '0199ffff-0000-7000-8000-000000000000';
const megabyte = { type: 'audio', turnId, data: 'A'.repeat(1024 * 1024), sampleRate: 24_000 } as const;

test('a connection whose page does not read is closed before its buffer fills the memory', async () => {
  const { page, connection, socket, closedBy } = await unreadingPage(systemClock);
  for (let count = 0; count < 100 && connection.isOpen; count += 1) connection.send(megabyte);
  expect(connection.isOpen).toBe(false);
  expect(socket.bufferedAmount).toBeLessThan(16 * 1024 * 1024);
  page.resume();
  await expect.poll(closedBy).toBe(4408);
});

test('waitUntilDrained blocks while a page reads nothing, and closes its connection after 10 seconds', async () => {
  let now = 0;
  const waits: (() => void)[] = [];
  const clock: Clock = {
    now: () => now,
    after: (_ms, callback) => {
      waits.push(callback);
      return { [Symbol.dispose]: () => undefined };
    },
  };
  const advance = async (ms: number) => {
    now += ms;
    for (const wait of waits.splice(0)) wait();
    await new Promise(setImmediate);
  };
  const { page, connection, socket, closedBy } = await unreadingPage(clock);
  const { signal } = new AbortController();
  await connection.waitUntilDrained(signal);
  while (socket.bufferedAmount < 512 * 1024) {
    connection.send({ ...megabyte, data: 'A'.repeat(200_000) });
    await new Promise(setImmediate);
  }
  let isDrained = false;
  const drained = connection.waitUntilDrained(signal).then(() => (isDrained = true));
  await advance(9_000);
  expect([isDrained, connection.isOpen]).toEqual([false, true]);
  await advance(2_000);
  await drained;
  expect(connection.isOpen).toBe(false);
  page.resume();
  await expect.poll(closedBy).toBe(4408);
});
