import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { headerOf, headersOf, parseMessage } from '../../hub/products/calls/sip/message.ts';
import type { SipRequest } from '../../hub/products/calls/sip/message.ts';
import { patientSoftphones, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { sharedSecret, startSipWebSocketServer } from '../fixtures/sip-websocket-server.ts';
import type { SipWebSocketServer } from '../fixtures/sip-websocket-server.ts';
import { openSoftphone } from '../fixtures/softphone.ts';
import type { Softphone } from '../fixtures/softphone.ts';

const domain = 'sip.example.com';
let server: SipWebSocketServer;
let hub: TestHub;
beforeAll(async () => {
  server = await startSipWebSocketServer();
  const caps = { SIP_DIAL_ALLOW: '+49', SIP_EMERGENCY: 'route', SIP_CALLS_AT_ONCE: '3', SIP_MINUTES_A_DAY: '5' };
  hub = await startHub({ ...server.env, ...caps, SIGN_IN_RATE_LIMIT_PER_MINUTE: '300' }, undefined, patientSoftphones);
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function open(jwt: string): Promise<Softphone> {
  const { username } = await hub.client(jwt).call('getHostedSip', {});
  const phone = await openSoftphone(hub.url, jwt, username as string);
  onTestFinished(() => phone.socket.terminate());
  return phone;
}

async function workspaceWithPhone() {
  const workspace = await hub.workspace();
  await workspace.session.call('optIntoHostedSip', {});
  return { workspace, phone: await open(workspace.jwt) };
}

/** Connects two members of a workspace in a call through a record-routing proxy. */
async function connectPair() {
  const { workspace, phone: caller } = await workspaceWithPhone();
  const { session, tenantId } = workspace;
  const [email, password] = [`agent-${process.hrtime.bigint()}@example.org`, 'correct horse battery'];
  await session.call('addMember', { params: { tenantId }, body: { email, password, role: 'agent' } });
  const { token } = await hub.client().call('logIn', { body: { email, password } });
  const callee = await open(token);
  await Promise.all([caller.register(), callee.register()]);
  caller.request('INVITE', `sip:${callee.user}@${domain}`);
  await callee.wait('INVITE');
  server.send(
    caller.user,
    `SIP/2.0 180 Ringing\r\nVia: SIP/2.0/WSS abc.invalid;branch=z9hG4bK1\r\nRecord-Route: <sip:10.0.0.1;lr>\r\nFrom: <sip:${caller.user}@${domain}>;tag=mine\r\nTo: <sip:${callee.user}@${domain}>;tag=theirs\r\nCall-ID: call-of-${caller.user}\r\nCSeq: 1 INVITE\r\n\r\n`,
  );
  callee.answer('INVITE', '200 OK');
  await caller.wait(200);
  return { workspace, caller, callee, jwt: token, inCall: { To: `<sip:${callee.user}@${domain}>;tag=theirs` } };
}

const rows = async ({ tenantId }: TestWorkspace, condition = 'true') =>
  (await hub.database.query(`SELECT 1 FROM sip_calls WHERE tenant_id = $1 AND ${condition}`, [tenantId])).length;

const audited = async ({ session, tenantId }: TestWorkspace) => {
  const query = { targetType: 'user' };
  const { data } = await session.call('listAuditLog', { params: { tenantId }, query } as never);
  return (data as { action: string; details: Record<string, unknown> }[])
    .filter(({ action }) => action.startsWith('sip_call.'))
    .map(({ action, details }): Record<string, unknown> => ({ action, ...details }));
};

/** A phone behind the SIP server that answers every call to these numbers. */
async function answerNumbers(numbers: string[]): Promise<SipRequest[]> {
  const headers = { 'X-Outrigger-Secret': sharedSecret, 'X-Outrigger-User': `carrier-${numbers[0]}` };
  const socket = new WebSocket(server.env['SIP_WS_URL'] as string, 'sip', { headers });
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  const answeredInvites: SipRequest[] = [];
  socket.on('message', (data) => {
    const message = parseMessage(data as Buffer);
    if (message.kind !== 'request' || message.method !== 'INVITE') return;
    answeredInvites.push(message);
    const copied = ['from', 'call-id', 'cseq'].map((name) => `${name}: ${headerOf(message, name)}`);
    const vias = headersOf(message, 'via').map((via) => `Via: ${via}`);
    const to = `To: ${headerOf(message, 'to')};tag=carrier`;
    socket.send(
      ['SIP/2.0 200 OK', ...vias, ...copied, to, 'Contact: <sip:gateway@10.0.0.9>', 'Content-Length: 0', '', ''].join(
        '\r\n',
      ),
    );
  });
  for (const number of numbers) {
    const own = `<sip:${number}@${domain}>`;
    socket.send(
      `REGISTER sip:${domain} SIP/2.0\r\nVia: SIP/2.0/WS a;branch=z9hG4bK${number}\r\nFrom: ${own};tag=a\r\nTo: ${own}\r\nCall-ID: ${number}\r\nCSeq: 1 REGISTER\r\nContent-Length: 0\r\n\r\n`,
    );
  }
  return answeredInvites;
}

describe('a softphone in a call', () => {
  test('exchanges messages only with the other side, through the proxies between them', async () => {
    const { workspace, caller, callee, inCall } = await connectPair();
    const before = server.messages.length;
    let sequence = 1;
    const ask = async (method: string, uri: string, headers: Record<string, string> = {}) => {
      caller.messages.length = 0;
      sequence += 1;
      caller.request(method, uri, { ...inCall, CSeq: `${sequence} ${method}`, ...headers });
      await expect.poll(() => caller.messages.length).toBe(1);
      return (caller.messages[0] as { status?: number }).status;
    };
    const contact = 'sip:x@y.invalid;transport=ws';
    expect(await ask('INVITE', `sip:+190055501@${domain}`)).toBe(403);
    expect(await ask('INVITE', 'sip:911@10.0.0.1:5060;transport=udp')).toBe(403);
    expect(await ask('INFO', contact, { Route: '<sip:10.0.0.1;lr>, <sip:10.0.0.2;lr>' })).toBe(403);
    expect(await ask('INFO', contact, { Route: '<sip:10.0.0.1;lr> <sip:10.0.0.2;lr>' })).toBe(403);
    expect(await ask('INFO', contact, { To: `<sip:${callee.user}@${domain}>;tag=other` })).toBe(481);
    expect(await ask('INVITE', contact, { 'Call-ID': 'other' })).toBe(481);
    expect(await ask('BYE', contact, { 'Call-ID': 'other' })).toBe(481);
    expect(await ask('INFO', `sip:911@${domain}`, { To: `<sip:911@${domain}>` })).toBe(481);
    expect(await ask('CANCEL', `sip:911@${domain}`, { To: `<sip:911@${domain}>` })).toBe(481);
    caller.request('ACK', 'sip:911@10.0.0.1', inCall);
    expect(server.messages).toHaveLength(before);
    caller.request('INFO', 'sip:x@Y.invalid;other=1', { ...inCall, Route: '<sip:10.0.0.1;lr>' });
    expect(await callee.wait('INFO')).toMatchObject({ uri: contact });
    callee.request('INFO', 'sip:abc@abc.invalid', {
      From: `<sip:${callee.user}@${domain}>;tag=theirs`,
      To: `<sip:${caller.user}@${domain}>;tag=mine`,
      'Call-ID': `call-of-${caller.user}`,
    });
    await caller.wait('INFO');
    await expect
      .poll(() => audited(workspace))
      .toEqual(expect.arrayContaining([expect.objectContaining({ dialled: `sip:+190055501@${domain}` })]));
    await expect
      .poll(async () => (await audited(workspace)).map((each) => each['reason']))
      .toContain('Address Not Of This Call');
  });

  test('that lost its connection resumes only with the other side that the SIP server knows', async () => {
    const { workspace, caller, callee, inCall } = await connectPair();
    await expect.poll(() => rows(workspace)).toBe(2);
    caller.socket.terminate();
    const again = await open(workspace.jwt);
    await again.register();
    const call = { ...inCall, 'Call-ID': `call-of-${caller.user}` };
    again.request('INVITE', `sip:+1900@${domain}`, { ...call, CSeq: '2 INVITE' });
    await again.wait(403);
    again.request('BYE', 'sip:x@y.invalid', { ...call, CSeq: '3 BYE' });
    await callee.wait('BYE');
    callee.answer('BYE', '200 OK');
    await again.wait(200);
    await expect.poll(() => rows(workspace)).toBe(0);
  });

  test('counts as in the call until the other side ends the call', async () => {
    const { workspace, caller, callee, jwt, inCall } = await connectPair();
    await expect.poll(() => rows(workspace)).toBe(2);
    caller.request('BYE', 'sip:x@y.invalid', { ...inCall, 'Max-Forwards': '0', CSeq: '2 BYE' });
    await caller.wait(483);
    const own = { From: `<sip:${caller.user}@${domain}>;tag=second` };
    caller.request('INVITE', `sip:${callee.user}@${domain}`, own);
    await caller.wait(482);
    callee.answer('INVITE', '486 Busy Here');
    callee.request('INVITE', `sip:${caller.user}@${domain}`, { 'Call-ID': `call-of-${caller.user}` });
    await callee.wait(482);
    expect(await rows(workspace)).toBe(2);
    await hub.client(jwt).call('logOut', {});
    await caller.wait('BYE');
    await expect.poll(() => rows(workspace)).toBe(0);
  });

  test('cannot end a call by a response to a request that it did not receive', async () => {
    const { workspace, phone } = await workspaceWithPhone();
    await phone.register();
    const caller = await open(workspace.jwt);
    caller.request('INVITE', `sip:${phone.user}@${domain}`, { 'Call-ID': 'stray' });
    const invite = await phone.wait('INVITE');
    const of = (name: string) => `${name}: ${headerOf(invite, name)}`;
    const head = ['SIP/2.0 486 Busy Here', 'Via: SIP/2.0/WS nowhere.invalid;branch=z9hG4bKnone', of('from')];
    phone.sendRaw([...head, `${of('to')};tag=x`, of('call-id'), of('cseq'), 'Content-Length: 0', '', ''].join('\r\n'));
    phone.answer('INVITE', '200 OK');
    phone.answer('INVITE', '486 Busy Here');
    await caller.wait(200);
    await expect.poll(() => rows(workspace)).toBe(2);
    expect(caller.messages.map((message) => message.kind === 'response' && message.status)).toEqual([200]);
  });

  test('has a limit of concurrent calls to numbers, regardless of the names in its messages', async () => {
    const { workspace, phone } = await workspaceWithPhone();
    const numbers = Array.from({ length: 10 }, (_, at) => `+4977${at}`);
    const answeredInvites = await answerNumbers(numbers);
    for (const [at, number] of numbers.entries()) {
      phone.messages.length = 0;
      phone.request('INVITE', `sip:${number}@${domain}`, { 'Call-ID': `n${at}` });
      await expect.poll(() => phone.messages.length).toBe(1);
      const call = { 'Call-ID': `n${at}`, To: `<sip:${number}@${domain}>;tag=carrier` };
      phone.request('BYE', 'sip:gateway@10.0.0.9', { ...call, 'Max-Forwards': '0', CSeq: '2 BYE' });
      await expect.poll(() => phone.messages.length).toBe(2);
      phone.request('INVITE', `sip:${number}@${domain}`, {
        'Call-ID': `n${at}`,
        From: `<sip:${phone.user}@${domain}>;tag=b`,
      });
      await expect.poll(() => phone.messages.length).toBe(3);
    }
    expect(answeredInvites).toHaveLength(3);
    await expect.poll(() => rows(workspace, 'is_counted')).toBe(3);
  });

  test('is busy for others with 16 calls, so that the hub knows all of them', async () => {
    const { phone } = await workspaceWithPhone();
    await phone.register();
    const before = server.messages.length;
    for (let at = 0; at < 17; at += 1)
      server.send(
        phone.user,
        `INVITE sip:${phone.user}@${domain} SIP/2.0\r\nVia: SIP/2.0/WS s;branch=z9hG4bK${at}\r\nFrom: <sip:a@${domain}>;tag=a\r\nTo: <sip:${phone.user}@${domain}>\r\nCall-ID: in-${at}\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n`,
      );
    await expect.poll(() => server.messages.slice(before)).toMatchObject([{ status: 486 }]);
    await expect.poll(() => phone.messages.length).toBe(16);
  });
});

describe('a softphone in an emergency', () => {
  test('can always call an emergency number in any notation, and the audit log records the call', async () => {
    const { workspace, phone } = await workspaceWithPhone();
    const callee = await open(workspace.jwt);
    await callee.register();
    for (let at = 0; at < 16; at += 1)
      phone.request('INVITE', `sip:${callee.user}@${domain}`, { 'Call-ID': `ring-${at}` });
    await expect.poll(() => callee.messages.length).toBe(16);
    for (let at = 0; at < 15; at += 1) phone.request('INVITE', `sip:+331@${domain}`, { 'Call-ID': `more-${at}` });
    await expect.poll(() => phone.messages.length).toBe(15);
    expect(phone.messages.at(-1)).toMatchObject({ status: 403, reason: 'Too Many Calls' });
    phone.request('INVITE', 'tel:112;phone-context=+49', { 'Call-ID': 'help', Route: '<sip:10.0.0.1;lr>' });
    phone.request('INVITE', 'urn:service:sos.fire', { 'Call-ID': 'fire' });
    await expect
      .poll(() => server.messages.filter((each) => ['help', 'fire'].includes(headerOf(each, 'call-id') ?? '')))
      .toMatchObject([{ uri: `sip:112@${domain}` }, { uri: `sip:112@${domain}` }]);
    expect(
      headersOf(server.messages.findLast((each) => headerOf(each, 'call-id') === 'help') as SipRequest, 'route'),
    ).toEqual([]);
    phone.request('CANCEL', 'urn:service:sos.fire', { 'Call-ID': 'fire', Route: '<sip:10.0.0.1;lr>' });
    await expect.poll(() => server.messages.at(-1)).toMatchObject({ method: 'CANCEL', uri: `sip:112@${domain}` });
    const entry = { action: 'sip_call.emergency', dialled: '112', reason: 'Routed' };
    await expect
      .poll(async () => (await audited(workspace)).filter(({ action }) => action === entry.action))
      .toEqual([entry, entry]);
  });
});

describe('a rejected call of a softphone', () => {
  test('is recorded in the audit log for any number, and a flood is recorded with its count', async () => {
    const { workspace, phone } = await workspaceWithPhone();
    const dialled = ['%00%01a', `${'x'.repeat(63)}%F0%9F%98%80`, '%C2%85%E2%80%AEb'];
    for (const [at, user] of dialled.entries())
      phone.request('INVITE', `sip:${user}@${domain}`, { 'Call-ID': `strange-${at}` });
    phone.request('INVITE', `sip:+4930@${domain}`, { 'Call-ID': 'routed', Route: '<sip:10.0.0.1;lr>' });
    for (let at = 0; at < 40; at += 1) phone.request('INVITE', `sip:+331@${domain}`, { 'Call-ID': `d${at}` });
    await expect.poll(() => phone.messages.length).toBe(44);
    phone.socket.close();
    const { session, tenantId } = workspace;
    const read = async () => {
      const { data } = await session.call('listAuditLog', {
        params: { tenantId },
        query: { targetType: 'user', limit: 100 },
      } as never);
      return (data as { action: string; details: object }[])
        .filter(({ action }) => action === 'sip_call.refused')
        .map(({ details }) => details);
    };
    await expect.poll(async () => (await read()).length).toBe(31);
    expect(await read()).toEqual(
      expect.arrayContaining([
        { dialled: '\ufffd\ufffda', reason: 'Address Not Allowed' },
        { dialled: `${'x'.repeat(63)}\ufffd`, reason: 'Address Not Allowed' },
        { dialled: '\ufffd\ufffdb', reason: 'Address Not Allowed' },
        { dialled: '+4930', reason: 'Route Not Allowed' },
        { reason: 'Too Many To List', more: 14 },
      ]),
    );
  });
});
