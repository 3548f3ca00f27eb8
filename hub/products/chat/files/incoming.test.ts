import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, test } from 'vitest';
import { AppError } from '../../../../shared/errors.ts';
import { IncomingFiles } from './incoming.ts';
import type { IncomingLimits } from './incoming.ts';
import type { UploadOwner } from './upload-shares.ts';

/** A test server that reads uploads. The path names the sender; each upload stays open until more bytes arrive. */
async function receiver(limits: Partial<IncomingLimits>) {
  const incoming = new IncomingFiles(limits);
  const never = new AbortController().signal;
  const server = createServer((request, response) => {
    const owner = JSON.parse(decodeURIComponent(request.url?.slice(1) ?? '')) as UploadOwner;
    incoming
      .read({ request: request as Parameters<IncomingFiles['read']>[0]['request'] }, owner, never)
      .then((file) => {
        using read = file;
        response.end(`read ${read.bytes.length} bytes`);
      })
      .catch((error: unknown) => response.end(error instanceof AppError ? error.message : String(error)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets: Socket[] = [];
  const receiving = {
    /**
     * Starts an upload and sends all bytes except the `missing` ones. A chunked upload sends none. `receivedText` contains
     * the response.
     */
    begin(
      { tenantId = 'a', sentBy = 'visitor:a', address = '192.0.2.1' }: Partial<UploadOwner>,
      bytes: number | 'chunked',
      missing = 1,
    ) {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      sockets.push(socket);
      const upload = { socket, receivedText: '' };
      socket.on('error', () => undefined).on('data', (data) => (upload.receivedText += data.toString()));
      const path = encodeURIComponent(JSON.stringify({ tenantId, sentBy, address }));
      socket.write(
        `POST /${path} HTTP/1.1\r\nHost: a\r\n${
          bytes === 'chunked'
            ? 'Transfer-Encoding: chunked\r\n\r\n'
            : `Content-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes - missing)}`
        }`,
      );
      return upload;
    },
    /** Sends a complete file and returns the response. */
    async send(owner: Partial<UploadOwner>, bytes: number) {
      const upload = receiving.begin(owner, bytes, 0);
      await expect.poll(() => upload.receivedText).toMatch(/\r\n\r\n./);
      return upload.receivedText;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return receiving;
}

test.each([
  ['sender', { maxPerSender: 2 }, {}, { sentBy: 'visitor:b' }],
  ['address', { maxPerAddress: 2 }, { sentBy: 'visitor:b' }, { sentBy: 'visitor:b', address: '192.0.2.2' }],
  ['workspace', { maxWorkspaceReservedBytes: 2_500 }, { sentBy: 'visitor:b' }, { tenantId: 'b' }],
  ['hub', { maxReservedBytes: 2_500 }, { tenantId: 'b' }, null],
] as const)(
  'one %s cannot exceed its share, others still get theirs, and finished uploads release their memory',
  async (whose, limits, same, other) => {
    await using receiving = await receiver(limits);
    const started = [receiving.begin({}, 1_000), receiving.begin({}, 1_000)];
    const isRefused = expect.stringMatching(`Too many files are being sent at once .*this ${whose};`) as string;
    await expect.poll(() => receiving.send(same, 900)).toEqual(isRefused);
    if (other !== null) expect(await receiving.send(other, 900)).toContain('read 900 bytes');
    started[0]?.socket.destroy();
    await expect.poll(() => receiving.send(same, 900)).toContain('read 900 bytes');
  },
);

test.each([
  ['the minimum rate', { rateIntervalMs: 100, minBytesPerSecond: 1_000 }],
  ['the time limit', { deadlineMs: 300 }],
])('%s also applies to a client that keeps its connection busy without sending the file', async (_which, limits) => {
  await using receiving = await receiver({ ...limits, maxPerSender: 1 });
  const busy = receiving.begin({}, 'chunked');
  busy.socket.write(`1f4\r\n${'x'.repeat(500)}\r\n1;`);
  const trickle = setInterval(() => busy.socket.write('extension'), 20);
  await expect.poll(() => busy.receivedText).toContain('took too long to arrive');
  clearInterval(trickle);
  // On a busy machine, a whole file can miss the limit as well.
  await expect.poll(() => receiving.send({}, 1_000)).toContain('read 1000 bytes');
});

test('an upload below the minimum rate is aborted and releases its reserved memory', async () => {
  await using receiving = await receiver({ rateIntervalMs: 100, minBytesPerSecond: 1_000, maxPerSender: 1 });
  const slow = receiving.begin({}, 1_000, 900);
  const trickle = setInterval(() => slow.socket.write('x'), 50);
  await expect.poll(() => slow.receivedText).toContain('took too long to arrive');
  clearInterval(trickle);
  // On a busy machine, a whole file can miss the limit as well.
  await expect.poll(() => receiving.send({}, 1_000)).toContain('read 1000 bytes');
});
