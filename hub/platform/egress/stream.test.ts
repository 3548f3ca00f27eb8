import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fastClock } from '../../../test/fixtures/fast-clock.ts';
import { unawaited } from '../../../test/fixtures/unawaited.ts';
import { waitFor } from '../clock.ts';
import { createEgress, EgressFailed, EgressRefused } from './egress.ts';
import type { EgressStreamRequest } from './stream.ts';

let answer: (request: IncomingMessage, response: ServerResponse) => void;
/** Counts of one test. Late events of an earlier test count for that test. */
const emptyCounts = () => ({ requests: 0, closed: 0, sockets: new Set<Socket>() });
let seen = emptyCounts();
const server = createServer((request, response) => {
  const counts = seen;
  counts.requests += 1;
  response.on('close', () => {
    if (!response.writableFinished) counts.closed += 1;
  });
  answer(request, response);
}).on('connection', (socket) => seen.sockets.add(socket));
let serverHost: string;
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  serverHost = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen = emptyCounts();
});

const streamRequest = (more: Partial<EgressStreamRequest> = {}): EgressStreamRequest => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
  body: '{}',
  signal: new AbortController().signal,
  connectTimeoutMs: 5_000,
  firstByteTimeoutMs: 8_000,
  idleTimeoutMs: 10_000,
  timeoutMs: 30_000,
  maxResponseBytes: 10_000_000,
  ...more,
});
const open = () => createEgress({ allowHosts: [serverHost], clock: fastClock(25) });

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof EgressFailed ? error.failure : error),
  );

test('chunks are readable as they arrive, and the connection is reused by the next request', async () => {
  await using egress = open();
  const more = Promise.withResolvers<void>();
  answer = (_request, response) => {
    response.write('one');
    unawaited(more.promise.then(() => response.end('two')));
  };
  for (let round = 0; round < 2; round += 1) {
    const { status, body } = await egress.stream(`http://${serverHost}/`, streamRequest());
    const reader = body.getReader();
    expect(status).toBe(200);
    expect(Buffer.from((await reader.read()).value as Uint8Array).toString()).toBe('one');
    more.resolve();
    reader.releaseLock();
    expect(await textOf(body)).toBe('two');
  }
  expect([seen.requests, seen.sockets.size]).toEqual([2, 1]);
});

test('each phase without data has its own time limit', async () => {
  await using egress = createEgress({
    allowHosts: [serverHost],
    clock: fastClock(25),
    resolve: () => new Promise(() => undefined),
  });
  expect(await failureOf(egress.stream('https://silent.example/', streamRequest()))).toBe('connect_timeout');
  answer = () => undefined;
  expect(await failureOf(egress.stream(`http://${serverHost}/`, streamRequest()))).toBe('first_byte_timeout');
  answer = (_request, response) => response.flushHeaders();
  const headersOnly = await egress.stream(`http://${serverHost}/`, streamRequest());
  expect(await failureOf(textOf(headersOnly.body))).toBe('first_byte_timeout');
  answer = (_request, response) => void response.write('one');
  const afterFirstByte = await egress.stream(`http://${serverHost}/`, streamRequest());
  expect(await failureOf(textOf(afterFirstByte.body))).toBe('idle_timeout');
  answer = (_request, response) => {
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
  };
  const endless = await egress.stream(`http://${serverHost}/`, streamRequest());
  expect(await failureOf(textOf(endless.body))).toBe('timeout');
  await expect.poll(() => seen.closed).toBe(4);
});

test('a response that is cut off or too large fails, and its connection is closed', async () => {
  await using egress = open();
  answer = (_request, response) => {
    response.write('one');
    setImmediate(() => response.destroy());
  };
  const broken = await egress.stream(`http://${serverHost}/`, streamRequest());
  expect(await failureOf(textOf(broken.body))).toBe('reset');
  answer = (_request, response) => void response.write('x'.repeat(2_000));
  const large = await egress.stream(`http://${serverHost}/`, streamRequest({ maxResponseBytes: 1_000 }));
  expect(await failureOf(textOf(large.body))).toBe('too_large');
  await expect.poll(() => seen.closed).toBe(2);
});

test.each(['connecting', 'waiting', 'reading'] as const)('aborting while %s closes the connection', async (when) => {
  await using egress = createEgress({ allowHosts: [serverHost], resolve: () => new Promise(() => undefined) });
  answer = (_request, response) => void (when === 'reading' && response.write('one'));
  const stop = new AbortController();
  const url = when === 'connecting' ? 'https://silent.example/' : `http://${serverHost}/`;
  const pending = egress.stream(url, streamRequest({ signal: stop.signal }));
  const withdraw = () => stop.abort(new Error('withdrawn'));
  const ends = async () => {
    if (when !== 'reading') return pending;
    const reader = (await pending).body.getReader();
    await reader.read();
    setImmediate(withdraw);
    return reader.read();
  };
  const end = ends();
  if (when === 'connecting') withdraw();
  if (when === 'waiting') {
    await expect.poll(() => seen.requests).toBe(1);
    withdraw();
  }
  await expect(end).rejects.toThrow('withdrawn');
  await expect.poll(() => seen.closed).toBe(when === 'connecting' ? 0 : 1);
  await expect(egress.stream(url, streamRequest({ signal: stop.signal }))).rejects.toThrow('withdrawn');
});

test('cancelling the reader early closes the connection', async () => {
  await using egress = open();
  answer = (_request, response) => void response.write('one');
  const { body } = await egress.stream(`http://${serverHost}/`, streamRequest());
  const reader = body.getReader();
  await reader.read();
  await reader.cancel();
  await expect.poll(() => seen.closed).toBe(1);
});

test('cancelling a response that ends at the same moment does not throw', async () => {
  await using egress = open();
  answer = (_request, response) => void response.end('one');
  for (let count = 0; count < 5; count += 1) {
    const { body } = await egress.stream(`http://${serverHost}/`, streamRequest());
    await body.cancel();
  }
  // An exception in an event handler fails the whole test run.
  expect(seen.requests).toBe(5);
});

test('a slow reader pauses the sender and does not trigger the idle timeout', async () => {
  const clock = fastClock(25);
  await using egress = createEgress({ allowHosts: [serverHost], clock });
  const size = 64 * 1024;
  const piece = Buffer.alloc(size, 'x');
  // Many times the socket buffers of both ends, which are about 36 MiB on Linux.
  const pieces = 4_000;
  let sent = 0;
  answer = (_request, response) => {
    const send = () => {
      while (sent < pieces * size) {
        sent += size;
        if (!response.write(piece)) {
          response.once('drain', send);
          return;
        }
      }
      response.end();
    };
    send();
  };
  const { body } = await egress.stream(`http://${serverHost}/`, streamRequest({ timeoutMs: 600_000 }));
  const reader = body.getReader();
  await reader.read();
  // Longer than the idle timeout.
  await waitFor(clock, 15_000, new AbortController().signal);
  expect(sent).toBeLessThan(pieces * size);
  let received = 0;
  reader.releaseLock();
  for await (const chunk of body) {
    received += chunk.length;
    if (received > 100 * size) break;
  }
  expect(received).toBeGreaterThan(100 * size);
});

test('the guard checks the address of a stream, and redirects are not followed', async () => {
  await using egress = createEgress({
    allowHosts: [serverHost],
    resolve: async () => [{ address: '10.0.0.1', family: 4 }],
  });
  await expect(egress.stream('https://rebound.example/', streamRequest())).rejects.toThrow(EgressRefused);
  await expect(egress.stream('https://169.254.169.254/', streamRequest())).rejects.toThrow(EgressRefused);
  await expect(egress.stream('http://example.org/', streamRequest())).rejects.toThrow(EgressRefused);
  answer = (_request, response) => void response.writeHead(307, { location: `http://${serverHost}/other` }).end();
  const { status, headers } = await egress.stream(`http://${serverHost}/`, streamRequest());
  expect([status, headers['location'], seen.requests]).toEqual([307, `http://${serverHost}/other`, 1]);
});
