import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { streamEvents } from './event-stream.ts';

const lineBytes = 64 * 1024;

/** Serves a stream of lines without end; answers how much of it was made, and the end of each stream. */
async function serveLines(lines: number, stallMs: number) {
  const made = { lines: 0 };
  const ended = Promise.withResolvers<void>();
  const server = createServer((_request, response) => {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    void streamEvents(response, gone.signal, { maxSeconds: 600, stallMs }, async (stream) => {
      const line = 'x'.repeat(lineBytes);
      while (!stream.signal.aborted && made.lines < lines) {
        made.lines += 1;
        await stream.send('line', line);
      }
    }).then(ended.resolve);
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
  return { made, ended: ended.promise, socket };
}

test('a reader that takes nothing holds up the rows, and is cut off when it stays like that', async () => {
  const { made, ended, socket } = await serveLines(4_000, 300);
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await ended;
  // What the two ends of a connection keep themselves is all that was made.
  expect(made.lines * lineBytes).toBeLessThan(64 * 1024 * 1024);
});

test('a reader that is slow, but reads, gets everything', async () => {
  const { made, ended, socket } = await serveLines(400, 300);
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    socket.pause();
    setTimeout(() => socket.resume(), 1);
  });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await ended;
  expect(made.lines).toBe(400);
  await expect.poll(() => bytes).toBeGreaterThan(400 * lineBytes);
});
