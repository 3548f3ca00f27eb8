import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { examineSipServer } from '../../hub/products/calls/index.ts';
import { parseAddress } from '../../hub/products/calls/sip/header-values.ts';
import { headerOf, headersOf, parseMessage } from '../../hub/products/calls/sip/message.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { kamailioServerAvailable, startKamailioServer } from '../fixtures/kamailio-server.ts';
import type { KamailioServer } from '../fixtures/kamailio-server.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { rtpengineAvailable, startRtpengine } from '../fixtures/rtpengine.ts';
import { openSoftphone, openSoftphoneAt } from '../fixtures/softphone.ts';
import type { Softphone } from '../fixtures/softphone.ts';
import { UdpPhone } from '../fixtures/udp-phone.ts';

const domain = 'sip.example.com';

describe.skipIf(!kamailioServerAvailable)('the SIP server of deploy/kamailio (skipped without Kamailio)', () => {
  let database: TestDatabase;
  let server: KamailioServer;
  let hub: TestHub;
  beforeAll(async () => {
    database = await acquireDatabase();
    server = await startKamailioServer(database);
    hub = await startHub({ ...server.env, SIP_DIAL_ALLOW: '+49' }, database);
  });
  afterAll(async () => {
    await hub[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });

  const open = async (token: string): Promise<Softphone> => {
    const { username } = await hub.client(token).call('getHostedSip', {});
    const phone = await openSoftphone(hub.url, token, username as string);
    onTestFinished(() => phone.socket.terminate());
    return phone;
  };

  /** Two people of a workspace whose softphones are registered. */
  async function meet() {
    const { session, tenantId, jwt } = await hub.workspace();
    await session.call('optIntoHostedSip', {});
    const [email, password] = [`agent-${process.hrtime.bigint()}@example.org`, 'correct horse battery'];
    await session.call('addMember', { params: { tenantId }, body: { email, password, role: 'agent' } });
    const { token } = await hub.client().call('logIn', { body: { email, password } });
    const [caller, callee] = [await open(jwt), await open(token)];
    await Promise.all([caller.register(), callee.register()]);
    return { session, tenantId, caller, callee, token };
  }

  /** Two people of a workspace in a call. */
  async function talk() {
    const { caller, callee, ...people } = await meet();
    caller.request('INVITE', `sip:${callee.user}@sip.example.com`);
    const invite = await callee.wait('INVITE');
    callee.answer('INVITE', '200 OK', { 'Record-Route': headerOf(invite, 'record-route') ?? '' });
    const ok = await caller.wait(200);
    caller.request('ACK', parseAddress(headerOf(ok, 'contact') ?? '').uri, {
      To: headerOf(ok, 'to') as string,
      Route: headerOf(ok, 'record-route') ?? '',
    });
    await callee.wait('ACK');
    return { ...people, caller, callee, ok };
  }

  test('has two people of a workspace call each other, and ends their call with the session of one', async () => {
    const { session, tenantId, caller, callee } = await talk();
    await session.call('logOut', {});
    await Promise.all([caller.wait('BYE'), callee.wait('BYE')]);
    await expect.poll(() => caller.closed).toBe(4401);
    expect(await recordOf(tenantId)).toMatchObject([{ from: caller.user, to: callee.user, result: 'answered' }]);
  });

  test('ends a call with the session of one whose connection was lost, and knows of it until then', async () => {
    const { session, tenantId, caller, callee } = await talk();
    const kept = async () => {
      const text = 'SELECT expires_at > now() AS "isKept" FROM sip_calls WHERE tenant_id = $1';
      return (await database.query<{ isKept: boolean }>(text, [tenantId])).map(({ isKept }) => isKept);
    };
    await expect.poll(kept).toEqual([true, true]);
    caller.socket.terminate();
    await database.query('UPDATE sip_calls SET expires_at = now() WHERE tenant_id = $1', [tenantId]);
    await hub.app.sweep();
    expect(await kept()).toEqual([true, true]);
    await session.call('logOut', {});
    await callee.wait('BYE');
    await expect.poll(kept).toEqual([]);
  });

  /** What stands of the calls of a workspace, once none is under way. */
  async function recordOf(tenantId: string, calls = 1) {
    const text = `SELECT rank, from_id AS "from", to_id AS "to", result, hangup_by AS by, sip_code AS code, mos_score AS mos FROM calls WHERE tenant_id = $1 ORDER BY started_at`;
    let rows: { rank: number; mos: number | null }[] = [];
    await expect
      .poll(async () => {
        rows = await database.query(text, [tenantId]);
        return rows.map(({ rank }) => rank);
      })
      .toEqual(Array.from({ length: calls }, () => 3));
    return rows;
  }

  test('takes a call back, or answers it, when one side is gone while it rings', async () => {
    const { caller, callee } = await talk();
    caller.request('INVITE', `sip:${callee.user}@sip.example.com`, { 'Call-ID': 'one' });
    await expect.poll(() => callee.messages.filter((each) => each.kind === 'request')).toHaveLength(3);
    callee.socket.terminate();
    await caller.wait(480);
  });

  /** What a phone with a password of its own is answered by udp. */
  async function ask(method: string, uri: string, username: string, password: string): Promise<number> {
    using phone = await UdpPhone.open({ port: server.port, domain, username, password });
    const answer = await phone.ask(method, uri);
    return answer.kind === 'response' ? answer.status : 0;
  }

  test('knows the credentials of a workspace from its opt-in to its opt-out, and lets them call within it alone', async () => {
    const [one, other] = [await hub.workspace(), await hub.workspace()];
    const { credentials } = await one.session.call('optIntoHostedSip', {});
    const { credentials: others } = await other.session.call('optIntoHostedSip', {});
    const { username, password } = credentials as NonNullable<typeof credentials>;
    const register = (secret: string) => ask('REGISTER', `sip:${domain}`, username, secret);
    expect(await register('wrong')).toBe(401);
    expect(await register(password)).toBe(200);
    const call = (user: string) => ask('INVITE', `sip:${user}@${domain}`, username, password);
    expect(await call(others?.username as string)).toBe(403);
    expect(await call('+4930123456')).toBe(503);
    expect(await call(`${username}-${'0'.repeat(32)}`)).toBe(480);
    const registered = async () => JSON.stringify(await server.rpc('ul.dump')).includes(username);
    expect(await registered()).toBe(true);
    await one.session.call('optOutOfHostedSip', {});
    await expect.poll(registered).toBe(false);
    expect(await register(password)).toBe(401);
  });

  /** Two phones of a workspace in a call that no softphone is part of. */
  async function talkByUdp() {
    const { session, tenantId } = await hub.workspace();
    const { credentials } = await session.call('optIntoHostedSip', {});
    const account = { ...(credentials as NonNullable<typeof credentials>), port: server.port, domain };
    const openPhone = async () => {
      const phone = await UdpPhone.open(account);
      onTestFinished(() => phone[Symbol.dispose]());
      return phone;
    };
    const [caller, callee] = [await openPhone(), await openPhone()];
    expect(await callee.ask('REGISTER', `sip:${domain}`)).toMatchObject({ status: 200 });
    const answered = caller.ask('INVITE', `sip:${account.username}@${domain}`);
    await callee.wait('INVITE');
    callee.answer('INVITE', '200 OK');
    const ok = await answered;
    const routes = headersOf(ok, 'record-route').map((route) => `Route: ${route}`);
    caller.send('ACK', parseAddress(headerOf(ok, 'contact') ?? '').uri, [`To: ${headerOf(ok, 'to')}`, ...routes]);
    await callee.wait('ACK');
    return { session, tenantId, caller, callee };
  }

  test('ends calls between phones with a password, too, when their workspace leaves, and of no other', async () => {
    const [left, gone, other] = [await talkByUdp(), await talkByUdp(), await talkByUdp()];
    await left.session.call('optOutOfHostedSip', {});
    await Promise.all([left.caller.wait('BYE'), left.callee.wait('BYE')]);
    for (const phone of [left.caller, left.callee]) phone.answer('BYE', '200 OK');
    expect(await recordOf(left.tenantId)).toMatchObject([{ result: 'answered' }]);
    await database.query('DELETE FROM tenants WHERE id = $1', [gone.tenantId]);
    await Promise.all([gone.caller.wait('BYE'), gone.callee.wait('BYE')]);
    for (const phone of [gone.caller, gone.callee]) phone.answer('BYE', '200 OK');
    await database.query(`UPDATE sip_teardowns SET left_at = left_at - interval '1 minute'`);
    const farewells = () => database.query('SELECT tenant_id FROM sip_teardowns');
    await expect.poll(farewells).toEqual([]);
    const requests = [other.caller, other.callee].flatMap(({ messages }) =>
      messages.flatMap((each) => (each.kind === 'request' ? [each.method] : [])),
    );
    expect(requests).not.toContain('BYE');
  });

  test('has a call ended whose softphone lost its connection, when its workspace is removed', async () => {
    const { tenantId, caller, callee } = await talk();
    const text = 'SELECT id FROM sip_calls WHERE tenant_id = $1 AND answered_at IS NOT NULL';
    await expect.poll(() => database.query(text, [tenantId])).toHaveLength(2);
    caller.socket.terminate();
    await database.query('DELETE FROM tenants WHERE id = $1', [tenantId]);
    await callee.wait('BYE');
  });

  test('believes nobody who does not know the secret, and nobody in the name of another', async () => {
    const { SIP_WS_URL: url = '', SIP_RPC_URL: rpcUrl = '', SIP_SHARED_SECRET: secret = '' } = server.env;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'core.version' });
    expect((await fetch(rpcUrl, { method: 'POST', body })).status).toBe(403);
    const connect = (headers: Record<string, string>) => {
      const socket = new WebSocket(url, 'sip', { headers });
      onTestFinished(() => socket.terminate());
      return once(socket, 'open').then(() => socket);
    };
    await expect(connect({ 'X-Outrigger-User': 'a' })).rejects.toThrow('403');
    await expect(connect({ 'X-Outrigger-User': 'a', 'X-Outrigger-Secret': `${secret}x` })).rejects.toThrow('403');
    const socket = await connect({ 'X-Outrigger-User': 'a', 'X-Outrigger-Secret': secret });
    const say = async (from: string) => {
      const lines = [`REGISTER sip:${domain} SIP/2.0`, 'Via: SIP/2.0/WS a.invalid;branch=z9hG4bKa', 'Max-Forwards: 70'];
      const who = [`From: <sip:${from}@${domain}>;tag=a`, `To: <sip:${from}@${domain}>`, `Call-ID: ${from}`];
      const rest = ['CSeq: 1 REGISTER', 'Contact: <sip:a@a.invalid;transport=ws>', 'Content-Length: 0', '', ''];
      socket.send([...lines, ...who, ...rest].join('\r\n'));
      const [data] = (await once(socket, 'message')) as [Buffer];
      return parseMessage(data);
    };
    expect(await say('boss')).toMatchObject({ status: 403, reason: 'Name Not Allowed' });
    expect(await say('a')).toMatchObject({ status: 200 });
  });

  /** A server of somebody else, and what it was sent. */
  async function bystander() {
    const socket = createSocket('udp4');
    const heard: string[] = [];
    socket.on('message', (message) => heard.push(message.toString().split('\r\n', 1)[0] as string));
    await once(socket.bind(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void socket.close());
    return { socket, heard, address: `127.0.0.1:${socket.address().port}` };
  }

  test('sends nothing to an address that a request names, neither of a stranger nor of somebody in a call', async () => {
    const { caller, callee, ok } = await talk();
    const other = await bystander();
    const strange = (uri: string) =>
      [
        `ACK ${uri} SIP/2.0`,
        `Via: SIP/2.0/UDP ${other.address};branch=z9hG4bK${Math.random()}`,
        `From: <sip:${caller.user}@${domain}>;tag=a`,
        'To: <sip:t@t>;tag=b',
        'Call-ID: none',
        'CSeq: 1 ACK',
        `Route: <sip:127.0.0.1:${server.port};lr>`,
        'Content-Length: 0\r\n\r\n',
      ].join('\r\n');
    for (const uri of [`sip:x@${other.address}`, `sip:${callee.user}@${domain}`, `sip:x@${other.address};alias=1~1~1`])
      other.socket.send(strange(uri), server.port, '127.0.0.1');
    // Past the hub, which would not let it through.
    const headers = {
      'X-Outrigger-User': caller.user,
      'X-Outrigger-Secret': server.env['SIP_SHARED_SECRET'] as string,
    };
    const past = await openSoftphoneAt(
      new WebSocket(server.env['SIP_WS_URL'] as string, 'sip', { headers }),
      caller.user,
    );
    onTestFinished(() => past.socket.terminate());
    const [to, route] = [headerOf(ok, 'to') ?? '', headerOf(ok, 'record-route') ?? ''];
    const more = `${route}, <sip:${other.address};lr>`;
    past.request('INFO', 'sip:x@y.invalid', { To: to, Route: more, CSeq: '2 INFO' });
    expect(await past.wait(481)).toMatchObject({ reason: 'Call Does Not Exist' });
    // It goes to the colleague and nowhere else.
    past.request('INVITE', `sip:+1900555@${other.address}`, { To: to, Route: route, CSeq: '3 INVITE' });
    await expect
      .poll(() => callee.messages.filter((each) => each.kind === 'request').map((each) => each.method))
      .toEqual(['INVITE', 'ACK', 'INVITE']);
    expect(other.heard).toEqual([]);
  });

  test('has a call of which nothing became end in its record at once, with the status that its caller was told', async () => {
    const { session, tenantId, caller } = await meet();
    caller.request('INVITE', `sip:+4930123456@${domain}`, { 'Call-ID': 'number' });
    await caller.wait(503);
    const colleague = `${caller.user.slice(0, 17)}-${'0'.repeat(32)}`;
    caller.request('INVITE', `sip:${colleague}@${domain}`, { 'Call-ID': 'away' });
    await caller.wait(480);
    expect(await recordOf(tenantId, 2)).toMatchObject([
      { to: '+4930123456', result: 'failed', code: 503 },
      { to: colleague, result: 'cancelled', code: 480 },
    ]);
    expect((await session.call('listCalls', { query: {} })).items.map(({ callSid }) => callSid.split('~')[0])).toEqual([
      'away',
      'number',
    ]);
  });

  test('keeps a call that one of two softphones took as answered, and no call as another of the same Call-ID', async () => {
    const { tenantId, caller, callee, token } = await meet();
    const second = await open(token);
    second.request('REGISTER', `sip:${domain}`, {
      'Call-ID': 'second',
      Contact: '<sip:second@second.invalid;transport=ws>;+sip.instance="<urn:uuid:2>"',
    });
    await second.wait(200);
    caller.request('INVITE', `sip:${callee.user}@${domain}`);
    const [invite] = [await callee.wait('INVITE'), await second.wait('INVITE')];
    second.answer('INVITE', '180 Ringing');
    // Kamailio cancels only branches that have rung: the 200 of the other softphone must not overtake this 180.
    await caller.wait(180);
    callee.answer('INVITE', '200 OK', { 'Record-Route': headerOf(invite, 'record-route') ?? '' });
    const ok = await caller.wait(200);
    const inDialog = { To: headerOf(ok, 'to') ?? '', Route: headerOf(ok, 'record-route') ?? '' };
    caller.request('ACK', parseAddress(headerOf(ok, 'contact') ?? '').uri, inDialog);
    await second.wait('CANCEL');
    second.answer('CANCEL', '200 OK');
    second.answer('INVITE', '487 Request Terminated');
    await callee.wait('ACK');
    caller.request('BYE', parseAddress(headerOf(ok, 'contact') ?? '').uri, { ...inDialog, CSeq: '2 BYE' });
    await callee.wait('BYE');
    callee.answer('BYE', '200 OK');
    expect(await recordOf(tenantId)).toMatchObject([{ result: 'answered', by: 'caller' }]);
    caller.request('INVITE', `sip:+4930123456@${domain}`, {
      CSeq: '3 INVITE',
      From: `<sip:${caller.user}@${domain}>;tag=other`,
    });
    await caller.wait(503);
    expect(await recordOf(tenantId, 2)).toMatchObject([{ result: 'answered' }, { result: 'failed' }]);
  });

  test('lists so many softphones of a person that a registration is answered in one message', async () => {
    const { caller } = await meet();
    for (let at = 0; at < 16; at += 1)
      caller.request('REGISTER', `sip:${domain}`, {
        'Call-ID': `r${at}`,
        Contact: `<sip:a@b${at}.invalid;transport=ws>;+sip.instance="<urn:uuid:softphone-${at}>"`,
      });
    expect(await caller.wait(503)).toMatchObject({ reason: 'Service Unavailable' });
  });

  test('is examined by the doctor, which says what is wrong', async () => {
    const { SIP_WS_URL: wsUrl = '', SIP_RPC_URL: rpcUrl = '', SIP_SHARED_SECRET: sharedSecret = '' } = server.env;
    const settings = { domain, wsUrl, rpcUrl, sharedSecret };
    expect(await examineSipServer(settings)).toMatch(
      /^kamailio \d.* serves sip\.example\.com; media goes directly between phones$/i,
    );
    await expect(examineSipServer({ ...settings, domain: 'sip.other.test' })).rejects.toThrow(
      /does not serve sip\.other\.test.*SIP_DOMAIN/,
    );
    await expect(examineSipServer({ ...settings, sharedSecret: 'x'.repeat(32) })).rejects.toThrow(
      /SIP_RPC_URL.*secret/,
    );
    await expect(examineSipServer({ ...settings, wsUrl: 'ws://127.0.0.1:9' })).rejects.toThrow('at SIP_WS_URL');
    expect(await examineSipServer(settings, 'route')).toMatch(/warning: SIP_EMERGENCY=route/);
    expect(await examineSipServer(null)).toMatch('not set');
  });

  test.skipIf(!rtpengineAvailable)(
    'is examined with its rtpengine, also when that is away (skipped without rtpengine)',
    async () => {
      const rtpengine = await startRtpengine();
      await using relayed = await startKamailioServer(database, rtpengine.url);
      const { SIP_WS_URL: wsUrl = '', SIP_RPC_URL: rpcUrl = '', SIP_SHARED_SECRET: sharedSecret = '' } = relayed.env;
      const examine = () => examineSipServer({ domain, wsUrl, rpcUrl, sharedSecret });
      try {
        expect(await examine()).toMatch(/media goes through rtpengine$/);
      } finally {
        await rtpengine[Symbol.asyncDispose]();
      }
      await expect(examine()).rejects.toThrow(`does not reach rtpengine at ${rtpengine.url}`);
    },
  );
});
