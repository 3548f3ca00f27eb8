import { createECDH, randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { startPushService } from '../fixtures/push-service.ts';
import type { PushBrowser, PushService } from '../fixtures/push-service.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { escalateApproval, expireApprovals, makeApprovalPushesDue } from '../fixtures/stage/automations.ts';
import { queryAsWorkspace } from '../fixtures/stage/core.ts';
import { until } from '../fixtures/until.ts';

let database: TestDatabase;
let service: PushService;
let hub: TestHub;
let second: TestHub;
const log: string[] = [];
let publicKey = '';

const startOne = () =>
  startHub({ EGRESS_ALLOW_HOSTS: service.host, SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' }, database, {
    logger: pino({ level: 'debug' }, { write: (line: string) => log.push(line) }),
  });

beforeAll(async () => {
  database = await acquireDatabase();
  service = await startPushService(() => publicKey);
  hub = await startOne();
  second = await startOne();
  const { session } = await hub.workspace();
  ({ publicKey } = await session.call('readPushState', {}));
});
afterAll(async () => {
  await second?.[Symbol.asyncDispose]();
  await hub?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  service.received.length = 0;
  service.answer = (_received, response) => void response.writeHead(201).end();
});

async function addMember(workspace: TestWorkspace, role: 'admin' | 'agent' = 'agent') {
  const email = `member.${process.hrtime.bigint()}@example.org`;
  const { id } = await workspace.session.call('addMember', {
    params: { tenantId: workspace.tenantId },
    body: { email, password: workspace.password, role },
  });
  const { token } = await hub.client().call('logIn', { body: { email, password: workspace.password } });
  return { id, email, token, session: hub.client(token) };
}

async function subscribe(session: TestWorkspace['session'], browser: PushBrowser = service.subscribe()) {
  const { id } = await session.call('createPushSubscription', { body: browser });
  return { id, path: new URL(browser.endpoint).pathname, browser };
}

async function ask(workspace: TestWorkspace, step: Record<string, unknown>, name = 'Invoice reminder') {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name, stepsJson: [{ type: 'approval', title: 'Ship?', ...step }] as never },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id }, body: {} }));
  await settledRun(workspace.api, runId);
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId } });
  return { runId, approvalId: data[0]?.id as string };
}

const messagesTo = (path: string) => service.received.filter((received) => received.path === path);
const pushesOf = (approvalId: string) =>
  database.query<{ attempts: number; seconds: number | null }>(
    'select attempts, extract(epoch from due_at - now())::float8 as seconds from approval_pushes where approval_id = $1',
    [approvalId],
  );

describe('The push subscriptions of a user', () => {
  test('are created, listed with their browser, replaced by the same endpoint, and removed', async () => {
    const workspace = await hub.workspace();
    const { session } = workspace;
    expect(await session.call('readPushState', {})).toEqual({ publicKey, subscriptions: [] });
    expect(Buffer.from(publicKey, 'base64url')).toHaveLength(65);
    // All processes use the same key.
    expect((await second.client(workspace.jwt).call('readPushState', {})).publicKey).toBe(publicKey);
    const browser = service.subscribe();
    const { body } = await send(hub.url, 'POST', '/auth/me/push-subscriptions', {
      headers: { authorization: `Bearer ${workspace.jwt}`, 'user-agent': `Phone ${'x'.repeat(400)}` },
      body: browser,
    });
    expect(body).toMatchObject({ client: `Phone ${'x'.repeat(294)}` });
    await subscribe(session, browser);
    const { subscriptions } = await session.call('readPushState', {});
    expect(subscriptions).toHaveLength(1);
    expect(subscriptions[0]?.client).not.toContain('Phone');
    expect(JSON.stringify(subscriptions)).not.toContain(browser.endpoint);
    const id = subscriptions[0]?.id ?? '';
    expect(await session.call('deletePushSubscription', { params: { id } })).toEqual({ id, deleted: true });
    await expect(session.call('deletePushSubscription', { params: { id } })).rejects.toMatchObject({
      code: 'not_found',
    });
    const { data } = await session.call('listAuditLog', { params: { tenantId: workspace.tenantId }, query: {} });
    expect(data.slice(0, 3).map(({ action }) => action)).toEqual([
      'member.push_unsubscribed',
      'member.push_subscribed',
      'member.push_subscribed',
    ]);
  });

  test('are refused with an endpoint that is not reachable, and with invalid keys', async () => {
    const { session } = await hub.workspace();
    const browser = service.subscribe();
    const refused = (body: PushBrowser, path: string) =>
      expect(session.call('createPushSubscription', { body })).rejects.toMatchObject({
        code: 'validation_failed',
        details: [{ path: `body.${path}` }],
      });
    for (const endpoint of [
      'not a URL',
      'http://push.example.org/a',
      'ftp://push.example.org/a',
      'https://10.0.0.1/a',
      'https://[::1]/a',
      'https://user:secret@push.example.org/a',
      `https://push.example.org/${'a'.repeat(2_000)}`,
      `https://push.example.org/${'ä'.repeat(500)}`,
    ])
      await refused({ ...browser, endpoint }, 'endpoint');
    const { p256dh } = browser.keys;
    const compressed = createECDH('prime256v1').generateKeys('base64url', 'compressed');
    const outside = Buffer.from(p256dh, 'base64url');
    outside.writeUInt8((outside[64] ?? 0) ^ 1, 64);
    const hybrid = Buffer.from(p256dh, 'base64url');
    hybrid.writeUInt8(6 + ((hybrid[64] ?? 0) % 2));
    for (const key of ['', compressed, outside.toString('base64url'), hybrid.toString('base64url'), `${p256dh}AA`])
      await refused({ ...browser, keys: { ...browser.keys, p256dh: key } }, 'keys.p256dh');
    for (const auth of ['', randomBytes(15).toString('base64url'), randomBytes(17).toString('base64url')])
      await refused({ ...browser, keys: { ...browser.keys, auth } }, 'keys.auth');
    expect((await session.call('readPushState', {})).subscriptions).toEqual([]);
  });

  test('are at most 10, also when they are created at the same time', async () => {
    const { session } = await hub.workspace();
    const results = await Promise.allSettled(Array.from({ length: 14 }, () => subscribe(session)));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(failures).toHaveLength(4);
    expect(failures[0]).toMatchObject({ code: 'conflict', message: expect.stringContaining('10 browsers') as string });
    expect((await session.call('readPushState', {})).subscriptions).toHaveLength(10);
  });

  test('belong to one user, and a browser to the user who subscribed last', async () => {
    const [one, other] = [await hub.workspace(), await hub.workspace()];
    const colleague = await addMember(one, 'admin');
    const { id, browser } = await subscribe(one.session);
    for (const session of [colleague.session, other.session]) {
      expect((await session.call('readPushState', {})).subscriptions).toEqual([]);
      await expect(session.call('deletePushSubscription', { params: { id } })).rejects.toMatchObject({
        code: 'not_found',
      });
    }
    expect(await queryAsWorkspace(database, other.tenantId, 'select id from push_subscriptions')).toEqual([]);
    await subscribe(other.session, browser);
    expect((await one.session.call('readPushState', {})).subscriptions).toEqual([]);
    expect((await other.session.call('readPushState', {})).subscriptions).toHaveLength(1);
    await expect(one.api.call('readPushState', {})).rejects.toMatchObject({ status: 401 });
  });

  test('end with the session and with the membership of their user', async () => {
    const workspace = await hub.workspace();
    const [signedOut, ended, removed] = [
      await addMember(workspace),
      await addMember(workspace),
      await addMember(workspace),
    ];
    const paths: string[] = [];
    for (const { session } of [signedOut, ended, removed]) paths.push((await subscribe(session)).path);
    const { path } = await subscribe((await addMember(workspace)).session);
    await signedOut.session.call('logOut', {});
    const again = await hub.client().call('logIn', { body: { email: ended.email, password: workspace.password } });
    await hub.client(again.token).call('endOtherOwnSessions', {});
    expect((await hub.client(again.token).call('readPushState', {})).subscriptions).toEqual([]);
    await workspace.session.call('removeMember', {
      params: { tenantId: workspace.tenantId, userId: removed.id },
      query: {},
    });
    expect(
      await database.query('select endpoint from push_subscriptions where tenant_id = $1', [workspace.tenantId]),
    ).toEqual([{ endpoint: service.url + path }]);
    await ask(workspace, {});
    await until(
      () => messagesTo(path).length === 1,
      () => 'the member who is signed in was not notified',
    );
    expect(paths.flatMap(messagesTo)).toEqual([]);
  });
});

describe('A pending approval', () => {
  test('is sent once, encrypted, to each browser of those who may decide it, and to no others', async () => {
    const workspace = await hub.workspace();
    const [ann, ben] = [await addMember(workspace), await addMember(workspace)];
    const phone = await subscribe(ann.session);
    const laptop = await subscribe(ann.session);
    const notNamed = await subscribe(ben.session);
    // The admin created the key that starts the run.
    const starter = await subscribe(workspace.session);
    const other = await subscribe((await hub.workspace()).session);
    const { approvalId } = await ask(
      workspace,
      { title: `Pay 100\u202E001? ${'ü'.repeat(150)}`, approvers: [ann.email], expiresInSeconds: 3_600 },
      'Invoices\u0007',
    );
    await until(
      () => [phone, laptop].every(({ path }) => messagesTo(path).length === 1),
      () => 'a browser was not notified',
    );
    const [received] = messagesTo(phone.path);
    const title = String(received?.message['title']);
    expect(title).toMatch(/^Pay 100⟨U\+202E⟩001\? ü+…$/);
    expect([...title]).toHaveLength(120);
    expect(received?.message).toEqual({
      title,
      workflowName: 'Invoices⟨U+0007⟩',
      path: `/app/approvals/${approvalId}`,
    });
    expect(received?.headers).toMatchObject({ urgency: 'high', 'content-encoding': 'aes128gcm' });
    expect(Number(received?.headers['ttl'])).toBeGreaterThan(3_000);
    expect(Number(received?.headers['ttl'])).toBeLessThanOrEqual(3_600);
    expect(received?.headers['topic']).toMatch(/^[\w-]{32}$/);
    expect(messagesTo(laptop.path)[0]).toMatchObject({
      bytes: received?.bytes,
      headers: { topic: received?.headers['topic'] },
    });
    await ask(workspace, { title: 'Next', approvers: [ben.email] });
    await until(
      () => messagesTo(notNamed.path).length === 1,
      () => 'the approver of the next approval was not notified',
    );
    expect(messagesTo(notNamed.path)[0]?.headers['ttl']).toBe('86400');
    expect(messagesTo(phone.path)).toHaveLength(1);
    expect([...messagesTo(starter.path), ...messagesTo(other.path)]).toEqual([]);
  });

  test('is sent to further members after its escalation, and not in a test run', async () => {
    const workspace = await hub.workspace();
    const [ann, cem] = [await addMember(workspace), await addMember(workspace)];
    const approvers = [ann.email];
    const { approvalId } = await ask(workspace, {
      approvers,
      escalateAfterSeconds: 3_600,
      escalateTo: [cem.email],
    });
    // No approver has a subscription before the escalation.
    const later = await subscribe(cem.session);
    await escalateApproval(database, approvalId);
    await until(
      () => messagesTo(later.path).length === 1,
      () => 'the member was not notified after the escalation',
    );
    const { key } = await workspace.createKey({ environment: 'test' });
    const tester = hub.client(key);
    const { id } = await tester.call('createAutomationWorkflow', {
      body: { name: 'tried', stepsJson: [{ type: 'approval', title: 'Test?', approvers: [cem.email] }] },
    });
    const { runId } = startedRun(await tester.call('runAutomationWorkflow', { params: { id }, body: {} }));
    await settledRun(workspace.api, runId);
    await ask(workspace, { title: 'Real?', approvers: [cem.email] });
    await until(
      () => messagesTo(later.path).length === 2,
      () => 'the member was not notified of the live run',
    );
    expect(messagesTo(later.path).map(({ message }) => message['title'])).toEqual(['Ship?', 'Real?']);
  });

  test('is sent again after a failure, no earlier than the push service allows, and at most five times', async () => {
    const workspace = await hub.workspace();
    const { path } = await subscribe((await addMember(workspace)).session);
    service.answer = (_received, response) => void response.writeHead(500).end('x'.repeat(100_000));
    const { approvalId } = await ask(workspace, {});
    await expect.poll(() => pushesOf(approvalId)).toMatchObject([{ attempts: 1 }]);
    await expect.poll(async () => (await pushesOf(approvalId))[0]?.seconds).toBeLessThanOrEqual(15);
    service.answer = (_received, response) => void response.writeHead(429, { 'retry-after': '1200' }).end();
    await makeApprovalPushesDue(database, approvalId);
    await expect.poll(async () => (await pushesOf(approvalId))[0]?.seconds).toBeGreaterThan(1_100);
    service.answer = (_received, response) =>
      void response.writeHead(503, { 'retry-after': '999999', location: '/elsewhere' }).end();
    for (const attempts of [3, 4]) {
      await makeApprovalPushesDue(database, approvalId);
      await expect.poll(() => pushesOf(approvalId)).toMatchObject([{ attempts }]);
      await expect.poll(async () => (await pushesOf(approvalId))[0]?.seconds).toBeGreaterThan(3_500);
    }
    await makeApprovalPushesDue(database, approvalId);
    await expect.poll(() => pushesOf(approvalId)).toEqual([{ attempts: 5, seconds: null }]);
    expect(messagesTo(path)).toHaveLength(5);
  });

  test('is not sent again when the push service refuses it, and 410 removes the subscription', async () => {
    const workspace = await hub.workspace();
    const { session } = await addMember(workspace);
    const { path } = await subscribe(session);
    service.answer = (_received, response) => void response.writeHead(302, { location: `${service.url}/else` }).end();
    const { approvalId } = await ask(workspace, {});
    await expect.poll(() => pushesOf(approvalId)).toEqual([{ attempts: 1, seconds: null }]);
    service.answer = (_received, response) => void response.writeHead(410).end();
    await ask(workspace, {});
    await expect.poll(async () => (await session.call('readPushState', {})).subscriptions).toEqual([]);
    expect(service.received.map((received) => received.path)).toEqual([path, path]);
  });

  test('is not sent any more once it is decided or expired', async () => {
    const workspace = await hub.workspace();
    const { session } = await addMember(workspace);
    const { path } = await subscribe(session);
    service.answer = (_received, response) => void response.writeHead(500).end();
    for (const end of [
      (id: string) => session.call('growthDecideApproval', { params: { id }, body: { decision: 'approved' } }),
      (id: string) => expireApprovals(database, { approvalId: id }),
    ]) {
      service.received.length = 0;
      const { approvalId } = await ask(workspace, { expiresInSeconds: 3_600 });
      await until(
        () => messagesTo(path).length === 1,
        () => 'no attempt was made',
      );
      await end(approvalId);
      await makeApprovalPushesDue(database, approvalId);
      await expect.poll(() => pushesOf(approvalId)).toEqual([]);
      expect(messagesTo(path)).toHaveLength(1);
    }
  });

  test('is sent by another process when the first one stops during the attempt', async () => {
    const own = await acquireDatabase();
    await using scope = new AsyncDisposableStack();
    scope.use(own);
    const env = { EGRESS_ALLOW_HOSTS: service.host };
    const [first, key] = [await startHub(env, own), publicKey];
    const workspace = await first.workspace();
    ({ publicKey } = await workspace.session.call('readPushState', {}));
    // The service does not answer.
    service.answer = () => undefined;
    const email = `ann.${process.hrtime.bigint()}@example.org`;
    await workspace.session.call('addMember', {
      params: { tenantId: workspace.tenantId },
      body: { email, password: workspace.password, role: 'agent' },
    });
    const { token } = await first.client().call('logIn', { body: { email, password: workspace.password } });
    const { path } = await subscribe(first.client(token));
    const { approvalId } = await ask(workspace, {});
    await until(
      () => messagesTo(path).length === 1,
      () => 'no attempt was made',
    );
    await first[Symbol.asyncDispose]();
    service.answer = (_received, response) => void response.writeHead(201).end();
    await makeApprovalPushesDue(own, approvalId);
    scope.use(await startHub(env, own));
    await until(
      () => messagesTo(path).length === 2,
      () => 'the notification was lost',
    );
    expect(messagesTo(path)[1]?.message).toEqual(messagesTo(path)[0]?.message);
    publicKey = key;
  });

  test('leaves neither endpoints nor keys in the log', async () => {
    const workspace = await hub.workspace();
    const { session } = await addMember(workspace);
    service.answer = (_received, response) => void response.writeHead(403).end();
    const { path, browser } = await subscribe(session);
    await ask(workspace, {});
    await until(
      () => log.some((line) => line.includes('The push service answered 403.')),
      () => 'the failure was not logged',
    );
    const [{ value: sealed } = { value: '' }] = await database.query<{ value: string }>(
      "select value from hub_settings where key = 'vapid_key'",
    );
    expect(sealed).toMatch(/^v1:/);
    const text = log.join('\n');
    for (const secret of [path, browser.keys.auth, browser.keys.p256dh, 'vapid t=', sealed])
      expect(text).not.toContain(secret);
  });
});
