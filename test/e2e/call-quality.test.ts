import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parseAddress } from '../../hub/products/calls/sip/header-values.ts';
import { headerOf, headersOf } from '../../hub/products/calls/sip/message.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { kamailioServerAvailable, startKamailioServer } from '../fixtures/kamailio-server.ts';
import type { KamailioServer } from '../fixtures/kamailio-server.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { rtpengineAvailable, startRtpengine } from '../fixtures/rtpengine.ts';
import type { Rtpengine } from '../fixtures/rtpengine.ts';
import { UdpPhone } from '../fixtures/udp-phone.ts';

const domain = 'sip.example.com';
const isAvailable = kamailioServerAvailable && rtpengineAvailable;

describe.skipIf(!isAvailable)('audio by the SIP server of deploy/kamailio (skipped without rtpengine)', () => {
  let rtpengine: Rtpengine;
  let database: TestDatabase;
  let server: KamailioServer;
  let hub: TestHub;
  beforeAll(async () => {
    rtpengine = await startRtpengine();
    database = await acquireDatabase();
    server = await startKamailioServer(database, rtpengine.url);
    hub = await startHub(server.env, database);
  });
  afterAll(async () => {
    await hub[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
    await rtpengine[Symbol.asyncDispose]();
  });

  test('is heard in both directions, and the call record contains its quality', async () => {
    const { session } = await hub.workspace();
    const { credentials } = await session.call('optIntoHostedSip', {});
    const account = { ...(credentials as NonNullable<typeof credentials>), port: server.port, domain };
    const open = async () => {
      const phone = await UdpPhone.open(account);
      onTestFinished(() => phone[Symbol.dispose]());
      return phone;
    };
    const [caller, callee] = [await open(), await open()];
    expect(await callee.ask('REGISTER', `sip:${domain}`)).toMatchObject({ status: 200 });
    const uri = `sip:${account.username}@${domain}`;
    const finalResponse = caller.ask('INVITE', uri, [], caller.media.sdp);
    const invite = await callee.wait('INVITE');
    callee.media.setTarget(invite.body.toString());
    callee.answer('INVITE', '200 OK', callee.media.sdp);
    const ok = await finalResponse;
    caller.media.setTarget(ok.body.toString());
    const routes = headersOf(ok, 'record-route').map((route) => `Route: ${route}`);
    const target = parseAddress(headerOf(ok, 'contact') ?? '').uri;
    const inCall = [`To: ${headerOf(ok, 'to')}`, ...routes];
    caller.send('ACK', target, inCall);
    const phones = [caller.media, callee.media];
    let ticks = 0;
    await expect
      .poll(
        () => {
          for (const phone of phones) phone.sendAudio();
          ticks += 1;
          if (ticks % 15 === 0) for (const phone of phones) phone.sendReport();
          return phones.every(({ packetsReceived: heard, reportsReceived: reports }) => heard > 60 && reports > 5);
        },
        { interval: 20 },
      )
      .toBe(true);
    caller.send('BYE', target, inCall);
    await callee.wait('BYE');
    callee.answer('BYE', '200 OK');
    const record = async () => (await session.call('listCalls', { query: {} })).items[0];
    await expect.poll(record).toMatchObject({ result: 'answered', hangupBy: 'caller' });
    const { mosScore } = (await record()) as { mosScore: number };
    expect(mosScore).toBeGreaterThan(3);
    expect(mosScore).toBeLessThanOrEqual(5);
  });
});
