import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { answerChallenge, chooseChallenge } from '../../hub/platform/sip/digest.ts';
import { challengesOf, parseAddress } from '../../hub/platform/sip/header-values.ts';
import { headerOf, parseMessage } from '../../hub/platform/sip/message.ts';
import { examineSipServer } from '../../hub/products/calls/index.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { kamailioServerAvailable, startKamailioServer } from '../fixtures/kamailio-server.ts';
import type { KamailioServer } from '../fixtures/kamailio-server.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { openSoftphone } from '../fixtures/softphone.ts';
import type { Softphone } from '../fixtures/softphone.ts';

const domain = 'sip.example.com';

describe.skipIf(!kamailioServerAvailable)('the SIP server of deploy/kamailio (skipped without Kamailio)', () => {
  let database: TestDatabase;
  let server: KamailioServer;
  let hub: TestHub;
  beforeAll(async () => {
    database = await acquireDatabase();
    server = await startKamailioServer(database);
    hub = await startHub(server.env, database);
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

  /** Two people of a workspace in a call. */
  async function talk() {
    const { session, tenantId, jwt } = await hub.workspace();
    await session.call('optIntoHostedSip', {});
    const [email, password] = [`agent-${process.hrtime.bigint()}@example.org`, 'correct horse battery'];
    await session.call('addMember', { params: { tenantId }, body: { email, password, role: 'agent' } });
    const { token } = await hub.client().call('logIn', { body: { email, password } });
    const [caller, callee] = [await open(jwt), await open(token)];
    await Promise.all([caller.register(), callee.register()]);
    caller.request('INVITE', `sip:${callee.user}@sip.example.com`);
    const invite = await callee.wait('INVITE');
    callee.answer('INVITE', '200 OK', { 'Record-Route': headerOf(invite, 'record-route') ?? '' });
    const ok = await caller.wait(200);
    caller.request('ACK', parseAddress(headerOf(ok, 'contact') ?? '').uri, {
      To: headerOf(ok, 'to') as string,
      Route: headerOf(ok, 'record-route') ?? '',
    });
    await callee.wait('ACK');
    return { session, tenantId, caller, callee };
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
  async function recordOf(tenantId: string) {
    const text = `SELECT rank, from_id AS "from", to_id AS "to", result, hangup_by AS by, sip_code AS code, mos_score AS mos FROM calls WHERE tenant_id = $1`;
    let rows: { rank: number; mos: number | null }[] = [];
    await expect
      .poll(
        async () => {
          rows = await database.query(text, [tenantId]);
          return rows.map(({ rank }) => rank);
        },
        { timeout: 5_000 },
      )
      .toEqual([3]);
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
    const socket = createSocket('udp4');
    await once(socket.bind(0, '127.0.0.1'), 'listening');
    const own = `<sip:${username}@${domain}>`;
    const send = async (sequence: number, more: string[]) => {
      const via = `Via: SIP/2.0/UDP 127.0.0.1:${socket.address().port};branch=z9hG4bK${username}${sequence};rport`;
      const head = [`${method} ${uri} SIP/2.0`, via, 'Max-Forwards: 70', `From: ${own};tag=a`];
      const to = `To: ${method === 'REGISTER' ? own : `<${uri}>`}`;
      const contact = `Contact: <sip:${username}@127.0.0.1:${socket.address().port}>`;
      const rest = [to, contact, `Call-ID: ${method}-${username}`, `CSeq: ${sequence} ${method}`, ...more];
      socket.send([...head, ...rest, 'Content-Length: 0', '', ''].join('\r\n'), server.port, '127.0.0.1');
      const answered = once(socket, 'message', { signal: AbortSignal.timeout(5_000) }) as Promise<[Buffer]>;
      return parseMessage((await answered)[0]);
    };
    try {
      const first = await send(1, []);
      const isProxy = first.kind === 'response' && first.status === 407;
      const challenge = chooseChallenge(challengesOf(first, isProxy ? 'proxy-authenticate' : 'www-authenticate'));
      if (challenge === null) return first.kind === 'response' ? first.status : 0;
      const value = answerChallenge(challenge, { method, uri, username, password });
      const last = await send(2, [`${isProxy ? 'Proxy-' : ''}Authorization: ${value}`]);
      return last.kind === 'response' ? last.status : 0;
    } finally {
      socket.close();
    }
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
    expect(await call('+4930123456')).toBe(404);
    expect(await call(`${username}-${'0'.repeat(32)}`)).toBe(480);
    const registered = async () => JSON.stringify(await server.rpc('ul.dump')).includes(username);
    expect(await registered()).toBe(true);
    await one.session.call('optOutOfHostedSip', {});
    await expect.poll(registered).toBe(false);
    expect(await register(password)).toBe(401);
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

  test('is examined by the doctor, which says what is wrong', async () => {
    const { SIP_WS_URL: wsUrl = '', SIP_RPC_URL: rpcUrl = '', SIP_SHARED_SECRET: sharedSecret = '' } = server.env;
    const settings = { domain, wsUrl, rpcUrl, sharedSecret };
    expect(await examineSipServer(settings)).toMatch(/^kamailio \d.* serves sip\.example\.com$/i);
    await expect(examineSipServer({ ...settings, sharedSecret: 'x'.repeat(32) })).rejects.toThrow(
      /SIP_RPC_URL.*secret/,
    );
    await expect(examineSipServer({ ...settings, wsUrl: 'ws://127.0.0.1:9' })).rejects.toThrow('at SIP_WS_URL');
    expect(await examineSipServer(null)).toMatch('not set');
  });
});
