import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { resolvePublicName } from './resolve.ts';

/**
 * The address records of a name; null for a name that is never answered, an empty object for one that does not exist.
 */
type Records = { 1?: readonly number[]; 28?: readonly number[] } | null;

/** Starts a name server that answers with the records of `recordsOf`. */
async function startNameServer(recordsOf: (name: string) => Records): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] as number; length > 0; length = query[at] as number) {
      labels.push(query.subarray(at + 1, at + 1 + length).toString());
      at += 1 + length;
    }
    const type = query.readUInt16BE(at + 1);
    const records = recordsOf(labels.join('.').toLowerCase());
    if (records === null) return;
    const bytes = type === 1 ? records[1] : type === 28 ? records[28] : undefined;
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(records[1] === undefined && records[28] === undefined ? 0x8183 : 0x8180, 2);
    for (const [field, count] of [1, bytes === undefined ? 0 : 1, 0, 0].entries())
      head.writeUInt16BE(count, 4 + 2 * field);
    const record = bytes === undefined ? [] : [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 1, 0, bytes.length, ...bytes];
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), Buffer.from(record)]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return `127.0.0.1:${(socket.address() as AddressInfo).port}`;
}

const ipv6 = [0x26, 0x06, 0x47, 0, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x11];

test('resolving a name returns its addresses of both families', async () => {
  const server = await startNameServer(() => ({ 1: [8, 8, 8, 8], 28: ipv6 }));
  expect(await resolvePublicName('both.example.org', [server])).toEqual([
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700:4700::1111', family: 6 },
  ]);
});

test('resolving a name with addresses of one family succeeds, and a missing name fails with ENOTFOUND', async () => {
  const server = await startNameServer((name) => (name === 'one.example.org' ? { 1: [8, 8, 4, 4] } : {}));
  expect(await resolvePublicName('one.example.org', [server])).toEqual([{ address: '8.8.4.4', family: 4 }]);
  await expect(resolvePublicName('none.example.org', [server])).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('100 names whose name server does not answer do not delay another look-up', async () => {
  const server = await startNameServer((name) => (name.endsWith('.silent.test') ? null : { 1: [8, 8, 8, 8] }));
  let settledCount = 0;
  const silent = Array.from({ length: 100 }, (_value, n) =>
    resolvePublicName(`n${n}.silent.test`, [server]).catch((error: unknown) => {
      settledCount += 1;
      return error;
    }),
  );
  expect(await resolvePublicName('quick.example.org', [server])).toEqual([{ address: '8.8.8.8', family: 4 }]);
  expect(settledCount, 'the queries without an answer are still pending').toBe(0);
  for (const error of await Promise.all(silent)) expect(error).toMatchObject({ code: 'ETIMEOUT' });
});

test('a name without a dot is resolved by the operating system', async () => {
  const server = await startNameServer(() => ({ 1: [8, 8, 8, 8] }));
  const addresses = (await resolvePublicName('localhost', [server])).map(({ address }) => address);
  expect(addresses).toContain('127.0.0.1');
});
