import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { unawaited } from '../../../../test/fixtures/unawaited.ts';
import { streamEvents } from './event-stream.ts';

const lineBytes = 64 * 1024;

/** Serves an event stream. Returns the number of produced lines, a promise for its end, and a connected socket. */
async function serveLines(lines: number, stallMs: number) {
  const produced = { lines: 0 };
  const ended = Promise.withResolvers<void>();
  const server = createServer((_request, response) => {
    const disconnected = new AbortController();
    response.on('close', () => disconnected.abort());
    unawaited(
      streamEvents(response, disconnected.signal, { maxSeconds: 600, stallMs }, async (stream) => {
        const line = 'x'.repeat(lineBytes);
        while (!stream.signal.aborted && produced.lines < lines) {
          produced.lines += 1;
          await stream.send('line', line);
        }
      }).then(ended.resolve),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  return { produced, ended: ended.promise, socket };
}

test('a client that does not read pauses the producer, and is disconnected after the stall time-out', async () => {
  const { produced, ended, socket } = await serveLines(4_000, 300);
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await ended;
  // At most the buffers of the two ends of the connection were filled.
  expect(produced.lines * lineBytes).toBeLessThan(64 * 1024 * 1024);
});

test('a client that reads slowly receives everything', async () => {
  const { produced, ended, socket } = await serveLines(400, 10_000);
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    socket.pause();
    setTimeout(() => socket.resume(), 1);
  });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await ended;
  expect(produced.lines).toBe(400);
  await expect.poll(() => bytes).toBeGreaterThan(400 * lineBytes);
});
