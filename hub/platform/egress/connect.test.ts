import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../../test/fixtures/free-port.ts';
import { startRegistrar } from '../../../test/fixtures/sip-registrar.ts';
import type { SipRegistrar } from '../../../test/fixtures/sip-registrar.ts';
import { createEgress, EgressFailed, EgressRefused } from './egress.ts';
import type { EgressOptions } from './egress.ts';

let udp: SipRegistrar;
let tcp: SipRegistrar;
beforeAll(async () => {
  [udp, tcp] = await Promise.all([startRegistrar({ transport: 'udp' }), startRegistrar({ transport: 'tcp' })]);
});
afterAll(() => Promise.all([udp, tcp].map((each) => each[Symbol.asyncDispose]())));

const loopback = [{ address: '127.0.0.1', family: 4 }];
const request = (port: number | null, more: object = {}) => ({
  transport: 'tcp' as const,
  host: 'carrier.example',
  port,
  service: '_sip._tcp',
  servicePort: 5060,
  firstCandidate: 0,
  signal: new AbortController().signal,
  timeoutMs: 30_000,
  onData: () => undefined,
  onFailed: () => undefined,
  ...more,
});
const open = (options: Partial<EgressOptions> = {}) =>
  createEgress({ allowHosts: ['carrier.example', 'one.example'], resolve: async () => loopback, ...options });
const options = 'OPTIONS sip:a SIP/2.0\r\nCSeq: 1 OPTIONS\r\n\r\n';

test.each(['udp', 'tcp'] as const)(
  'a connection by %s carries bytes both ways, with one DNS query',
  async (transport) => {
    let lookups = 0;
    await using egress = open({ resolve: async () => ((lookups += 1), loopback) });
    const { port } = transport === 'udp' ? udp : tcp;
    const received: string[] = [];
    using connection = await egress.connect(
      request(port, { transport, onData: (bytes: Buffer) => received.push(bytes.toString()) }),
    );
    expect(connection.remote).toEqual({ address: '127.0.0.1', port });
    expect(connection.local).toMatchObject({ address: '127.0.0.1', port: expect.any(Number) });
    for (let times = 1; times <= 3; times += 1) {
      connection.send(Buffer.from(options));
      await expect.poll(() => received.length).toBe(times);
    }
    expect(received[0]).toContain('405');
    expect(lookups).toBe(1);
  },
);

test('connecting to a non-public address is refused unless EGRESS_ALLOW_HOSTS contains the host', async () => {
  await using egress = open({ allowHosts: [`named.example:${tcp.port}`] });
  for (const transport of ['udp', 'tcp', 'tls'])
    await expect(egress.connect(request(tcp.port, { transport }))).rejects.toThrow(EgressRefused);
  for (const host of ['127.0.0.1', '127.1', '0x7f.1', '2130706433', '::1', '::ffff:7f00:1', '169.254.169.254']) {
    expect(() => egress.checkHost(host, tcp.port)).toThrow(EgressRefused);
    await expect(egress.connect(request(tcp.port, { host }))).rejects.toThrow(EgressRefused);
  }
  const half = [{ address: '8.8.8.8', family: 4 }, ...loopback];
  await using mixed = open({ allowHosts: [], resolve: async () => half });
  await expect(mixed.connect(request(tcp.port))).rejects.toThrow(EgressRefused);
  using _named = await egress.connect(request(tcp.port, { host: 'named.example' }));
  await expect(egress.connect(request(tcp.port + 1, { host: 'named.example' }))).rejects.toThrow(EgressRefused);
});

test('a service is found by its SRV records, and each of their hosts is checked', async () => {
  const records = [
    { name: 'two.example', port: tcp.port, priority: 20, weight: 0 },
    { name: 'one.example', port: tcp.port, priority: 10, weight: 0 },
  ];
  const lookups: string[] = [];
  const resolve = async (host: string) => (lookups.push(host), loopback);
  await using inside = open({ resolve, resolveSrv: async () => records });
  await expect(inside.connect(request(null))).rejects.toThrow(/two\.example is refused/);
  expect(lookups).toEqual(['one.example', 'two.example']);
  await using found = open({ resolve, resolveSrv: async () => records.slice(1) });
  using connection = await found.connect(request(null));
  expect(connection.remote.port).toBe(tcp.port);
  await using none = open({ resolve, resolveSrv: () => Promise.reject(new Error('ENOTFOUND')) });
  using itself = await none.connect(request(null, { servicePort: tcp.port }));
  expect(itself.remote.port).toBe(tcp.port);
});

test('a service with 50 hosts causes at most eight look-ups, and none after the abort', async () => {
  const lookups: string[] = [];
  const ended = new AbortController();
  const resolveSrv = async () =>
    Array.from({ length: 50 }, (_, index) => ({ name: `h${index}.example`, port: tcp.port, priority: 1, weight: 1 }));
  const resolve = async (host: string) => (lookups.push(host), loopback);
  const allowHosts = Array.from({ length: 50 }, (_, index) => `h${index}.example`);
  await using egress = open({ allowHosts, resolve, resolveSrv });
  using _connection = await egress.connect(request(null));
  expect(lookups).toHaveLength(8);
  const blocked = Promise.withResolvers<void>();
  const slow = async (host: string) => {
    lookups.push(host);
    ended.abort(new Error('over'));
    await blocked.promise;
    return loopback;
  };
  await using ending = open({ allowHosts, resolve: slow, resolveSrv });
  await expect(ending.connect(request(null, { signal: ended.signal }))).rejects.toThrow('over');
  blocked.resolve();
  await new Promise((done) => setImmediate(done));
  expect(lookups).toHaveLength(9);
});

test('when an address refuses the connection, the next candidate is tried, from any first candidate', async () => {
  const closed = await freePort();
  const records = [closed, tcp.port].map((port, priority) => ({ name: 'one.example', port, priority, weight: 0 }));
  await using egress = open({ resolveSrv: async () => records });
  for (const firstCandidate of [0, 1, 2]) {
    using connection = await egress.connect(request(null, { firstCandidate }));
    expect(connection.remote.port).toBe(tcp.port);
  }
});

test('a closed port is reported as refused, over UDP after the first datagram', async () => {
  await using egress = open();
  const closed = await freePort();
  await expect(egress.connect(request(closed))).rejects.toMatchObject({ failure: 'refused' });
  const failures: EgressFailed[] = [];
  using connection = await egress.connect(
    request(closed, { transport: 'udp', onFailed: (failure: EgressFailed) => failures.push(failure) }),
  );
  connection.send(Buffer.from(options));
  await expect.poll(() => failures[0]?.failure).toBe('refused');
});

test('the end of a stream is reported once, and not when the stream is disposed', async () => {
  await using egress = open();
  const failures: string[] = [];
  const onFailed = (failure: EgressFailed) => failures.push(failure.failure);
  const before = tcp.requests.length;
  using connection = await egress.connect(request(tcp.port, { onFailed }));
  connection.send(Buffer.from(options));
  await expect.poll(() => tcp.requests.length).toBeGreaterThan(before);
  tcp.drop();
  await expect.poll(() => failures).toEqual(['reset']);
  const own = await egress.connect(request(tcp.port, { onFailed }));
  own[Symbol.dispose]();
  own.send(Buffer.from(options));
  tcp.drop();
  expect(failures).toEqual(['reset']);
});

test('the preferred local port is used when it is free', async () => {
  await using egress = open();
  const localPort = await freePort();
  const connect = () => egress.connect(request(udp.port, { transport: 'udp', localPort }));
  using first = await connect();
  using second = await connect();
  expect(first.local.port).toBe(localPort);
  expect(second.local.port).not.toBe(localPort);
});

test('connecting rejects with the abort reason, connect_timeout or unresolved', async () => {
  const stop = new AbortController();
  await using silent = open({ resolve: () => new Promise(() => undefined) });
  const pending = silent.connect(request(1, { signal: stop.signal }));
  stop.abort(new Error('withdrawn'));
  await expect(pending).rejects.toThrow('withdrawn');
  await expect(silent.connect(request(1, { signal: stop.signal }))).rejects.toThrow('withdrawn');
  await expect(silent.connect(request(1, { timeoutMs: 20 }))).rejects.toMatchObject({ failure: 'connect_timeout' });
  const unknown = Object.assign(new Error('no'), { code: 'ENOTFOUND' });
  await using lost = open({ resolve: () => Promise.reject(unknown) });
  await expect(lost.connect(request(1))).rejects.toMatchObject({ failure: 'unresolved' });
  // An unhandled rejection would end the process and fail this test.
  await expect(lost.connect(request(1, { signal: stop.signal }))).rejects.toThrow('withdrawn');
});
