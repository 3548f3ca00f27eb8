import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { openVisitor } from '../fixtures/live-chat.ts';
import { send } from '../fixtures/requests.ts';
import { chatScene } from '../fixtures/visitor.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(() => hub[Symbol.asyncDispose]());

test('visitors see the display name of an agent, never a part of their email address', async () => {
  const { workspace, tenantId, visitor: begin } = await chatScene(hub);
  const { session, email } = workspace;
  const visitor = await begin();
  const live = await openVisitor(hub.url, visitor.token);
  const params = { tenantId, id: visitor.conversationId };
  const me = (await session.call('readMe')).user;
  expect(me.displayName).toBeNull();
  await session.call('assignInboxConversation', { params, body: { userId: me.id } });
  await session.call('sendInboxMessage', { params, body: { content: 'Hello' } });
  await session.call('showInboxActivity', { params, body: { viewing: true, typing: true } });
  await expect.poll(() => live.frames.filter(({ type }) => type === 'typing')).toHaveLength(1);
  const seen = async () => ({
    conversation: await visitor.api.call('getVisitorConversation'),
    messages: (await visitor.api.call('listVisitorMessages', {})).data,
  });
  const before = await seen();
  expect([before.conversation.agentName, before.messages[0]?.senderName]).toEqual([null, null]);
  expect(JSON.stringify([before, live.frames])).not.toContain(email.split('@')[0]);

  await session.call('updateMe', { body: { displayName: '  Ann Bö ' } });
  const after = await seen();
  expect([after.conversation.agentName, after.messages[0]?.senderName]).toEqual(['Ann Bö', 'Ann Bö']);
  await session.call('showInboxActivity', { params, body: { viewing: true, typing: true } });
  await expect
    .poll(() => live.frames.filter((frame) => frame.type === 'typing').at(-1))
    .toMatchObject({ who: 'agent', name: 'Ann Bö' });
  // Colleagues see the name, and exports contain it.
  const agents = await session.call('listChatAgents', { params: { tenantId } });
  const members = await session.call('listMembers', { params: { tenantId }, query: {} });
  expect([agents.data[0]?.displayName, members.data[0]?.displayName]).toEqual(['Ann Bö', 'Ann Bö']);
  const exported = await send(hub.url, 'GET', `/tenants/${tenantId}/chat/visitors/${visitor.visitorId}/export`, {
    headers: { authorization: `Bearer ${workspace.jwt}` },
  });
  expect(exported.text).toContain('"senderName":"Ann Bö"');
  const { data } = await session.call('listAuditLog', { params: { tenantId }, query: { targetId: me.id } });
  expect(data.map(({ action }) => action)).toContain('member.profile_updated');
  await session.call('updateMe', { body: { displayName: null } });
  expect((await seen()).conversation.agentName).toBeNull();
  live.end();
});

test('an empty, too long or misleading display name is rejected with its field, and an unauthenticated caller too', async () => {
  const { workspace } = await chatScene(hub);
  const patch = (displayName: unknown, token = workspace.jwt) =>
    send(hub.url, 'PATCH', '/auth/me', { headers: { authorization: `Bearer ${token}` }, body: { displayName } });
  for (const name of ['', '   ', 'a'.repeat(101), 'Ann\u202Egnp', 'Ann\nBo', 'Ann\u0000', 7]) {
    const { status, body } = await patch(name);
    expect([name, status, body.details]).toMatchObject([name, 400, [{ path: 'body.displayName' }]]);
  }
  expect((await patch('Ann', 'made up')).status).toBe(401);
  expect((await patch('Ann', workspace.key)).status).toBe(401);
  expect((await workspace.session.call('readMe')).user.displayName).toBeNull();
});
