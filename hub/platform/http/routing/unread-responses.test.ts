import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { AppError } from '../../../../shared/errors.ts';
import { until } from '../../../../test/fixtures/until.ts';
import { MemoryBudget } from '../../process/memory-budget.ts';
import { guardConnections } from './connections.ts';
import { countUnreadResponse } from './unread-responses.ts';

const mib = 1024 * 1024;

/** Responds for the owner that the path names; with 429 when the response is refused. */
async function serve(memory: MemoryBudget, endAfterMs: number, bytes = 8 * mib) {
  const body = Buffer.alloc(bytes, 'x');
  const server = createServer((request, response) => {
    try {
      countUnreadResponse(response, {
        memory,
        owner: request.url as string,
        bytes: body.length,
        isRefusable: request.method === 'GET',
        endAfterMs,
      });
      response.end(body);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      response.writeHead(429).end(error.code);
    }
  });
  guardConnections(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async stall(path: string, method = 'GET'): Promise<Socket> {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      const before = memory.counts.used;
      socket.write(`${method} ${path} HTTP/1.1\r\nHost: hub\r\nContent-Length: 0\r\n\r\n`);
      socket.pause();
      await until(
        () => memory.counts.used > before,
        () => 'the response was not counted',
      );
      return socket;
    },
  };
}

test('large responses are refused only to an owner with too many unread ones, and only until they are read', async () => {
  const memory = new MemoryBudget({ limitBytes: 32 * mib, waitMs: 1_000 });
  const { url, stall } = await serve(memory, 60_000);
  const status = async (path: string) => {
    const response = await fetch(url + path);
    await response.arrayBuffer();
    return response.status;
  };
  const stalled = [await stall('/a'), await stall('/a')];
  expect(await status('/a')).toBe(429);
  expect(await status('/b')).toBe(200);
  for (const socket of stalled) socket.resume();
  await expect.poll(() => memory.counts).toEqual({ used: 0, workspaces: 0 });
  expect(await status('/a')).toBe(200);
  for (const socket of stalled) socket.destroy();
});

test('responses to pipelined requests of one connection are all counted', async () => {
  const memory = new MemoryBudget({ limitBytes: 64 * mib, waitMs: 1_000 });
  const { url } = await serve(memory, 60_000);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  socket.write('GET /a HTTP/1.1\r\nHost: hub\r\n\r\n'.repeat(3));
  await expect.poll(() => memory.counts.used).toBe(24 * mib);
  socket.destroy();
  await expect.poll(() => memory.counts).toEqual({ used: 0, workspaces: 0 });
});

test('the response to a write is never refused', async () => {
  const memory = new MemoryBudget({ limitBytes: 32 * mib, waitMs: 1_000 });
  const { url, stall } = await serve(memory, 60_000);
  const stalled = [await stall('/a', 'POST'), await stall('/a', 'POST')];
  const done = await fetch(`${url}/a`, { method: 'POST' });
  expect([done.status, (await done.arrayBuffer()).byteLength]).toEqual([200, 8 * mib]);
  for (const socket of stalled) socket.destroy();
});

test('a connection whose client stops reading is closed and releases its memory; a slow client continues', async () => {
  const bytes = 48 * mib;
  const memory = new MemoryBudget({ limitBytes: 4 * bytes, waitMs: 1_000 });
  const { stall } = await serve(memory, 12_000, bytes);
  const stalled = await stall('/a');
  const slow = await stall('/b');
  let length = 0;
  // Node.js sees progress only when a third of the kernel's send buffer is free, which is about 20 chunks. The slow
  // client reads about 600 chunks in the 12 s, so that it progresses on a busy machine, too. Before the other connection
  // ends it reads less than the whole response, which is about 770.
  let pauseMs = 20;
  slow.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (pauseMs === 0) return;
    slow.pause();
    setTimeout(() => slow.resume(), pauseMs);
  });
  slow.resume();
  const slowEnded = once(slow, 'close');
  await expect.poll(() => memory.counts.workspaces).toBe(1);
  pauseMs = 0;
  await expect.poll(() => length).toBeGreaterThan(bytes);
  await expect.poll(() => memory.counts.workspaces).toBe(0);
  slow.destroy();
  stalled.destroy();
  await slowEnded;
});

test('a connection whose client stops reading in the second of two pipelined responses is closed as well', async () => {
  const memory = new MemoryBudget({ limitBytes: 64 * mib, waitMs: 1_000 });
  // The limit also holds for the part that is read.
  const { url } = await serve(memory, 8_000);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  let length = 0;
  socket.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > 8 * mib + 10_000) socket.pause();
  });
  socket.write('GET /a HTTP/1.1\r\nHost: hub\r\n\r\n'.repeat(2));
  await expect.poll(() => length).toBeGreaterThan(8 * mib + 10_000);
  await expect.poll(() => memory.counts.used).toBe(0);
  socket.destroy();
});
