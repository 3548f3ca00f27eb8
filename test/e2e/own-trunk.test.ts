import { createSocket } from 'node:dgram';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificate } from '../fixtures/certificates.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { carrierPassword, kamailioAvailable, startKamailio } from '../fixtures/kamailio-carrier.ts';
import type { KamailioCarrier } from '../fixtures/kamailio-carrier.ts';

describe.skipIf(!kamailioAvailable)('an own trunk at a real carrier (needs kamailio)', () => {
  let hub: TestHub;
  let workspace: TestWorkspace;
  let carriers: Record<'MD5' | 'SHA-256', KamailioCarrier>;
  beforeAll(async () => {
    const certificate = makeCertificate('localhost');
    setDefaultCACertificates([...getCACertificates('default'), certificate.cert]);
    const [md5, sha256] = await Promise.all([startKamailio(certificate, 'MD5'), startKamailio(certificate, 'SHA-256')]);
    carriers = { MD5: md5, 'SHA-256': sha256 };
    hub = await startHub({ EGRESS_ALLOW_HOSTS: 'localhost' });
    workspace = await hub.workspace();
  });
  afterAll(async () => {
    await hub[Symbol.asyncDispose]();
    await Promise.all(Object.values(carriers).map((carrier) => carrier[Symbol.asyncDispose]()));
  });

  const status = () => workspace.session.call('getSipStatus', {});
  const set = (carrier: KamailioCarrier, transport: 'udp' | 'tcp' | 'tls') =>
    workspace.session.call('registerOwnTrunk', {
      body: {
        host: 'localhost',
        port: transport === 'tls' ? carrier.tlsPort : carrier.port,
        username: 'acme',
        password: carrierPassword,
        transport,
      },
    });

  /** Sends a call to the carrier and returns its final response. */
  const call = async (carrier: KamailioCarrier): Promise<string> => {
    const socket = createSocket('udp4');
    const answer = new Promise<string>((done) => {
      socket.on('message', (bytes) => {
        const [first = ''] = bytes.toString().split('\r\n');
        if (!first.startsWith('SIP/2.0 1')) done(first);
      });
    });
    await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
    const { port } = socket.address();
    socket.send(
      [
        'INVITE sip:acme@localhost SIP/2.0',
        `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bK${port};rport`,
        'Max-Forwards: 70',
        'From: <sip:+15005550006@localhost>;tag=1',
        'To: <sip:acme@localhost>',
        `Call-ID: call-${port}`,
        'CSeq: 1 INVITE',
        `Contact: <sip:caller@127.0.0.1:${port}>`,
        'Content-Length: 0',
        '',
        '',
      ].join('\r\n'),
      carrier.port,
      '127.0.0.1',
    );
    try {
      return await answer;
    } finally {
      socket.close();
    }
  };

  test.each([
    ['udp', 'SHA-256'],
    ['udp', 'MD5'],
    ['tcp', 'SHA-256'],
    ['tls', 'MD5'],
  ] as const)(
    'registers by %s with %s, records refused calls, and deregisters at the end',
    async (transport, algorithm) => {
      const carrier = carriers[algorithm];
      await set(carrier, transport);
      await expect
        .poll(() => status())
        .toMatchObject({ state: 'registered', registered: true, lastCode: 200, lastReason: 'OK' });
      // The carrier grants at least 900 s, which its 423 response says.
      const { expiresAt, checkedAt } = (await status()) as { expiresAt: string; checkedAt: string };
      expect(Date.parse(expiresAt) - Date.parse(checkedAt)).toBeGreaterThan(800_000);
      await set(carrier, transport);
      await expect.poll(() => status()).toMatchObject({ registered: true });
      await expect.poll(() => carrier.contacts()).toHaveLength(1);
      expect(await call(carrier)).toBe('SIP/2.0 480 Temporarily Unavailable');
      const newest = async () => (await workspace.session.call('listCalls', { query: { limit: 1 } })).items;
      await expect.poll(newest).toMatchObject([{ provider: 'sip_trunk', result: 'missed', fromId: '+15005550006' }]);
      await workspace.session.call('removeOwnTrunk', {});
      await expect.poll(() => carrier.contacts()).toEqual([]);
    },
  );

  test('reports a wrong password', async () => {
    await workspace.session.call('registerOwnTrunk', {
      body: { host: 'localhost', port: carriers.MD5.port, username: 'acme', password: 'another', transport: 'udp' },
    });
    await expect.poll(() => status()).toMatchObject({ state: 'rejected', lastCode: 401, lastReason: 'Unauthorized' });
  });
});
