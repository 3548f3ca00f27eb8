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

  /** Creates two members of a workspace with registered softphones. */
  async function registerPair() {
    const { session, tenantId, jwt } = await hub.workspace();
    await session.call('optIntoHostedSip', {});
    const [email, password] = [`agent-${process.hrtime.bigint()}@example.org`, 'correct horse battery'];
    await session.call('addMember', { params: { tenantId }, body: { email, password, role: 'agent' } });
    const { token } = await hub.client().call('logIn', { body: { email, password } });
    const [caller, callee] = [await open(jwt), await open(token)];
    await Promise.all([caller.register(), callee.register()]);
    return { session, tenantId, caller, callee, token };
  }

  /** Connects two members of a workspace in a call. */
  async function connectPair() {
    const { caller, callee, ...members } = await registerPair();
    caller.request('INVITE', `sip:${callee.user}@sip.example.com`);
    const invite = await callee.wait('INVITE');
    callee.answer('INVITE', '200 OK', { 'Record-Route': headerOf(invite, 'record-route') ?? '' });
    const ok = await caller.wait(200);
    caller.request('ACK', parseAddress(headerOf(ok, 'contact') ?? '').uri, {
      To: headerOf(ok, 'to') as string,
      Route: headerOf(ok, 'record-route') ?? '',
    });
    await callee.wait('ACK');
    return { ...members, caller, callee, ok };
  }

  test('connects two members of a workspace, and ends their call when the session of one ends', async () => {
    const { session, tenantId, caller, callee } = await connectPair();
    await session.call('logOut', {});
    await Promise.all([caller.wait('BYE'), callee.wait('BYE')]);
    await expect.poll(() => caller.closed).toBe(4401);
    expect(await recordOf(tenantId)).toMatchObject([{ from: caller.user, to: callee.user, result: 'answered' }]);
  });

  test('keeps the call of a lost connection until the session of the member ends', async () => {
    const { session, tenantId, caller, callee } = await connectPair();
    const kept = async () => {
      const text = 'SELECT expires_at > now() AS "isKept" FROM sip_calls WHERE tenant_id = $1';
      return (await database.query<{ isKept: boolean }>(text, [tenantId])).map(({ isKept }) => isKept);
    };
    await expect.poll(kept).toEqual([true, true]);
    caller.socket.terminate();
    await database.query('UPDATE sip_calls SET expires_at = now() WHERE tenant_id = $1', [tenantId]);
    // A busy SIP server can miss the time limit of one sweep.
    await expect
      .poll(async () => {
        await hub.app.sweep();
        return kept();
      })
      .toEqual([true, true]);
    await session.call('logOut', {});
    await callee.wait('BYE');
    await expect.poll(kept).toEqual([]);
  });

  /** The call records of a workspace, once all calls have ended. */
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

  test('responds 480 to the caller if the called softphone disconnects while it rings', async () => {
    const { caller, callee } = await connectPair();
    caller.request('INVITE', `sip:${callee.user}@sip.example.com`, { 'Call-ID': 'one' });
    await expect.poll(() => callee.messages.filter((each) => each.kind === 'request')).toHaveLength(3);
    callee.socket.terminate();
    await caller.wait(480);
  });

  /** The response to a request of a phone with a password, over UDP. */
  async function requestByUdp(method: string, uri: string, username: string, password: string): Promise<number> {
    using phone = await UdpPhone.open({ port: server.port, domain, username, password });
    const answer = await phone.ask(method, uri);
    return answer.kind === 'response' ? answer.status : 0;
  }

  test('accepts the credentials of a workspace from opt-in to opt-out, and only for calls within the workspace', async () => {
    const [one, other] = [await hub.workspace(), await hub.workspace()];
    const { credentials } = await one.session.call('optIntoHostedSip', {});
    const { credentials: others } = await other.session.call('optIntoHostedSip', {});
    const { username, password } = credentials as NonNullable<typeof credentials>;
    const register = (secret: string) => requestByUdp('REGISTER', `sip:${domain}`, username, secret);
    expect(await register('wrong')).toBe(401);
    expect(await register(password)).toBe(200);
    const call = (user: string) => requestByUdp('INVITE', `sip:${user}@${domain}`, username, password);
    expect(await call(others?.username as string)).toBe(403);
    expect(await call('+4930123456')).toBe(503);
    expect(await call(`${username}-${'0'.repeat(32)}`)).toBe(480);
    const registered = async () => JSON.stringify(await server.rpc('ul.dump')).includes(username);
    await expect.poll(registered).toBe(true);
    await one.session.call('optOutOfHostedSip', {});
    await expect.poll(registered).toBe(false);
    expect(await register(password)).toBe(401);
  });

  /** Connects two phones of a workspace in a call without softphones. */
  async function connectUdpPair() {
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

  test('ends calls between phones with a password when their workspace opts out or is removed, and no other calls', async () => {
    const [left, gone, other] = [await connectUdpPair(), await connectUdpPair(), await connectUdpPair()];
    await left.session.call('optOutOfHostedSip', {});
    await Promise.all([left.caller.wait('BYE'), left.callee.wait('BYE')]);
    for (const phone of [left.caller, left.callee]) phone.answer('BYE', '200 OK');
    expect(await recordOf(left.tenantId)).toMatchObject([{ result: 'answered' }]);
    await database.query('DELETE FROM tenants WHERE id = $1', [gone.tenantId]);
    await Promise.all([gone.caller.wait('BYE'), gone.callee.wait('BYE')]);
    for (const phone of [gone.caller, gone.callee]) phone.answer('BYE', '200 OK');
    await database.query(`UPDATE sip_teardowns SET left_at = left_at - interval '1 minute'`);
    const teardowns = () => database.query('SELECT tenant_id FROM sip_teardowns');
    await expect.poll(teardowns).toEqual([]);
    const requests = [other.caller, other.callee].flatMap(({ messages }) =>
      messages.flatMap((each) => (each.kind === 'request' ? [each.method] : [])),
    );
    expect(requests).not.toContain('BYE');
  });

  test('ends the call of a disconnected softphone when its workspace is removed', async () => {
    const { tenantId, caller, callee } = await connectPair();
    const text = 'SELECT id FROM sip_calls WHERE tenant_id = $1 AND answered_at IS NOT NULL';
    await expect.poll(() => database.query(text, [tenantId])).toHaveLength(2);
    caller.socket.terminate();
    await database.query('DELETE FROM tenants WHERE id = $1', [tenantId]);
    await callee.wait('BYE');
  });

  test('refuses connections without the shared secret, and requests in the name of another user', async () => {
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
    const registerAs = async (from: string) => {
      const lines = [`REGISTER sip:${domain} SIP/2.0`, 'Via: SIP/2.0/WS a.invalid;branch=z9hG4bKa', 'Max-Forwards: 70'];
      const who = [`From: <sip:${from}@${domain}>;tag=a`, `To: <sip:${from}@${domain}>`, `Call-ID: ${from}`];
      const rest = ['CSeq: 1 REGISTER', 'Contact: <sip:a@a.invalid;transport=ws>', 'Content-Length: 0', '', ''];
      socket.send([...lines, ...who, ...rest].join('\r\n'));
      const [data] = (await once(socket, 'message')) as [Buffer];
      return parseMessage(data);
    };
    expect(await registerAs('boss')).toMatchObject({ status: 403, reason: 'Name Not Allowed' });
    expect(await registerAs('a')).toMatchObject({ status: 200 });
  });

  /** A server of a third party, and the messages that it received. */
  async function bystander() {
    const socket = createSocket('udp4');
    const received: string[] = [];
    socket.on('message', (message) => received.push(message.toString().split('\r\n', 1)[0] as string));
    await once(socket.bind(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void socket.close());
    return { socket, received, address: `127.0.0.1:${socket.address().port}` };
  }

  test('sends nothing to an address in a request, neither for an unknown sender nor for a user in a call', async () => {
    const { caller, callee, ok } = await connectPair();
    const other = await bystander();
    const requestTo = (uri: string) =>
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
      other.socket.send(requestTo(uri), server.port, '127.0.0.1');
    // Connects directly to the SIP server, because the hub would refuse the request.
    const headers = {
      'X-Outrigger-User': caller.user,
      'X-Outrigger-Secret': server.env['SIP_SHARED_SECRET'] as string,
    };
    const direct = await openSoftphoneAt(
      new WebSocket(server.env['SIP_WS_URL'] as string, 'sip', { headers }),
      caller.user,
    );
    onTestFinished(() => direct.socket.terminate());
    const [to, route] = [headerOf(ok, 'to') ?? '', headerOf(ok, 'record-route') ?? ''];
    const more = `${route}, <sip:${other.address};lr>`;
    direct.request('INFO', 'sip:x@y.invalid', { To: to, Route: more, CSeq: '2 INFO' });
    expect(await direct.wait(481)).toMatchObject({ reason: 'Call Does Not Exist' });
    // The request reaches only the colleague.
    direct.request('INVITE', `sip:+1900555@${other.address}`, { To: to, Route: route, CSeq: '3 INVITE' });
    await expect
      .poll(() => callee.messages.filter((each) => each.kind === 'request').map((each) => each.method))
      .toEqual(['INVITE', 'ACK', 'INVITE']);
    expect(other.received).toEqual([]);
  });

  test('closes the record of a failed call at once, with the status that the caller got', async () => {
    const { session, tenantId, caller } = await registerPair();
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

  test('records a call that one of two softphones answered as answered, and separates calls with the same Call-ID', async () => {
    const { tenantId, caller, callee, token } = await registerPair();
    const second = await open(token);
    second.request('REGISTER', `sip:${domain}`, {
      'Call-ID': 'second',
      Contact: '<sip:second@second.invalid;transport=ws>;+sip.instance="<urn:uuid:2>"',
    });
    await second.wait(200);
    caller.request('INVITE', `sip:${callee.user}@${domain}`);
    const [invite] = [await callee.wait('INVITE'), await second.wait('INVITE')];
    second.answer('INVITE', '180 Ringing');
    // Kamailio cancels only branches that have rung. The 200 of the other softphone must arrive after this 180.
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

  test('limits the softphones of a user so that the response to a registration fits in one message', async () => {
    const { caller } = await registerPair();
    for (let at = 0; at < 16; at += 1)
      caller.request('REGISTER', `sip:${domain}`, {
        'Call-ID': `r${at}`,
        Contact: `<sip:a@b${at}.invalid;transport=ws>;+sip.instance="<urn:uuid:softphone-${at}>"`,
      });
    expect(await caller.wait(503)).toMatchObject({ reason: 'Service Unavailable' });
  });

  test('is checked by doctor, which reports what is wrong', async () => {
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
    'is checked with its rtpengine, also when rtpengine is unreachable (skipped without rtpengine)',
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
