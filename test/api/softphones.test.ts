import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CallLeases, LostCalls } from '../../hub/products/calls/softphones/index.ts';
import { patientSoftphones, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { startSipWebSocketServer } from '../fixtures/sip-websocket-server.ts';
import type { SipWebSocketServer } from '../fixtures/sip-websocket-server.ts';
import { openSoftphone } from '../fixtures/softphone.ts';
import type { Softphone } from '../fixtures/softphone.ts';
import {
  acceptCallRecords,
  addQueuedSipReports,
  addSipReport,
  ageDialSums,
  ageSipCalls,
  exhaustSipReports,
  expireSipCalls,
  refuseCallRecords,
  removeSipCalls,
  removeSipReports,
} from '../fixtures/stage/calls.ts';

let server: SipWebSocketServer;
let hub: TestHub;
/** Another process of the same hub. */
let other: TestHub;
beforeAll(async () => {
  server = await startSipWebSocketServer();
  const limits = { SIP_DIAL_ALLOW: '+49', SIP_CALLS_AT_ONCE: '3', SIP_MINUTES_A_DAY: '5' };
  hub = await startHub(
    { ...server.env, ...limits, SIGN_IN_RATE_LIMIT_PER_MINUTE: '300' },
    undefined,
    patientSoftphones,
  );
  other = await startHub(server.env, hub.database, patientSoftphones);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

interface Person {
  jwt: string;
  user: string;
}

/** Creates a workspace that opted into hosted SIP. */
async function workspaceWithPhones(): Promise<TestWorkspace & Person> {
  const workspace = await hub.workspace();
  const { username } = await workspace.session.call('optIntoHostedSip', {});
  return { ...workspace, user: username as string };
}

async function colleagueOf({ session, tenantId }: TestWorkspace): Promise<Person> {
  const [email, password] = [`agent-${process.hrtime.bigint()}@example.org`, 'correct horse battery'];
  await session.call('addMember', { params: { tenantId }, body: { email, password, role: 'agent' } });
  const { token } = await hub.client().call('logIn', { body: { email, password } });
  const { username } = await hub.client(token).call('getHostedSip', {});
  return { jwt: token, user: username as string };
}

async function open({ jwt, user }: Person, url = hub.url): Promise<Softphone> {
  const phone = await openSoftphone(url, jwt, user);
  onTestFinished(() => phone.socket.terminate());
  return phone;
}

/** Functions that start a counted call, one per process. */
async function dialsOf(tenantId: string) {
  const text = 'SELECT id FROM sessions WHERE tenant_id = $1';
  const sessionId = (await hub.database.query<{ id: string }>(text, [tenantId]))[0]?.id as string;
  return [hub, other].map(({ app: { db } }) => {
    const quota = { maxConcurrentCalls: 3, maxMinutesPerDay: 5 };
    const calls = new CallLeases({ db, logger: pino({ level: 'silent' }), quota, server: null });
    onTestFinished(() => calls[Symbol.asyncDispose]());
    return { start: () => calls.start({ tenantId, sessionId }, { callId: 'none', fromTag: 'a' }) };
  });
}
const count = async (tenantId: string, condition: string) => {
  const text = `SELECT count(*)::int AS count FROM sip_calls WHERE tenant_id = $1 AND ${condition}`;
  return (await hub.database.query<{ count: number }>(text, [tenantId]))[0]?.count;
};
const lost = () =>
  new LostCalls({
    db: hub.app.db,
    server: { knows: () => Promise.resolve(false), end: () => Promise.resolve(false) },
    sessions: () => Promise.resolve(new Map()),
  });
const running = (tenantId: string) => count(tenantId, 'true');
const answered = (tenantId: string) => count(tenantId, 'answered_at IS NOT NULL');
const secondsToday = async (tenantId: string) => {
  const text = 'SELECT seconds FROM sip_dial_sums WHERE tenant_id = $1';
  return (await hub.database.query<{ seconds: number }>(text, [tenantId]))[0]?.seconds;
};

/** Connects two members of a workspace in a call, each on another process. */
async function connectPair() {
  const workspace = await workspaceWithPhones();
  const colleague = await colleagueOf(workspace);
  const [caller, callee] = [await open(workspace), await open(colleague, other.url)];
  await callee.register();
  caller.request('INVITE', `sip:${callee.user}@sip.example.com`);
  await callee.wait('INVITE');
  callee.answer('INVITE', '200 OK');
  await caller.wait(200);
  return { workspace, colleague, caller, callee };
}

describe('a softphone', () => {
  test('acts in the name of its signed-in user, and calls colleagues at other processes', async () => {
    const { caller, callee } = await connectPair();
    expect(server.users).toEqual(expect.arrayContaining([caller.user, callee.user]));
    const to = { To: `<sip:${callee.user}@sip.example.com>;tag=theirs` };
    caller.request('BYE', 'sip:x@y.invalid', to);
    await callee.wait('BYE');
    callee.answer('BYE', '200 OK');
    await expect.poll(() => caller.messages.length).toBe(2);
    caller.sendRaw('\r\n\r\n');
    await expect.poll(() => caller.pongs).toBe(1);
    caller.socket.close();
    await expect.poll(() => server.users.includes(caller.user)).toBe(false);
  });

  test.each([
    ['INVITE', { From: '<sip:boss@sip.example.com>;tag=a' }],
    ['INVITE', { From: '"<sip:OWN@sip.example.com>" <sip:boss@sip.example.com>;tag=a' }],
    ['INVITE', { From: '<sip:OWN@sip.example.com>, <sip:boss@sip.example.com>;tag=a' }],
    ['INVITE', { f: '<sip:boss@sip.example.com>;tag=a' }],
    ['INVITE', { From: '<sip:OWN@evil.example>;tag=a' }],
    ['BYE', { From: '<sip:boss@sip.example.com>;tag=a', To: '<sip:OWN@sip.example.com>;tag=b' }],
    ['REGISTER', { To: '<sip:boss@sip.example.com>' }],
    ['REGISTER', { Contact: '<sip:boss@sip.example.com>' }],
    ['REGISTER', { Contact: '<sip:a@a.invalid>, <sip:boss@10.0.0.1>' }],
    ['INVITE', { m: '<sip:boss@10.0.0.1:5060>' }],
    ['INVITE', { Contact: '<sip:a@a.invalid;alias=10.0.0.1~5060~1>' }],
    ['OPTIONS', { 'P-Asserted-Identity': '<sip:boss@sip.example.com>' }],
    ['INVITE', { 'Record-Route': '<sip:10.0.0.1;lr>' }],
  ])('that uses the name of another user in %s is closed: %j', async (method, headers) => {
    const phone = await open(await workspaceWithPhones());
    const own = JSON.parse(JSON.stringify(headers).replaceAll('OWN', phone.user)) as Record<string, string>;
    const before = server.messages.length;
    phone.request(method, `sip:${phone.user}@sip.example.com`, own);
    await expect.poll(() => phone.closed).toBe(4403);
    expect(server.messages).toHaveLength(before);
  });
  test('is refused a number that is not allowed, which is audited; an allowed number is called in its canonical form', async () => {
    const workspace = await workspaceWithPhones();
    const phone = await open(workspace);
    const before = server.messages.length;
    phone.request('INVITE', 'sip:+33-1@sip.example.com');
    expect(await phone.wait(403)).toMatchObject({ reason: 'Number Not Allowed' });
    phone.request('ACK', 'sip:+33-1@sip.example.com');
    phone.request('INVITE', 'sip:9%31%31@sip.example.com', { 'Call-ID': 'emergency' });
    await expect.poll(() => phone.messages.at(-1)).toMatchObject({ reason: 'Emergency Calls Not Possible Here' });
    phone.request('INVITE', 'tel:+49-30', { 'Call-ID': 'allowed' });
    await phone.wait(404);
    expect(server.messages.slice(before)).toMatchObject([{ method: 'INVITE', uri: 'sip:+4930@sip.example.com' }]);
    const refused = () =>
      workspace.session.call('listAuditLog', {
        params: { tenantId: workspace.tenantId },
        query: { targetType: 'user' },
      } as never);
    await expect
      .poll(async () => (await refused()).data.filter(({ action }) => action === 'sip_call.refused'))
      .toMatchObject([{ details: { dialled: '911' } }, { details: { dialled: '+331', reason: 'Number Not Allowed' } }]);
  });

  test('ends its calls on both sides before it is closed when its user logs out at another process', async () => {
    const { workspace, caller, callee } = await connectPair();
    await other.client(workspace.jwt).call('logOut', {});
    await expect.poll(() => caller.closed).toBe(4401);
    expect(server.ended).toContainEqual([`call-of-${caller.user}`, 'mine', 'theirs']);
    await Promise.all([caller.wait('BYE'), callee.wait('BYE')]);
    expect(callee.closed).toBeNull();
  });

  test('cancels its unanswered call when its user logs out', async () => {
    const workspace = await workspaceWithPhones();
    const colleague = await colleagueOf(workspace);
    const [caller, callee] = [await open(workspace), await open(colleague, other.url)];
    await callee.register();
    caller.request('INVITE', `sip:${callee.user}@sip.example.com`);
    await callee.wait('INVITE');
    await workspace.session.call('logOut', {});
    await callee.wait('CANCEL');
    await expect.poll(() => caller.closed).toBe(4401);
  });

  test('that loses its connection while ringing cancels its call, and callers do not wait for it', async () => {
    const workspace = await workspaceWithPhones();
    const colleague = await colleagueOf(workspace);
    const [caller, callee] = [await open(workspace), await open(colleague, other.url)];
    await callee.register();
    caller.request('INVITE', `sip:${callee.user}@sip.example.com`);
    await callee.wait('INVITE');
    caller.socket.terminate();
    await callee.wait('CANCEL');
    const again = await open(workspace);
    again.request('INVITE', `sip:${callee.user}@sip.example.com`, { 'Call-ID': 'again' });
    await expect.poll(() => callee.messages.filter(({ kind }) => kind === 'request')).toHaveLength(3);
    callee.socket.terminate();
    await again.wait(480);
    await expect.poll(() => running(workspace.tenantId)).toBe(0);
  });

  test('that lost its connection during a call loses the call with its session, also if its process has ended', async () => {
    const { workspace, caller, callee } = await connectPair();
    await expect.poll(() => answered(workspace.tenantId)).toBe(2);
    caller.socket.terminate();
    const again = await open(workspace, other.url);
    await again.register();
    callee.socket.terminate();
    expect(server.ended.flat()).not.toContain(`call-of-${caller.user}`);
    await hub.client(workspace.jwt).call('logOut', {});
    await expect.poll(() => again.closed).toBe(4401);
    expect(server.ended).toContainEqual([`call-of-${caller.user}`, 'mine', 'theirs']);
    const alone = await connectPair();
    await expect.poll(() => answered(alone.workspace.tenantId)).toBe(2);
    alone.caller.socket.terminate();
    await alone.workspace.session.call('logOut', {});
    await alone.callee.wait('BYE');
    expect(alone.callee.closed).toBeNull();
    await expect.poll(() => running(alone.workspace.tenantId)).toBe(0);
  });

  test('whose process died keeps its call in the limits of other processes, while the SIP server knows the call', async () => {
    const { workspace, caller, callee } = await connectPair();
    await expect.poll(() => answered(workspace.tenantId)).toBe(2);
    [caller, callee].forEach(({ socket }) => socket.terminate());
    await expireSipCalls(hub.database, workspace.tenantId, { minutes: 1 });
    const expired = () => count(workspace.tenantId, 'expires_at < now()');
    // A sweep to which the SIP server answers late renews nothing.
    await expect
      .poll(async () => {
        await hub.app.sweep();
        return [await running(workspace.tenantId), await expired()];
      })
      .toEqual([2, 0]);
    // The processes that keep the call may renew it between the two.
    await expect
      .poll(async () => {
        await expireSipCalls(hub.database, workspace.tenantId, { minutes: 1 });
        await lost().sweep();
        return running(workspace.tenantId);
      })
      .toBe(0);
  });

  test('with a call that the SIP server cannot end does not delay the end of other calls', async () => {
    const pairs = [await connectPair(), await connectPair()];
    const tenants = pairs.map(({ workspace }) => workspace.tenantId);
    for (const tenantId of tenants) await expect.poll(() => answered(tenantId)).toBe(2);
    const stuck = `call-of-${pairs[0]?.caller.user}`;
    const end = ({ callId }: { callId: string }) =>
      callId === stuck ? Promise.reject(new Error('too large')) : Promise.resolve(true);
    const sessions = () => Promise.resolve(new Map());
    const stuckServer = { knows: () => Promise.resolve(true), end };
    const ended = new LostCalls({ db: hub.app.db, server: stuckServer, sessions }).endRevoked(
      new AbortController().signal,
    );
    await expect(ended).rejects.toThrow('too large');
    expect([await running(tenants[0] as string), await running(tenants[1] as string)]).toEqual([2, 0]);
  });

  test('keeps its call when the database fails as the call is answered, and its time is charged from then on', async () => {
    const workspace = await hub.workspace();
    const { tenantId } = workspace;
    const sessionId = (
      await hub.database.query<{ id: string }>('SELECT id FROM sessions WHERE tenant_id = $1', [tenantId])
    )[0]?.id as string;
    let isAway = true;
    const { db: real } = hub.app;
    const systemStatement: typeof real.systemStatement = (...given) =>
      isAway ? Promise.reject(new Error('out of reach')) : real.systemStatement(...given);
    const db = new Proxy(real, {
      get: (target, name) =>
        name === 'systemStatement' ? systemStatement : Reflect.get(target, name, target).bind(target),
    });
    const quota = { maxConcurrentCalls: 3, maxMinutesPerDay: 5 };
    await using calls = new CallLeases({ db, logger: pino({ level: 'silent' }), quota, server: null });
    const counted = await calls.start({ tenantId, sessionId }, { callId: 'number', fromTag: 'a' });
    if (typeof counted === 'string') throw new Error(counted);
    counted.answered({ callId: 'number', fromTag: 'a', toTag: 'b' });
    calls.track({ tenantId, sessionId }, { callId: 'colleague', fromTag: 'a', toTag: 'b' });
    const over = calls.track({ tenantId, sessionId }, { callId: 'over', fromTag: 'a', toTag: 'b' });
    await calls.renew();
    expect([await running(tenantId), await answered(tenantId)]).toEqual([1, 0]);
    isAway = false;
    over.ended();
    // Simulates a sweep that regards the process as dead.
    await removeSipCalls(hub.database, tenantId);
    await calls.renew();
    expect([await running(tenantId), await count(tenantId, 'answered_at < now() AND expires_at > now()')]).toEqual([
      2, 2,
    ]);
    await ageSipCalls(hub.database, tenantId, { seconds: 40 });
    isAway = true;
    counted.ended();
    await calls.renew();
    expect(await running(tenantId)).toBe(2);
    isAway = false;
    await calls.renew();
    expect([await running(tenantId), await secondsToday(tenantId)]).toEqual([
      1,
      expect.toSatisfy((seconds) => seconds >= 40),
    ]);
  });

  test('is notified when the SIP server is killed during a call, and its call record is closed after the restart', async () => {
    const { workspace, caller, callee } = await connectPair();
    const { tenantId } = workspace;
    await expect.poll(() => answered(tenantId)).toBe(2);
    const event = { event: 'answered', callId: `call-of-${caller.user}~1764000000.5`, at: new Date().toISOString() };
    await addSipReport(hub.database, tenantId, event);
    const records = async () => (await workspace.session.call('listCalls', { query: {} })).items;
    await expect.poll(records).toMatchObject([{ state: 'in_progress' }]);
    server.drop();
    await expect.poll(() => [caller.closed, callee.closed]).toEqual([1013, 1013]);
    await expireSipCalls(hub.database, tenantId, { minutes: 1 });
    await hub.app.sweep();
    await expect.poll(() => running(tenantId)).toBe(0);
    await expect.poll(records).toMatchObject([{ state: 'ended', reason: 'no_final_event' }]);
  });

  test('has its calls recorded although other records fail, which are retried and finally dropped', async () => {
    const [poisoned, { tenantId, session }] = [await hub.workspace(), await hub.workspace()];
    await refuseCallRecords(hub.database, poisoned.tenantId);
    onTestFinished(() => acceptCallRecords(hub.database));
    const say = (tenant: string, prefix: string, calls = 1) =>
      addQueuedSipReports(hub.database, tenant, { prefix, count: calls });
    await say(poisoned.tenantId, 'its-', 1_200);
    await say(tenantId, 'poison-');
    await say(tenantId, 'good-');
    const records = async () => (await session.call('listCalls', { query: {} })).items.map(({ callSid }) => callSid);
    await expect.poll(records).toEqual(['good-1']);
    const left = async () => {
      const text = 'SELECT tenant_id AS id, min(tries) AS tries FROM sip_reports GROUP BY tenant_id';
      return Object.fromEntries(
        (await hub.database.query<{ id: string; tries: number }>(text)).map(({ id, tries }) => [id, tries > 0]),
      );
    };
    await expect.poll(left).toEqual({ [poisoned.tenantId]: true, [tenantId]: true });
    await removeSipReports(hub.database, { prefix: 'its-', except: 'its-7' });
    await exhaustSipReports(hub.database);
    await expect.poll(left).toEqual({});
    expect(await records()).toEqual(['good-1']);
  });

  test('is closed when it floods the SIP server with registrations, although most do not reach the server', async () => {
    const phone = await open(await workspaceWithPhones());
    const before = server.messages.length;
    for (let at = 0; at < 400; at += 1)
      phone.request('REGISTER', 'sip:sip.example.com', { 'Call-ID': 'r', CSeq: `${at} REGISTER` });
    await expect.poll(() => phone.closed).toBe(4429);
    expect(server.messages.length - before).toBeLessThan(350);
  });

  test('is closed at every process and its calls are ended when its workspace changes to its own trunk', async () => {
    const { workspace, caller, callee } = await connectPair();
    const body = { host: 'sip.example.com', username: 'acme', password: 'secret' };
    await workspace.session.call('registerOwnTrunk', { body });
    await expect.poll(() => [caller.closed, callee.closed]).toEqual([4403, 4403]);
    await expect.poll(() => server.removedUsers).toContain(workspace.user.slice(0, 17));
    await expect.poll(() => server.ended).toContainEqual([`call-of-${caller.user}`, 'mine', 'theirs']);
  });

  test('is closed with a code that names the problem', async () => {
    const workspace = await hub.workspace();
    const closed = async (act: (phone: Softphone) => void) => {
      const phone = await open({ jwt: workspace.jwt, user: 'me' });
      act(phone);
      await expect.poll(() => phone.closed).not.toBeNull();
      return phone.closed;
    };
    expect(await closed(() => undefined)).toBe(4403);
    await workspace.session.call('optIntoHostedSip', {});
    expect(await closed((phone) => phone.sendRaw('x'.repeat(70 * 1024)))).toBe(1009);
    expect(await closed((phone) => phone.sendRaw('hello'))).toBe(1007);
    expect(await closed((phone) => phone.sendRaw('OPTIONS sip:a@b SIP/2.0\nFrom: x\n\n'))).toBe(1007);
    const kept = await open({ jwt: workspace.jwt, user: 'me' });
    await expect.poll(() => server.users.length).toBeGreaterThan(0);
    server.drop();
    await expect.poll(() => kept.closed).toBe(1013);
    // A new minute can begin meanwhile, so twice as many as a minute allows.
    const codes: (number | null)[] = [];
    while (codes.length <= 20 && codes.at(-1) !== 4429) codes.push(await closed((phone) => phone.sendRaw('hello')));
    expect(codes.at(-1)).toBe(4429);
  });

  test('that does not read is disconnected before much data is buffered', async () => {
    const workspace = await workspaceWithPhones();
    const phone = await open(workspace);
    await phone.register();
    phone.socket.pause();
    const who = 'From: <sip:a@b>;tag=a\r\nTo: <sip:a@b>\r\nCall-ID: a\r\nCSeq: 1 OPTIONS';
    const text = `OPTIONS sip:a@b SIP/2.0\r\n${who}\r\nSubject: ${'x'.repeat(14_000)}\r\n\r\n`;
    let sentBytes = 0;
    await expect
      .poll(() => {
        for (let at = 0; at < 100; at += 1) server.send(phone.user, text);
        sentBytes += 100 * text.length;
        return server.users.includes(phone.user);
      })
      .toBe(false);
    // The buffers of the operating system on both connections hold most of it.
    expect(sentBytes).toBeLessThan(32 * 1024 * 1024);
  });

  test.each([
    { From: '<sip:OWN@sip.example.com>' },
    { From: '<sip:OWN@sip.example.com>;tag=a;TAG=b' },
    { From: '<sip:OWN@sip.example.com>;tag="a"' },
    { To: '<sip:+4930@sip.example.com>\r\n ;a=b' },
    { To: '<sip:+4930@sip.example.com>;x=";tag=a";tag=b' },
    { 'Call-ID': 'a b' },
    { 'Call-ID': 'a\r\n b' },
    { 'Call-ID': '\r\n ab' },
    { 'Call-ID': 'ü' },
    { 'Call-ID': 'a@b@c' },
    { 'Call-ID': 'x'.repeat(256) },
    { CSeq: '1 BYE' },
  ])('gets 400 for a call that two servers could identify differently: %j', async (headers) => {
    const phone = await open(await workspaceWithPhones());
    const own = JSON.parse(JSON.stringify(headers).replaceAll('OWN', phone.user)) as Record<string, string>;
    const before = server.messages.length;
    phone.request('INVITE', 'sip:+4930@sip.example.com', own);
    await phone.wait(400);
    expect(server.messages).toHaveLength(before);
  });

  test('stays connected when the SIP server sends unreadable messages, and receives text that is not UTF-8', async () => {
    const phone = await open(await workspaceWithPhones());
    await phone.register();
    const before = server.messages.length;
    const invite = (callId: string, subject: string) =>
      Buffer.from(
        `INVITE sip:${phone.user}@sip.example.com SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bK1\r\nFrom: <sip:a@sip.example.com>;tag=a\r\nTo: <sip:${phone.user}@sip.example.com>\r\nCall-ID: ${callId}\r\nCSeq: 1 INVITE\r\nSubject: ${subject}\r\nContent-Length: 0\r\n\r\n`,
        'latin1',
      );
    server.send(phone.user, invite('controls', 'a\0\x01b\rc'));
    await expect
      .poll(() => server.messages.slice(before))
      .toMatchObject([{ status: 400, headers: expect.arrayContaining([['call-id', 'controls']]) }]);
    server.send(phone.user, invite('two-tags', 'a').toString('latin1').replace('tag=a', 'tag=a;tag=b'));
    await expect.poll(() => server.messages.at(-1)).toMatchObject({ status: 400 });
    server.send(phone.user, Buffer.from('nothing\0\r\n\r\n'));
    server.send(phone.user, invite('latin', 'Gr\xfc\xdfe'));
    expect(await phone.wait('INVITE')).toMatchObject({ headers: expect.arrayContaining([['call-id', 'latin']]) });
    expect(phone.closed).toBeNull();
    phone.socket.send(invite('own', 'Gr\xfc\xdfe'), { binary: true });
    await expect.poll(() => phone.closed).toBe(1007);
    expect(JSON.stringify(server.messages.slice(before))).not.toContain('"own"');
  });

  test('has a limit of concurrent calls to numbers, over all processes and for concurrent requests', async () => {
    const workspace = await workspaceWithPhones();
    const dials = await dialsOf(workspace.tenantId);
    const asked = await Promise.all(Array.from({ length: 20 }, async (_, at) => dials[at % 2]?.start() ?? 'none'));
    const begun = asked.flatMap((dial) => (typeof dial === 'string' ? [] : [dial]));
    expect(begun).toHaveLength(3);
    const phone = await open(workspace);
    phone.request('INVITE', 'sip:+4930@sip.example.com');
    phone.request('ACK', 'sip:+4930@sip.example.com');
    expect(await phone.wait(403)).toMatchObject({ reason: 'Too Many Calls At Once' });
    begun[0]?.ended();
    await expect.poll(() => running(workspace.tenantId)).toBe(2);
    phone.request('INVITE', 'sip:+4930@sip.example.com', { 'Call-ID': 'another' });
    await phone.wait(404);
    await expect.poll(() => running(workspace.tenantId)).toBe(2);
  });

  test('starts no call to a number after the daily minutes are used up, also by calls in progress or of a dead process', async () => {
    const workspace = await workspaceWithPhones();
    const { tenantId } = workspace;
    const [dials] = await dialsOf(tenantId);
    const one = await dials?.start();
    if (typeof one !== 'object') throw new Error('no call began');
    one.answered({ callId: 'none', fromTag: 'a', toTag: 'b' });
    await expect.poll(() => answered(tenantId)).toBe(1);
    const back = () => ageSipCalls(hub.database, tenantId, { minutes: 6 });
    await back();
    expect(await dials?.start()).toBe('minutes_per_day');
    await expireSipCalls(hub.database, tenantId, { minutes: 4 });
    await lost().sweep();
    expect(await running(tenantId)).toBe(0);
    expect(await secondsToday(tenantId)).toBeGreaterThanOrEqual(119);
    const two = await dials?.start();
    if (typeof two !== 'object') throw new Error('no call began');
    two.answered({ callId: 'none', fromTag: 'a', toTag: 'b' });
    await expect.poll(() => answered(tenantId)).toBe(1);
    await back();
    two.ended();
    await expect.poll(() => secondsToday(tenantId)).toBeGreaterThanOrEqual(479);
    const phone = await open(workspace);
    phone.request('INVITE', 'sip:+4930@sip.example.com');
    expect(await phone.wait(403)).toMatchObject({ reason: 'Minutes Of The Day Used Up' });
    await ageDialSums(hub.database, tenantId);
    expect(typeof (await dials?.start())).toBe('object');
  });

  test('needs a session of an entitled workspace', async () => {
    await expect(openSoftphone(hub.url, 'a.b.c', 'me')).rejects.toThrow('401');
    const { jwt } = await hub.workspace();
    const plain = await send(hub.url, 'GET', `/sip/ws?token=${jwt}`);
    expect(plain.body).toMatchObject({ statusCode: 426, code: 'upgrade_required' });
  });
});
