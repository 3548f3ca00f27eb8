import { createECDH, randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { startPushService } from '../fixtures/push-service.ts';
import type { PushBrowser, PushService } from '../fixtures/push-service.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { escalateApproval, expireApprovals, makeApprovalPushesDue } from '../fixtures/stage/automations.ts';
import {
  agePushRefusals,
  agePushSubscription,
  expireSessions,
  queryAsWorkspace,
  removeExpiredSessions,
} from '../fixtures/stage/core.ts';
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

interface Member {
  id: string;
  email: string;
  token: string;
  session: TestWorkspace['session'];
}

async function addMember(workspace: TestWorkspace, role: 'admin' | 'agent' = 'agent'): Promise<Member> {
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

/** The hub has recorded its first attempt, which failed. While an attempt runs, the next one is due in a minute. */
const firstAttemptFailed = {
  attempts: 1,
  seconds: expect.toSatisfy((seconds) => typeof seconds === 'number' && seconds <= 15) as number,
};
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
      'https://127.1/a',
      'https://localhost/a',
      'https://push.localhost/a',
      'https://printer.local/a',
      'https://metadata.google.internal/a',
      'https://intranet/a',
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

  test('are refused with a message that names the address', async () => {
    const { session } = await hub.workspace();
    const browser = service.subscribe();
    for (const operation of ['createPushSubscription', 'renewPushSubscription'] as const)
      await expect(
        session.call(operation, { body: { ...browser, endpoint: 'https://localhost/a' } }),
      ).rejects.toMatchObject({
        message: expect.stringMatching(
          /localhost is refused: it leads to a private, local or reserved address/,
        ) as string,
        details: [{ path: 'body.endpoint' }],
      });
  });

  test('are at most 10, also when they are created at the same time; a further one replaces the least used', async () => {
    const { session } = await hub.workspace();
    const created = await Promise.all(Array.from({ length: 14 }, () => subscribe(session)));
    const { subscriptions } = await session.call('readPushState', {});
    expect(subscriptions).toHaveLength(10);
    const kept = created.filter(({ id }) => subscriptions.some((each) => each.id === id));
    const [oldest, next] = kept;
    for (const [index, { id }] of kept.entries()) await agePushSubscription(database, id, { days: 30 - index });
    // The browser that is used again is not replaced.
    await session.call('renewPushSubscription', { body: oldest?.browser as PushBrowser });
    const further = await subscribe(session);
    const ids = (await session.call('readPushState', {})).subscriptions.map(({ id }) => id);
    expect(ids).toHaveLength(10);
    expect(ids).toEqual(expect.arrayContaining([oldest?.id, further.id]));
    expect(ids).not.toContain(next?.id);
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

  test('are not ended or taken over by another user who knows the endpoint but not the keys of the browser', async () => {
    const workspace = await hub.workspace();
    const member = await addMember(workspace);
    const { id, path, browser } = await subscribe(member.session);
    const { endpoint, keys } = browser;
    for (const thief of [await hub.workspace(), await hub.workspace()]) {
      const own = await subscribe(thief.session);
      const other = own.browser.keys;
      for (const forged of [other, { ...other, p256dh: keys.p256dh }, { ...other, auth: keys.auth }]) {
        const body = { endpoint, keys: forged };
        const refusal = { code: 'conflict', message: expect.stringMatching(/belongs to another user/) as string };
        await expect(thief.session.call('createPushSubscription', { body })).rejects.toMatchObject(refusal);
        await expect(
          thief.session.call('renewPushSubscription', { body: { ...body, previousEndpoint: own.browser.endpoint } }),
        ).rejects.toMatchObject(refusal);
      }
      expect((await thief.session.call('readPushState', {})).subscriptions).toMatchObject([{ id: own.id }]);
    }
    await ask(workspace, {});
    await until(
      () => messagesTo(path).length === 1,
      () => 'the user of the browser was not notified',
    );
    expect((await member.session.call('readPushState', {})).subscriptions).toMatchObject([{ id }]);
  });

  test('of two users who name the same endpoint with other keys at the same time, one is refused', async () => {
    const [one, other] = [await hub.workspace(), await hub.workspace()];
    const elsewhere = second.client(other.jwt);
    for (let round = 0; round < 10; round += 1) {
      const { endpoint } = service.subscribe();
      const results = await Promise.allSettled(
        [one.session, elsewhere].map((session) =>
          session.call('createPushSubscription', { body: { ...service.subscribe(), endpoint } }),
        ),
      );
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
      expect(refused).toMatchObject([{ code: 'conflict' }]);
    }
  });

  test('continue after the sessions of their user have expired and were removed', async () => {
    const workspace = await hub.workspace();
    const member = await addMember(workspace);
    const { id, path } = await subscribe(member.session);
    await expireSessions(database, member.id);
    await expect(member.session.call('readMe', {})).rejects.toMatchObject({ status: 401 });
    await ask(workspace, {});
    await until(
      () => messagesTo(path).length === 1,
      () => 'the member was not notified after the session expired',
    );
    await removeExpiredSessions(database, member.id);
    await ask(workspace, {});
    await until(
      () => messagesTo(path).length === 2,
      () => 'the member was not notified after the session was removed',
    );
    const { subscriptions } = await (await signIn(member, workspace)).call('readPushState', {});
    expect(subscriptions).toMatchObject([{ id, isStopped: false, refusedSince: null }]);
  });

  test('get the endpoint of now when they are renewed, and end with the session that renewed them', async () => {
    const workspace = await hub.workspace();
    const [member, other] = [await addMember(workspace), await addMember(workspace)];
    const first = await subscribe(member.session);
    await agePushSubscription(database, first.id, { days: 59 });
    const [before] = (await member.session.call('readPushState', {})).subscriptions;
    await expireSessions(database, member.id);
    const next = service.subscribe();
    const previousEndpoint = first.browser.endpoint;
    // Only the user of the subscription can renew it.
    await expect(
      other.session.call('renewPushSubscription', { body: { ...next, previousEndpoint } }),
    ).rejects.toMatchObject({ code: 'not_found' });
    const again = await signIn(member, workspace);
    const renewed = await again.call('renewPushSubscription', { body: { ...next, previousEndpoint } });
    expect(renewed).toMatchObject({ id: first.id, createdAt: before?.createdAt });
    expect(Date.parse(renewed.renewedAt) - Date.parse(before?.renewedAt ?? '')).toBeGreaterThan(58 * 86_400_000);
    // The answer of the first request was lost, so the browser names the same endpoints again.
    await again.call('renewPushSubscription', { body: { ...next, previousEndpoint } });
    expect((await again.call('readPushState', {})).subscriptions).toHaveLength(1);
    const path = new URL(next.endpoint).pathname;
    await ask(workspace, {});
    await until(
      () => messagesTo(path).length === 1,
      () => 'the new endpoint was not notified',
    );
    expect(messagesTo(first.path)).toEqual([]);
    await again.call('logOut', {});
    const last = await signIn(member, workspace);
    expect((await last.call('readPushState', {})).subscriptions).toEqual([]);
    await expect(last.call('renewPushSubscription', { body: next })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('do not outlive a sign-out at the same time', async () => {
    const workspace = await hub.workspace();
    const member = await addMember(workspace);
    for (let round = 0; round < 10; round += 1) {
      const session = await signIn(member, workspace);
      const [created] = await Promise.allSettled([subscribe(session), session.call('logOut', {})]);
      if (created.status === 'rejected') expect(created.reason).toMatchObject({ status: 401 });
      expect((await member.session.call('readPushState', {})).subscriptions).toEqual([]);
    }
  });
});

/** Signs in once more. */
async function signIn({ email }: Pick<Member, 'email'>, { password }: TestWorkspace) {
  const { token } = await hub.client().call('logIn', { body: { email, password } });
  return hub.client(token);
}

interface Case {
  workspace: TestWorkspace;
  member: Member;
  subscriptionId: string;
}

/** What ends the notifications of a browser. */
const ends: Record<string, (given: Case) => Promise<unknown>> = {
  'its user signs out in it': ({ member }) => member.session.call('logOut', {}),
  'its user signs out in it on the page': async ({ member }) => {
    const { status } = await send(hub.url, 'POST', '/sign-out', {
      headers: { cookie: `outrigger_session=${member.token}`, origin: hub.url, 'sec-fetch-site': 'same-origin' },
    });
    expect(status).toBe(303);
  },
  'its user removes it in another browser': async ({ workspace, member, subscriptionId }) =>
    (await signIn(member, workspace)).call('deletePushSubscription', { params: { id: subscriptionId } }),
  'its session is ended in another browser': async ({ workspace, member }) => {
    const other = await signIn(member, workspace);
    const { data } = await other.call('listOwnSessions', { query: {} });
    const id = data.find(({ isCurrent }) => !isCurrent)?.id ?? '';
    await other.call('endOwnSession', { params: { id } });
  },
  'its user ends all other sessions in another browser': async ({ workspace, member }) =>
    (await signIn(member, workspace)).call('endOtherOwnSessions', {}),
  'its user ends all other sessions after its session has expired': async ({ workspace, member }) => {
    await expireSessions(database, member.id);
    await removeExpiredSessions(database, member.id);
    await (await signIn(member, workspace)).call('endOtherOwnSessions', {});
  },
  'its user changes the password in another browser': async ({ workspace, member }) =>
    (await signIn(member, workspace)).call('changePassword', {
      body: { currentPassword: workspace.password, newPassword: 'an entirely new passphrase' },
    }),
  'its user resets the password by mail': async ({ member: { email } }) => {
    await using mailServer = await startMailServer();
    const env = {
      SMTP_URL: mailServer.url,
      MAIL_FROM: 'hub@example.com',
      PUBLIC_URL: 'https://hub.example.com',
      SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000',
    };
    await using mailing = await startHub(env, database);
    await mailing.client().call('requestPasswordReset', { body: { email } });
    const mails = () => mailServer.mails.filter(({ to }) => to.includes(email));
    await until(
      () => mails().length === 1,
      () => 'no mail came',
    );
    const text = mails()[0]?.raw.replaceAll('=\r\n', '').replaceAll('=3D', '=') ?? '';
    const token = /reset-password\?token=([\w-]{43})\s/.exec(text)?.[1] ?? '';
    await mailing.client().call('resetPassword', { body: { token, password: 'an entirely new passphrase' } });
  },
  'the operator sets the password of its user': ({ workspace, member: { email } }) =>
    hub.app.identity.members.setPassword(workspace.tenantId, { email, password: 'an entirely new passphrase' }, 'cli'),
  'its user is removed from the workspace': ({ workspace, member }) =>
    workspace.session.call('removeMember', {
      params: { tenantId: workspace.tenantId, userId: member.id },
      query: {},
    }),
  'it was not renewed for 60 days': ({ subscriptionId }) =>
    agePushSubscription(database, subscriptionId, { days: 60, seconds: 1 }),
};

describe('The notifications of a browser', () => {
  test.each(Object.entries(ends))('end when %s', async (_name, end) => {
    const workspace = await hub.workspace();
    const member = await addMember(workspace);
    const ended = await subscribe(member.session);
    const control = await subscribe((await addMember(workspace)).session);
    await end({ workspace, member, subscriptionId: ended.id });
    const { approvalId } = await ask(workspace, {});
    await until(
      () => messagesTo(control.path).length === 1,
      () => 'the browser of another member was not notified',
    );
    expect(messagesTo(ended.path)).toEqual([]);
    expect(await pushesOf(approvalId)).toHaveLength(1);
  });

  test.each([
    [
      'the password is changed',
      (session: Member['session'], currentPassword: string) =>
        session.call('changePassword', { body: { currentPassword, newPassword: 'an entirely new passphrase' } }),
    ],
    ['all other sessions end', (session: Member['session']) => session.call('endOtherOwnSessions', {})],
  ])('continue in the browser in which %s', async (_name, act) => {
    const workspace = await hub.workspace();
    const member = await addMember(workspace);
    const { id } = await subscribe(member.session);
    await act(member.session, workspace.password);
    expect((await member.session.call('readPushState', {})).subscriptions).toMatchObject([{ id }]);
  });

  test('end while a message waits for its next attempt', async () => {
    const workspace = await hub.workspace();
    const member = await addMember(workspace);
    const { path } = await subscribe(member.session);
    service.answer = (_received, response) => void response.writeHead(500).end();
    const { approvalId } = await ask(workspace, {});
    await expect.poll(() => pushesOf(approvalId)).toEqual([firstAttemptFailed]);
    await member.session.call('logOut', {});
    await makeApprovalPushesDue(database, approvalId);
    await expect.poll(() => pushesOf(approvalId)).toEqual([]);
    expect(messagesTo(path)).toHaveLength(1);
  });

  test('stop after 3 days in which the push service refused every message, until they are turned on again', async () => {
    const workspace = await hub.workspace();
    const { session } = await addMember(workspace);
    const { id, path, browser } = await subscribe(session);
    const state = async () => (await session.call('readPushState', {})).subscriptions[0];
    /** Asks for a decision, and waits until the hub has recorded the response of the push service. */
    const notify = async (messages: number) => {
      const { approvalId } = await ask(workspace, {});
      await expect.poll(() => pushesOf(approvalId)).toEqual([{ attempts: 1, seconds: null }]);
      expect(messagesTo(path)).toHaveLength(messages);
    };
    service.answer = (_received, response) => void response.writeHead(403).end();
    await notify(1);
    expect(await state()).toMatchObject({ refusedSince: expect.any(String) as string, isStopped: false });
    // An accepted message ends the count.
    service.answer = (_received, response) => void response.writeHead(201).end();
    await notify(2);
    expect(await state()).toMatchObject({ refusedSince: null, isStopped: false });
    service.answer = (_received, response) => void response.writeHead(400).end();
    await notify(3);
    expect(await state()).toMatchObject({ refusedSince: expect.any(String) as string, isStopped: false });
    await agePushRefusals(database, id, { days: 2, hours: 23 });
    await notify(4);
    expect(await state()).toMatchObject({ isStopped: false });
    await agePushRefusals(database, id, { hours: 2 });
    await notify(5);
    expect(await state()).toMatchObject({ isStopped: true });
    // Use of the browser does not start it again with the same endpoint.
    expect(await session.call('renewPushSubscription', { body: browser })).toMatchObject({ isStopped: true });
    const control = await subscribe((await addMember(workspace)).session);
    service.answer = (_received, response) => void response.writeHead(201).end();
    await notify(5);
    expect(messagesTo(control.path)).toHaveLength(1);
    await subscribe(session, browser);
    expect(await state()).toMatchObject({ refusedSince: null, isStopped: false });
    const { approvalId } = await ask(workspace, {});
    const sent = { attempts: 1, seconds: null };
    await expect.poll(() => pushesOf(approvalId)).toEqual([sent, sent]);
    expect(messagesTo(path)).toHaveLength(6);
  });

  test('start again with a new endpoint', async () => {
    const workspace = await hub.workspace();
    const { session } = await addMember(workspace);
    const { id, browser } = await subscribe(session);
    service.answer = (_received, response) => void response.writeHead(403).end();
    await ask(workspace, {});
    const state = async () => (await session.call('readPushState', {})).subscriptions;
    await expect.poll(state).toMatchObject([{ id, refusedSince: expect.any(String) as string }]);
    await session.call('renewPushSubscription', {
      body: { ...service.subscribe(), previousEndpoint: browser.endpoint },
    });
    expect(await state()).toMatchObject([{ id, refusedSince: null }]);
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
      { title: 'Pay 100', approvers: [ann.email], expiresInSeconds: 3_600 },
      'Invoices',
    );
    await until(
      () => [phone, laptop].every(({ path }) => messagesTo(path).length === 1),
      () => 'a browser was not notified',
    );
    const [received] = messagesTo(phone.path);
    // The user can be signed out of the browser, so the message does not describe the approval.
    expect(received?.message).toEqual({ path: `/app/approvals/${approvalId}`, language: null });
    expect(received?.headers).toMatchObject({ urgency: 'high', 'content-encoding': 'aes128gcm' });
    expect(Number(received?.headers['ttl'])).toBeGreaterThan(3_000);
    expect(Number(received?.headers['ttl'])).toBeLessThanOrEqual(3_600);
    expect(received?.headers['topic']).toMatch(/^[\w-]{32}$/);
    expect(messagesTo(laptop.path)[0]).toMatchObject({
      bytes: received?.bytes,
      headers: { topic: received?.headers['topic'] },
    });
    await ben.session.call('updateMe', { body: { preferences: { language: 'de' } } });
    await ask(workspace, { title: 'Next', approvers: [ben.email] });
    await until(
      () => messagesTo(notNamed.path).length === 1,
      () => 'the approver of the next approval was not notified',
    );
    expect(messagesTo(notNamed.path)[0]?.message).toMatchObject({ language: 'de' });
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
    const real = await ask(workspace, { title: 'Real?', approvers: [cem.email] });
    await until(
      () => messagesTo(later.path).length === 2,
      () => 'the member was not notified of the live run',
    );
    expect(messagesTo(later.path).map(({ message }) => message['path'])).toEqual(
      [approvalId, real.approvalId].map((each) => `/app/approvals/${each}`),
    );
  });

  test('is sent again after a failure, no earlier than the push service allows, and at most five times', async () => {
    const workspace = await hub.workspace();
    const { path } = await subscribe((await addMember(workspace)).session);
    service.answer = (_received, response) => void response.writeHead(500).end('x'.repeat(100_000));
    const { approvalId } = await ask(workspace, {});
    await expect.poll(() => pushesOf(approvalId)).toEqual([firstAttemptFailed]);
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

  test.each([404, 410])('removes the subscription when the push service answers %i', async (status) => {
    const workspace = await hub.workspace();
    const { session } = await addMember(workspace);
    await subscribe(session);
    service.answer = (_received, response) => void response.writeHead(status).end();
    await ask(workspace, {});
    await expect.poll(async () => (await session.call('readPushState', {})).subscriptions).toEqual([]);
  });

  test('does not end a subscription whose endpoint has changed during the attempt', async () => {
    const workspace = await hub.workspace();
    const { session } = await addMember(workspace);
    const { id, path, browser } = await subscribe(session);
    const answered = Promise.withResolvers<() => void>();
    service.answer = (_received, response) => answered.resolve(() => void response.writeHead(410).end());
    const { approvalId } = await ask(workspace, {});
    const answer = await answered.promise;
    await session.call('renewPushSubscription', {
      body: { ...service.subscribe(), previousEndpoint: browser.endpoint },
    });
    answer();
    // The attempt after this one shows that the result was recorded.
    service.answer = (_received, response) => void response.writeHead(201).end();
    const next = await ask(workspace, {});
    await expect.poll(() => pushesOf(next.approvalId)).toEqual([{ attempts: 1, seconds: null }]);
    expect(messagesTo(path)).toHaveLength(1);
    expect(await pushesOf(approvalId)).toHaveLength(1);
    expect((await session.call('readPushState', {})).subscriptions).toMatchObject([{ id }]);
  });

  test('is not sent again to a member who may not decide it any more', async () => {
    const workspace = await hub.workspace();
    const [ann, ben] = [await addMember(workspace), await addMember(workspace)];
    const phones = [await subscribe(ann.session), await subscribe(ben.session)];
    service.answer = (_received, response) => void response.writeHead(500).end();
    const { approvalId } = await ask(workspace, { approvers: [ann.email, ben.email], required: 2 });
    await expect.poll(() => pushesOf(approvalId)).toEqual([firstAttemptFailed, firstAttemptFailed]);
    // Ann has voted; the approval still waits for Ben.
    await ann.session.call('decideAutomationApproval', { params: { id: approvalId }, body: { decision: 'approved' } });
    await makeApprovalPushesDue(database, approvalId);
    await expect.poll(() => pushesOf(approvalId)).toMatchObject([{ attempts: 2 }]);
    // An attempt is counted before its message is sent.
    await expect.poll(() => phones.map(({ path }) => messagesTo(path).length)).toEqual([1, 2]);
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
