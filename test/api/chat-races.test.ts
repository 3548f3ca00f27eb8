import { afterAll, beforeAll, expect, test } from 'vitest';
import { avoidPeriodEnd, minuteMs } from '../fixtures/avoid-period-end.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { chatScene, expectRefused } from '../fixtures/visitor.ts';
import type { ChatScene } from '../fixtures/visitor.ts';

let hub: TestHub;
let scene: ChatScene;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  scene = await chatScene(hub);
});
afterAll(() => hub[Symbol.asyncDispose]());

const rounds = (count: number, work: (index: number) => Promise<unknown>) =>
  Array.from({ length: count }, (_, index) => index).reduce<Promise<unknown>>(
    (before, index) => before.then(() => work(index)),
    Promise.resolve(),
  );
const ofTenant = (id: string) => ({ tenantId: scene.tenantId, id });
const settled = (calls: Promise<unknown>[]) => Promise.allSettled(calls);

test('a message that a visitor writes while an agent reads stays unread', async () => {
  await rounds(25, async (index) => {
    const visitor = await scene.visitor(`reader ${index}`);
    const params = ofTenant(visitor.conversationId);
    await visitor.api.call('sendVisitorMessage', { body: { content: 'one', clientId: '1' } });
    await Promise.all([
      scene.workspace.session.call('readInboxConversation', { params, body: { seq: 1 } }),
      visitor.api.call('sendVisitorMessage', { body: { content: 'two', clientId: '2' } }),
    ]);
    const { unreadCount, agentReadSeq, lastSeq } = await scene.workspace.session.call('getInboxConversation', {
      params,
    });
    expect({ unreadCount, agentReadSeq, lastSeq }).toEqual({ unreadCount: 1, agentReadSeq: 1, lastSeq: 2 });
  });
});

test('of two agents who reply at the same time, one is notified of the reply of the other', async () => {
  const password = 'correct horse battery';
  const email = `second-${Date.now()}@example.org`;
  await scene.workspace.session.call('addMember', {
    params: { tenantId: scene.tenantId },
    body: { email, password, role: 'agent' },
  });
  const { token } = await hub.client().call('logIn', { body: { email, password } });
  const second = hub.client(token);
  await rounds(15, async (index) => {
    const visitor = await scene.visitor(`asker ${index}`);
    await visitor.api.call('sendVisitorMessage', { body: { content: 'help', clientId: 'h' } });
    const replies = await settled(
      [scene.workspace.session, second].map((agent) =>
        agent.call('sendInboxMessage', {
          params: ofTenant(visitor.conversationId),
          body: { content: 'on it', lastSeenSeq: 1 },
        }),
      ),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(replies.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'newer_reply' } });
  });
});

test('a visitor who is blocked while a session starts has no valid session, and no deadlock occurs', async () => {
  const before = await deadlocks();
  await rounds(12, async (index) => {
    const visitor = await scene.visitor(`blocked ${index}`);
    const link = await scene.mint(`blocked ${index}`);
    await scene.close(visitor.conversationId);
    const begun = await Promise.allSettled([
      visitor.api.call('beginVisitorConversation', {}),
      hub.client().call('openVisitorSession', { body: { siteKey: scene.siteKey, token: link.token } }),
      scene.workspace.session.call('blockInboxVisitor', { params: ofTenant(visitor.visitorId) }),
    ]);
    const tokens = begun.flatMap((each) =>
      each.status === 'fulfilled' && 'token' in each.value ? [each.value.token] : [],
    );
    for (const token of [visitor.token, ...tokens])
      await expectRefused(hub.client(token).call('getVisitorConversation'), 403, 'visitor_blocked');
  });
  expect(await deadlocks()).toBe(before);
});

const deadlocks = async () => {
  await hub.database.query('SELECT pg_stat_clear_snapshot()');
  const [row] = await hub.database.query<{ deadlocks: string }>(
    'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
  );
  return Number(row?.deadlocks);
};

test('a moved read mark is sent by the next read, also after its notification was lost', async () => {
  const visitor = await scene.visitor('quiet');
  const params = ofTenant(visitor.conversationId);
  await visitor.api.call('sendVisitorMessage', { body: { content: 'one', clientId: '1' } });
  const before = await scene.workspace.session.call('getInboxConversation', { params });
  await scene.workspace.session.call('readInboxConversation', { params, body: { seq: 1 } });
  const after = await scene.workspace.session.call('getInboxConversation', { params });
  expect(Date.parse(after.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
});

test('a visitor has a limited number of sessions despite renewals, and their requests share one limit', async () => {
  const visitor = await scene.visitor('renewer');
  let newest = visitor.api;
  for (let count = 0; count < 40; count += 1) newest = hub.client((await newest.call('renewVisitorSession', {})).token);
  const live = await hub.database.query('SELECT id FROM chat_sessions WHERE visitor_id = $1 AND expires_at > now()', [
    visitor.visitorId,
  ]);
  expect(live.length).toBeLessThanOrEqual(31);
  const { token } = await newest.call('renewVisitorSession', {});
  const { token: another } = await newest.call('renewVisitorSession', {});
  await avoidPeriodEnd(minuteMs);
  const remaining: number[] = [];
  for (const each of [token, another, token]) {
    const answer = await send(hub.url, 'GET', '/widget/v1/conversation', {
      headers: { authorization: `Bearer ${each}` },
    });
    remaining.push(Number(answer.headers.get('x-ratelimit-remaining')));
  }
  expect(remaining).toEqual([remaining[0], (remaining[0] as number) - 1, (remaining[0] as number) - 2]);
});

test('a live link does not open the conversation of a test visitor', async () => {
  const tried = await scene.mint('both', 'test');
  const live = await scene.mint('both', 'live');
  expect(live.conversationId).not.toBe(tried.conversationId);
  expect((await scene.mint('both', 'test')).conversationId).toBe(tried.conversationId);
});

test('a snooze that ends before it begins is rejected', async () => {
  const { conversationId } = await scene.mint('sleeper');
  const refused = { status: 400, details: [{ path: 'body.snoozedUntil' }] };
  await expect(
    scene.workspace.session.call('updateInboxConversation', {
      params: ofTenant(conversationId),
      body: { snoozedUntil: '2001-01-01T00:00:00Z' },
    }),
  ).rejects.toMatchObject(refused);
  await expect(
    scene.workspace.session.call('changeInboxConversations', {
      params: { tenantId: scene.tenantId },
      body: { ids: [conversationId], snoozedUntil: '2001-01-01T00:00:00Z' },
    }),
  ).rejects.toMatchObject(refused);
});
