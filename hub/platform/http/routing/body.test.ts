import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { Operation } from '../../../../shared/contract/define.ts';
import { BodyBuffer, readJsonBody } from './body.ts';
import { toAppError } from './errors.ts';

const admitted = {
  beforeRead: () => Promise.resolve(),
  reserve: () => Promise.resolve(),
  beforeParse: () => Promise.resolve(),
};
const operation = { callers: ['token'] } as unknown as Operation;

/** Bytes of heap and buffers in use, after a garbage collection. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

test('a body that arrives byte by byte uses at most a few times its length in memory', async () => {
  const text = 'a'.repeat(100_000);
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
  const firstPart = [head, ...[...`"${text}`].map((letter) => `1\r\n${letter}\r\n`)].join('');
  let serverSocket: Socket | undefined;
  const read = Promise.withResolvers<unknown>();
  await using server = createServer((request, response) => {
    serverSocket = request.socket;
    read.resolve(
      readJsonBody(request as Parameters<typeof readJsonBody>[0], operation, admitted).finally(() => response.end()),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sending = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
  const before = usedBytes();
  sending.write(firstPart);
  await expect.poll(() => serverSocket?.bytesRead).toBe(firstPart.length);
  expect(usedBytes() - before).toBeLessThan(16 * 1024 * 1024);
  sending.end('1\r\n"\r\n0\r\n\r\n');
  expect(await read.promise).toMatchObject({ value: text });
});

test('the buffer of a body has at most twice the received length, and never more than its limit', () => {
  const buffer = new BodyBuffer(1_000);
  for (let count = 1; count <= 1_000; count += 1) {
    buffer.add(Buffer.from([count % 256]));
    expect(buffer.capacityWith(0)).toBeLessThanOrEqual(Math.min(1_000, 2 * count));
  }
  expect(buffer.bytes()).toEqual(Buffer.from(Array.from({ length: 1_000 }, (_, index) => (index + 1) % 256)));
});

test('a connection reset within a body is reported as an error of the caller, not as an outage of the database', async () => {
  const read = Promise.withResolvers<unknown>();
  await using server = createServer((request) => {
    const body = readJsonBody(request as Parameters<typeof readJsonBody>[0], operation, admitted);
    body.then(read.resolve, (error: unknown) => read.resolve(toAppError(error)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sending = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sending.on('error', () => undefined);
  await once(server, 'connection');
  sending.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"half":');
  await once(server, 'request');
  sending.resetAndDestroy();
  expect(await read.promise).toMatchObject({ code: 'validation_failed' });
});
