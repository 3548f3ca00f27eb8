import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isPublicAddress } from './addresses.ts';
import { createEgress, EgressFailed, EgressRefused } from './egress.ts';

const seen: { url: string; headers: IncomingMessage['headers']; method: string }[] = [];
const server = createServer((request: IncomingMessage, response: ServerResponse) => {
  seen.push({ url: request.url ?? '', headers: request.headers, method: request.method ?? '' });
  const url = new URL(request.url ?? '/', 'http://x');
  const to = url.searchParams.get('to');
  if (to !== null) response.writeHead(Number(url.searchParams.get('code') ?? 302), { location: to }).end();
  else if (url.pathname === '/large') response.end('x'.repeat(10_000));
  else if (url.pathname !== '/hang') response.end('ok');
});
let port: number;
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, done));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const request = {
  method: 'POST' as const,
  headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
  body: '{}',
  signal: new AbortController().signal,
  timeoutMs: 30_000,
  maxResponseBytes: 1_000,
};

describe('the egress guard', () => {
  test.each([
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '127.0.0.1',
    '0.0.0.0',
    '169.254.169.254',
    '100.64.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    'nonsense',
  ])('does not count %s as a public address', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111'])('counts %s as a public address', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    ['http://[fd00::1]:8080/v1', '[fd00::1]:8080'],
    ['http://[fd00::1]:8080/v1', '[fd00::1]'],
    ['http://[fd00::1]:8080/v1', 'fd00::1'],
    ['http://model.internal.:8080/v1', 'model.internal.:8080'],
    ['http://model.internal.:8080/v1', 'model.internal'],
  ])('allows requests to %s when allowHosts contains %s', async (address, named) => {
    await using egress = createEgress({ allowHosts: [named] });
    expect(() => egress.check(address)).not.toThrow();
    for (const other of ['http://[fd00::2]:8080/v1', 'http://[::1]:8080/v1', 'http://internal:8080/v1'])
      expect(() => egress.check(other)).toThrow(EgressRefused);
  });

  test('knows names that lead to this machine or its network without resolving them, unless they are allowed', async () => {
    await using egress = createEgress({ allowHosts: ['push.internal'] });
    for (const host of [
      'localhost',
      'a.localhost',
      'LOCALHOST.',
      'printer.local',
      'a.internal',
      'a.home.arpa',
      'intranet',
    ])
      expect(() => egress.checkPublic(`https://${host}/a`), host).toThrow(
        /leads to a private, local or reserved address/,
      );
    for (const host of ['push.internal', 'local.example.com', 'internal.example', '8.8.8.8', '[2606:4700:4700::1111]'])
      expect(() => egress.checkPublic(`https://${host}/a`), host).not.toThrow();
    expect(() => egress.checkPublic('http://push.example.com/a')).toThrow(EgressRefused);
  });

  test('checks the address that a connection uses, so that DNS rebinding is refused', async () => {
    let lookups = 0;
    // The resolver returns another private address at the second look-up.
    await using egress = createEgress({
      allowHosts: [],
      resolve: async () => {
        lookups += 1;
        return [{ address: lookups === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
      },
    });
    const before = seen.length;
    for (let attempt = 0; attempt < 3; attempt += 1)
      await expect(egress.fetch(`https://rebound.example:${port}/`, request)).rejects.toThrow(EgressRefused);
    expect(lookups).toBe(3);
    expect(seen.length).toBe(before);
    await using mixed = createEgress({
      allowHosts: [],
      resolve: async () => [
        { address: '8.8.8.8', family: 4 },
        { address: '192.168.0.1', family: 4 },
      ],
    });
    await expect(mixed.fetch('https://mixed.example/', request)).rejects.toThrow(/private, local or reserved/);
  });

  test.each([
    'https://0x7f.1/',
    'https://017700000001/',
    'https://2130706433/',
    'https://127.1/',
    'https://[::ffff:7f00:1]/',
    'https://127.0.0.1./',
    'http://example.org/',
    'gopher://example.org/',
    'https://a:b@example.org/',
    '/relative',
    '',
  ])('refuses %s without a DNS query', async (url) => {
    await using egress = createEgress({ allowHosts: [], resolve: async () => Promise.reject(new Error('asked')) });
    await expect(egress.fetch(url, request)).rejects.toThrow(EgressRefused);
  });

  test('allows named hosts, checks each redirect, and does not send custom headers to another host', async () => {
    const serverHost = `127.0.0.1:${port}`;
    await using egress = createEgress({ allowHosts: [serverHost, `localhost:${port}`] });
    expect((await egress.fetch(`http://${serverHost}/`, request)).body.toString()).toBe('ok');
    await expect(egress.fetch(`http://${serverHost}/?to=http://[::1]:${port}/`, request)).rejects.toThrow(
      EgressRefused,
    );
    await expect(egress.fetch(`http://${serverHost}/?to=https://169.254.169.254/latest`, request)).rejects.toThrow(
      EgressRefused,
    );
    await egress.fetch(`http://${serverHost}/?to=http://localhost:${port}/other`, request);
    expect(seen.at(-1)).toMatchObject({ url: '/other', method: 'GET' });
    expect(seen.at(-1)?.headers.authorization).toBeUndefined();
    await egress.fetch(`http://${serverHost}/?code=307&to=/same`, request);
    expect(seen.at(-1)).toMatchObject({ url: '/same', method: 'POST', headers: { authorization: 'Bearer x' } });
  });

  test('limits time and size, and names the host that did not answer', async () => {
    const serverHost = `127.0.0.1:${port}`;
    await using egress = createEgress({ allowHosts: [serverHost, '127.0.0.1:1'] });
    await expect(egress.fetch(`http://${serverHost}/large`, request)).rejects.toThrow(/more than 1000 bytes/);
    await expect(egress.fetch(`http://${serverHost}/hang`, { ...request, timeoutMs: 200 })).rejects.toThrow(
      /did not answer within 0.2 s/,
    );
    await expect(egress.fetch('http://127.0.0.1:1/', request)).rejects.toThrow(EgressFailed);
    const stop = new AbortController();
    const stopped = egress.fetch(`http://${serverHost}/hang`, { ...request, signal: stop.signal });
    stop.abort(new Error('withdrawn'));
    await expect(stopped).rejects.toThrow('withdrawn');
  });
});
