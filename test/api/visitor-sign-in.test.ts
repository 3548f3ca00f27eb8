import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { openVisitor, textsOf } from '../fixtures/live-chat.ts';
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
const contentOf = ({ content }: { content: string }) => content;
const messagesOf = (token: string) => hub.client(token).call('listVisitorMessages', {});
const signIn = (token: string, anonymousSession: string, siteKey = scene.siteKey) =>
  open({ token, anonymousSession }, siteKey);

test('the messages of an anonymous visitor move, with their files and seq, to the conversation whose id the site got', async () => {
  const anonymous = await open({ name: 'Somebody' });
  await write(anonymous.token, 'Where is my parcel?');
  const file = await sendFile(hub, anonymous.token, Buffer.from('invoice'), 'invoice.txt');
  const attachmentIds = [(file.body as { id: string }).id];
  await hub
    .client(anonymous.token)
    .call('sendVisitorMessage', { body: { content: 'See this', clientId: 'with a file', attachmentIds } });
  const { token, conversationId: id } = await scene.mint('customer-1');

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

  const download = await fetch(`${hub.url}/widget/v1/files/${attachmentIds[0] as string}`, {
    headers: { authorization: `Bearer ${session.token}` },
  });
  expect(await download.text()).toBe('invoice');
  // The visitor reads what the site writes to the id that it got.
  await scene.api.call('sendChatMessage', { params: { id }, body: { content: 'How can we help?' } });
  expect((await messagesOf(session.token)).data.at(-1)).toMatchObject({ seq: 4, content: 'How can we help?' });
  const listed = await scene.api.call('listChatMessages', { params: { id } });
  expect(listed.data.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);

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
      details: { anonymousVisitorId: anonymous.visitorId, conversationIds: [anonymous.conversation.id] },
    },
  ]);
});

test('messages from before the sign-in are appended to a conversation in progress, on all devices of the visitor', async () => {
  const other = await scene.visitor('customer-in-progress');
  const { conversationId: id } = other;
  await write(other.token, 'Order 7 is broken');
  await scene.api.call('sendChatMessage', { params: { id }, body: { content: 'We look into it' } });
  const anonymous = await open({});
  await write(anonymous.token, 'Hello?');
  // The same client id as a message of the other device.
  await write(anonymous.token, 'Order 7 is broken');
  const page = await openVisitor(hub.url, other.token);
  onTestFinished(() => page.end());
  await expect.poll(() => page.frames.some(({ type }) => type === 'sync')).toBe(true);

  const { token, conversationId } = await scene.mint('customer-in-progress');
  expect(conversationId).toBe(id);
  const session = await signIn(token, anonymous.token);
  expect(session).toMatchObject({ carriedOver: true, conversation: { id, lastSeq: 4 } });
  await scene.api.call('sendChatMessage', { params: { id }, body: { content: 'Fixed' } });
  const expected = ['Order 7 is broken', 'We look into it', 'Hello?', 'Order 7 is broken', 'Fixed'];
  for (const each of [session, other]) expect((await messagesOf(each.token)).data.map(contentOf)).toEqual(expected);
  await expect.poll(() => textsOf(page)).toEqual(expected);
  expect(await write(session.token, 'Hello?')).toMatchObject({ seq: 3 });

  const { tenantId } = scene;
  const inbox = await scene.workspace.session.call('listInboxMessages', { params: { tenantId, id } });
  expect(inbox.data.filter(({ private: isNote }) => isNote).map(contentOf)).toEqual([
    'The visitor signed in. The last 2 messages are from before the sign-in.',
  ]);
  expect(await scene.workspace.session.call('getInboxConversation', { params: { tenantId, id } })).toMatchObject({
    status: 'open',
    unreadCount: 3,
  });
  // The other conversation is closed, and refers to this one.
  const left = { tenantId, id: anonymous.conversation.id };
  expect(await scene.workspace.session.call('getInboxConversation', { params: left })).toMatchObject({
    status: 'closed',
    unreadCount: 0,
    visitor: { id: session.visitorId },
  });
  const notes = await scene.workspace.session.call('listInboxMessages', { params: left });
  expect(notes.data.map(contentOf)).toEqual([`The conversation continues as ${id}.`]);
});

test('two devices that sign in at the same time append to one conversation', async () => {
  const devices = await Promise.all(['one', 'two', 'three'].map(async (text) => ({ text, ...(await open({})) })));
  for (const { token, text } of devices) await write(token, text);
  const { token, conversationId } = await scene.mint('customer-of-devices');
  const sessions = await Promise.all(devices.map((device) => signIn(token, device.token)));
  for (const session of sessions) {
    expect(session).toMatchObject({ carriedOver: true, conversation: { id: conversationId } });
    const { data } = await messagesOf(session.token);
    expect(data.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(data.map(contentOf).toSorted()).toEqual(['one', 'three', 'two']);
  }
});

test('the agent of the anonymous conversation is assigned, and a pending conversation opens again', async () => {
  const { tenantId } = scene;
  const known = await scene.visitor('customer-of-an-agent');
  const params = { tenantId, id: known.conversationId };
  const { session } = scene.workspace;
  await write(known.token, 'Hello');
  await session.call('updateInboxConversation', { params, body: { status: 'pending' } });
  const anonymous = await open({});
  await write(anonymous.token, 'Hello again');
  const userId = await scene.agent();
  await session.call('assignInboxConversation', {
    params: { tenantId, id: anonymous.conversation.id },
    body: { userId },
  });
  await signIn((await scene.mint('customer-of-an-agent')).token, anonymous.token);
  expect(await session.call('getInboxConversation', { params })).toMatchObject({
    status: 'open',
    assignedUserId: userId,
  });
});

test('a visitor who wrote nothing before the sign-in leaves the conversation in progress as it is', async () => {
  const { tenantId } = scene;
  const known = await scene.visitor('customer-without-words');
  const params = { tenantId, id: known.conversationId };
  await write(known.token, 'Hello');
  await scene.workspace.session.call('updateInboxConversation', { params, body: { status: 'pending' } });
  const session = await signIn((await scene.mint('customer-without-words')).token, (await open({})).token);
  expect(session).toMatchObject({ carriedOver: true, conversation: { id: known.conversationId, status: 'pending' } });
  const { data } = await scene.workspace.session.call('listInboxMessages', { params });
  expect(data.map(contentOf)).toEqual(['Hello']);
});

test('the link of a closed conversation opens the anonymous one, unless the visitor has another that is not closed', async () => {
  const first = await scene.mint('customer-of-closed');
  await scene.close(first.conversationId);
  const anonymous = await open({});
  await write(anonymous.token, 'Hello');
  const session = await signIn(first.token, anonymous.token);
  expect(session).toMatchObject({ carriedOver: true, conversation: { id: anonymous.conversation.id, lastSeq: 1 } });
  expect((await scene.mint('customer-of-closed')).conversationId).toBe(anonymous.conversation.id);
  const second = await scene.mint('customer-of-closed');
  await scene.close(anonymous.conversation.id);
  const third = await scene.mint('customer-of-closed');
  const again = await open({});
  await write(again.token, 'Again');
  expect(await signIn(second.token, again.token)).toMatchObject({ conversation: { id: third.conversationId } });
  expect(await open({ token: second.token })).toMatchObject({ conversation: { id: third.conversationId } });
});

test('the erasure of the identified visitor deletes the messages that moved', async () => {
  const anonymous = await open({});
  await write(anonymous.token, 'Secret of the erased');
  const { token, conversationId } = await scene.mint('customer-to-erase');
  const session = await signIn(token, anonymous.token);
  const { tenantId } = scene;
  await scene.workspace.session.call('eraseInboxVisitor', { params: { tenantId, id: session.visitorId } });
  for (const id of [conversationId, anonymous.conversation.id])
    await expectRefused(
      scene.workspace.session.call('getInboxConversation', { params: { tenantId, id } }),
      404,
      'not_found',
    );
});

test('webhooks close the anonymous conversation, and continue with the identified visitor in the one that the site knows', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  const { tenantId } = scene;
  const events = ['message.created' as const, 'conversation.closed' as const];
  const { id } = await scene.api.call('createWebhook', { params: { tenantId }, body: { url: receiver.url, events } });
  const anonymous = await open({});
  await write(anonymous.token, 'First');
  const minted = await scene.mint('customer-of-events');
  const session = await signIn(minted.token, anonymous.token);
  await write(session.token, 'Second');
  type Payload = {
    sequence: number;
    conversation: { id: string };
    message?: { content: string };
    visitor: { external_id: string | null };
  };
  const notifications = () =>
    receiver.received.map(({ body }) => {
      const { event, payload } = JSON.parse(body) as { event: string; payload: Payload };
      const { sequence, conversation, message, visitor } = payload;
      return [conversation.id, sequence, message?.content ?? event, visitor.external_id];
    });
  await expect
    .poll(() => notifications().toSorted())
    .toEqual(
      [
        [anonymous.conversation.id, 2, 'First', null],
        [anonymous.conversation.id, 3, 'conversation.closed', 'customer-of-events'],
        [minted.conversationId, 2, 'Second', 'customer-of-events'],
      ].toSorted(),
    );
  await scene.api.call('deleteWebhook', { params: { tenantId, id } });
});

test('a carried-over conversation is named after the identified visitor, not by what the anonymous visitor typed', async () => {
  const anonymous = await open({ name: 'Another Customer', email: 'another@example.org' });
  await write(anonymous.token, 'Hello');
  const { visitorToken: token, conversationId } = await scene.api.call('createChatSession', {
    body: { externalId: 'customer-of-names', displayName: 'Ann Customer' },
  });
  await signIn(token, anonymous.token);
  const { session } = scene.workspace;
  const { tenantId } = scene;
  for (const id of [conversationId, anonymous.conversation.id])
    expect(await session.call('getInboxConversation', { params: { tenantId, id } })).toMatchObject({
      name: 'Ann Customer',
    });
  const params = { tenantId, id: conversationId };
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
  const { token, conversationId } = await scene.mint('customer-of-titles');
  await signIn(token, anonymous.token);
  expect(await session.call('getInboxConversation', { params })).toMatchObject({ name: 'customer-of-titles' });
  const { data } = await session.call('listInboxMessages', {
    params: { tenantId: scene.tenantId, id: conversationId },
  });
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
  expect(links.map(({ conversationId }) => conversationId)).toContain(winners[0]?.conversation.id);
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
