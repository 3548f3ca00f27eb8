import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import { send } from '../fixtures/requests.ts';
import { chatScene, expectRefused, sendFile } from '../fixtures/visitor.ts';
import type { ChatScene } from '../fixtures/visitor.ts';

let hub: TestHub;
let scene: ChatScene;
beforeAll(async () => {
  hub = await startHub({
    RATE_LIMIT_PER_MINUTE: '1000000',
    SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000',
    EGRESS_ALLOW_HOSTS: '127.0.0.1',
  });
  scene = await chatScene(hub);
  await scene.set({ allowAnonymous: true });
});
afterAll(() => hub[Symbol.asyncDispose]());

const open = (body: Record<string, string>, siteKey = scene.siteKey) =>
  hub.client().call('openVisitorSession', { body: { siteKey, ...body } });
const write = (token: string, content: string) =>
  hub.client(token).call('sendVisitorMessage', { body: { content, clientId: content } });
const messagesOf = (token: string) => hub.client(token).call('listVisitorMessages', {});
const signIn = (token: string, anonymousSession: string, siteKey = scene.siteKey) =>
  open({ token, anonymousSession }, siteKey);

test('the conversation of an anonymous visitor becomes the identified visitor’s, with its messages, files and seq', async () => {
  const anonymous = await open({ name: 'Somebody' });
  await write(anonymous.token, 'Where is my parcel?');
  const file = await sendFile(hub, anonymous.token, Buffer.from('invoice'), 'invoice.txt');
  const attachmentIds = [(file.body as { id: string }).id];
  await hub
    .client(anonymous.token)
    .call('sendVisitorMessage', { body: { content: 'See this', clientId: 'with a file', attachmentIds } });
  const id = anonymous.conversation.id;
  const { token } = await scene.mint('customer-1');

  const session = await signIn(token, anonymous.token);
  expect(session).toMatchObject({ carriedOver: true, conversation: { id, lastSeq: 2 } });
  expect(session.visitorId).not.toBe(anonymous.visitorId);
  const { data } = await messagesOf(session.token);
  expect(data.map(({ seq, content, senderId }) => ({ seq, content, senderId }))).toEqual([
    { seq: 1, content: 'Where is my parcel?', senderId: session.visitorId },
    { seq: 2, content: 'See this', senderId: session.visitorId },
  ]);
  // Sending the same message again returns the existing one.
  expect(await write(session.token, 'Where is my parcel?')).toMatchObject({ seq: 1 });
  expect(await write(session.token, 'Hello again')).toMatchObject({ seq: 3 });

  // The link and a new link open the same conversation.
  expect(await open({ token })).toMatchObject({ carriedOver: false, conversation: { id } });
  expect(await open({ token: (await scene.mint('customer-1')).token })).toMatchObject({ conversation: { id } });
  // Agents see the identified visitor, and the name that the anonymous visitor typed, which is not copied. The
  // anonymous visitor and their session are deleted.
  const params = { tenantId: scene.tenantId, id };
  const shown = await scene.workspace.session.call('getInboxConversation', { params });
  expect(shown).toMatchObject({ visitor: { id: session.visitorId, external_id: 'customer-1' } });
  expect(shown.visitor).toMatchObject({ display_name: null, email: null });
  const written = await scene.workspace.session.call('listInboxMessages', { params });
  expect(written.data.filter(({ private: isNote }) => isNote)).toMatchObject([
    { content: expect.stringContaining('Somebody') as string },
  ]);
  await expectRefused(messagesOf(anonymous.token), 401, 'chat_token_invalid');
  const gone = { tenantId: scene.tenantId, id: anonymous.visitorId };
  await expectRefused(scene.workspace.session.call('getInboxVisitor', { params: gone }), 404, 'not_found');
  const audited = await scene.workspace.session.call('listAuditLog', {
    params: { tenantId: scene.tenantId },
    query: { targetId: session.visitorId },
  });
  expect(audited.data).toMatchObject([
    {
      action: 'visitor.signed_in',
      actor: `visitor:${session.visitorId}`,
      details: { anonymousVisitorId: anonymous.visitorId, conversationIds: [id] },
    },
  ]);
});

test('webhooks continue the sequence of the conversation, with the identified visitor', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  const { tenantId } = scene;
  const events = ['message.created' as const];
  const { id } = await scene.api.call('createWebhook', { params: { tenantId }, body: { url: receiver.url, events } });
  const anonymous = await open({});
  await write(anonymous.token, 'First');
  const session = await signIn((await scene.mint('customer-of-events')).token, anonymous.token);
  await write(session.token, 'Second');
  type Payload = { sequence: number; message: { content: string }; visitor: { external_id: string | null } };
  const notifications = () =>
    receiver.received.map(({ body }) => {
      const { sequence, message, visitor } = (JSON.parse(body) as { payload: Payload }).payload;
      return [sequence, message.content, visitor.external_id];
    });
  await expect.poll(notifications).toEqual([
    [2, 'First', null],
    [3, 'Second', 'customer-of-events'],
  ]);
  await scene.api.call('deleteWebhook', { params: { tenantId, id } });
});

test('a carried-over conversation is named after the identified visitor, not by what the anonymous visitor typed', async () => {
  const anonymous = await open({ name: 'Another Customer', email: 'another@example.org' });
  await write(anonymous.token, 'Hello');
  const { visitorToken: token } = await scene.api.call('createChatSession', {
    body: { externalId: 'customer-of-names', displayName: 'Ann Customer' },
  });
  await signIn(token, anonymous.token);
  const params = { tenantId: scene.tenantId, id: anonymous.conversation.id };
  const { session } = scene.workspace;
  expect(await session.call('getInboxConversation', { params })).toMatchObject({ name: 'Ann Customer' });
  const { data } = await session.call('listInboxMessages', { params });
  expect(data.at(-1)).toMatchObject({
    private: true,
    content: 'The visitor signed in. Before, they called themselves: Another Customer, another@example.org.',
  });
});

test('a title that an agent gave before the sign-in stays in the private note', async () => {
  const anonymous = await open({});
  await write(anonymous.token, 'Hello');
  const params = { tenantId: scene.tenantId, id: anonymous.conversation.id };
  const { session } = scene.workspace;
  await session.call('updateInboxConversation', { params, body: { name: 'Lost parcel' } });
  await signIn((await scene.mint('customer-of-titles')).token, anonymous.token);
  expect(await session.call('getInboxConversation', { params })).toMatchObject({ name: 'customer-of-titles' });
  const { data } = await session.call('listInboxMessages', { params });
  expect(data.at(-1)).toMatchObject({ private: true, content: 'The visitor signed in. Earlier title: Lost parcel.' });
});

test('an email address that both entered does not join visitors, and an anonymous visitor without a sign-in stays separate', async () => {
  const first = await open({ email: 'ann@example.org' });
  await write(first.token, 'Mine');
  const { visitorToken } = await scene.api.call('createChatSession', {
    body: { externalId: 'ann', email: 'ann@example.org' },
  });
  const session = await open({ token: visitorToken });
  expect(session.carriedOver).toBe(false);
  expect((await messagesOf(session.token)).data).toEqual([]);
  expect((await messagesOf(first.token)).data).toHaveLength(1);
});

test('a session carries over once, also for two concurrent sign-ins with it', async () => {
  const anonymous = await open({});
  await write(anonymous.token, 'Whose?');
  const links = await Promise.all(['one', 'two', 'three', 'four'].map((name) => scene.mint(`racing ${name}`)));
  const sessions = await Promise.all(links.map(({ token }) => signIn(token, anonymous.token)));
  const winners = sessions.filter(({ carriedOver }) => carriedOver);
  expect(winners).toHaveLength(1);
  expect(winners[0]?.conversation.id).toBe(anonymous.conversation.id);
  for (const { carriedOver, token } of sessions)
    expect((await messagesOf(token)).data).toHaveLength(carriedOver ? 1 : 0);
  const late = await signIn((await scene.mint('late')).token, anonymous.token);
  expect([late.carriedOver, (await messagesOf(late.token)).data]).toEqual([false, []]);
});

test('nothing is carried over from an identified, blocked, foreign, unknown or test visitor, and each can still sign in', async () => {
  const other = await chatScene(hub);
  await other.set({ allowAnonymous: true });
  const identified = await scene.visitor('identified');
  await write(identified.token, 'Not yours');
  const blocked = await open({});
  await write(blocked.token, 'Blocked');
  const params = { tenantId: scene.tenantId, id: blocked.visitorId };
  await scene.workspace.session.call('blockInboxVisitor', { params });
  const foreign = await open({}, other.siteKey);
  await write(foreign.token, 'Of another workspace');
  const mine = await open({});
  await write(mine.token, 'Live');
  for (const [environment, anonymousSession] of [
    ['live', identified.token],
    ['live', blocked.token],
    ['live', foreign.token],
    ['live', 'cvs_made_up'],
    ['test', mine.token],
  ] as const) {
    const { token, conversationId } = await scene.mint(undefined, environment);
    const session = await signIn(token, anonymousSession);
    expect(session).toMatchObject({ carriedOver: false, conversation: { id: conversationId } });
    expect((await messagesOf(session.token)).data).toEqual([]);
  }
  // The original visitors still have their conversations.
  for (const { token } of [identified, foreign, mine]) expect((await messagesOf(token)).data).toHaveLength(1);
  // A link of another site key, or no link, cannot carry a conversation over.
  const { token } = await other.mint();
  await expectRefused(signIn(token, mine.token), 401, 'chat_token_invalid');
  const body = { siteKey: scene.siteKey, anonymousSession: mine.token };
  const alone = await send(hub.url, 'POST', '/widget/v1/token', { body });
  expect([alone.status, alone.body.details]).toMatchObject([400, [{ path: 'body.anonymousSession' }]]);
});

test("a closed anonymous conversation goes to the identified visitor, and the link opens the visitor's own conversation", async () => {
  const anonymous = await open({});
  await write(anonymous.token, 'Settled');
  await scene.close(anonymous.conversation.id);
  const { token, conversationId } = await scene.mint('of a closed one');
  const session = await signIn(token, anonymous.token);
  expect(session).toMatchObject({ carriedOver: true, conversation: { id: conversationId } });
  const { data } = await scene.workspace.session.call('listInboxConversations', {
    params: { tenantId: scene.tenantId },
    query: { view: 'visitor', visitorId: session.visitorId },
  });
  expect(data.map(({ id }) => id)).toContain(anonymous.conversation.id);
});
