import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import type { Receiver } from '../fixtures/receiver.ts';
import { send } from '../fixtures/requests.ts';

let provider: Receiver;
let hub: TestHub;
let workspace: TestWorkspace;
const secret = 'an-inbound-secret-of-length';
beforeAll(async () => {
  provider = await startReceiver();
  hub = await startHub({ EGRESS_ALLOW_HOSTS: new URL(provider.url).host, RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});
beforeEach(async () => {
  workspace = await hub.workspace();
  provider.received.length = 0;
  provider.answer = (_received, response) => void response.writeHead(200).end('{}');
});

async function channel(name = 'Front desk', url = `${provider.url}/out`) {
  const { id } = await workspace.api.call('putAutomationChannel', {
    body: { provider: 'webhook', name, conversations: true, config: { inboundSecret: secret, url } },
  });
  return id;
}
const receive = (
  id: string,
  body: object,
  headers: Record<string, string> = { 'x-service-automation-token': secret },
) => send(hub.url, 'POST', `/v1/automations/channels/${id}/inbound`, { headers, body });
const inbox = async () =>
  (await workspace.session.call('listInboxConversations', { params: { tenantId: workspace.tenantId }, query: {} }))
    .data;
const messages = async (id: string) =>
  (await workspace.session.call('listInboxMessages', { params: { tenantId: workspace.tenantId, id }, query: {} })).data;
const reply = (id: string, content: string) =>
  workspace.session.call('sendInboxMessage', { params: { tenantId: workspace.tenantId, id }, body: { content } });
const sent = () =>
  provider.received.map(({ body }) => JSON.parse(body) as { to: string; text: string; messageId: string });

test('messages of one sender continue one conversation, and a repeated message is one message', async () => {
  const id = await channel();
  const first = { text: 'Hello', from: 'ann', messageId: 'm1' };
  const answers = await Promise.all([receive(id, first), receive(id, first), receive(id, first)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  await receive(id, { text: 'Are you there?', from: 'ann', messageId: 'm2' });
  await receive(id, { text: 'Hi', from: 'bob', messageId: 'm3' });
  const listed = await inbox();
  expect(
    listed.map(({ name, source, status }) => ({ name, source, status })).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  ).toEqual([
    { name: 'ann', source: 'Front desk', status: 'open' },
    { name: 'bob', source: 'Front desk', status: 'open' },
  ]);
  const ofAnn = listed.find(({ name }) => name === 'ann')?.id as string;
  expect((await messages(ofAnn)).map(({ content, senderType }) => [content, senderType])).toEqual([
    ['Hello', 'visitor'],
    ['Are you there?', 'visitor'],
  ]);
  // A closed conversation stays closed: the next message opens another one.
  await workspace.session.call('updateInboxConversation', {
    params: { tenantId: workspace.tenantId, id: ofAnn },
    body: { status: 'closed' },
  });
  await receive(id, { text: 'Again', from: 'ann', messageId: 'm4' });
  expect(
    (await inbox())
      .filter(({ name }) => name === 'ann')
      .map(({ status }) => status)
      .toSorted(),
  ).toEqual(['closed', 'open']);
});

test('workflows of the channel still start, and events name their origin', async () => {
  const id = await channel();
  const make = async (triggerJson: object, message: string) =>
    (
      await workspace.api.call('createAutomationWorkflow', {
        body: { name: message, triggerJson: triggerJson as never, stepsJson: [{ type: 'log', message }] },
      })
    ).id;
  const ofChannel = await make({ type: 'channel', channel: { channelId: id } }, 'channel {{payload.text}}');
  const ofEvents = [
    await make({ type: 'event', event: { type: 'conversation.created' } }, 'created {{payload.origin}}'),
    await make({ type: 'event', event: { type: 'message.created' } }, 'message {{payload.origin}}'),
  ];
  const logged = async () => {
    const { data } = await workspace.api.call('listAutomationLogs', { query: {} });
    return data.map(({ message }) => message).toSorted();
  };
  const { body } = await receive(id, { text: 'Hello', from: 'ann', messageId: 'm1' });
  expect(body['runIds']).toHaveLength(1);
  await expect.poll(logged).toEqual(['channel Hello', 'created omnichannel', 'message omnichannel']);
  await reply((await inbox())[0]?.id as string, 'Good day');
  await expect.poll(logged).toEqual(['channel Hello', 'created omnichannel', 'message agent', 'message omnichannel']);
  expect([ofChannel, ...ofEvents]).toHaveLength(3);
});

test.each(['first message of a sender', 'message that reopens a conversation', 'conversation opened through the API'])(
  'a %s locks the assignment of its workspace before the workflows that follow its events',
  async (what) => {
    const id = await channel();
    const { tenantId } = workspace;
    if (what.includes('reopens')) {
      await receive(id, { text: 'Hello', from: 'ann', messageId: 'm1' });
      await workspace.session.call('updateInboxConversation', {
        params: { tenantId, id: (await inbox())[0]?.id as string },
        body: { status: 'resolved' },
      });
    }
    await workspace.session.call('putChatSettings', {
      params: { tenantId },
      body: { autoAssignment: { enabled: true, capacity: 5, returnToPool: false } },
    });
    const workflowIds: string[] = [];
    for (const type of ['conversation.created', 'message.created']) {
      const workflow = await workspace.api.call('createAutomationWorkflow', {
        body: {
          name: type,
          triggerJson: { type: 'event', event: { type } } as never,
          stepsJson: [{ type: 'log', message: type }],
          limits: { maxConcurrentRuns: 5, onLimit: 'drop' },
        },
      });
      workflowIds.push(workflow.id);
    }
    const other = new Client({ connectionString: hub.database.url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query(`BEGIN; SET LOCAL lock_timeout = '500ms'`);
    await other.query('SELECT FROM chat_widgets WHERE tenant_id = $1 FOR NO KEY UPDATE', [tenantId]);
    const done = what.includes('API')
      ? hub.client(workspace.keys.chat as string).call('createChatConversation', { body: { name: 'ann' } })
      : receive(id, { text: 'Hello', from: 'ann', messageId: 'm2' });
    const waiting = () =>
      hub.database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%chat_widgets%FOR NO KEY UPDATE%'`,
      );
    await expect.poll(async () => (await waiting()).length).toBe(1);
    await other.query('SELECT FROM workflows WHERE id = ANY($1::uuid[]) FOR UPDATE', [workflowIds]);
    await other.query('COMMIT');
    await done;
  },
);

test('replies of agents and of the API are sent through the channel once, and recorded', async () => {
  const id = await channel();
  await receive(id, { text: 'Hello', from: 'ann', replyTo: 'room-7', messageId: 'm1' });
  const [conversation] = await inbox();
  const conversationId = conversation?.id as string;
  const at = { tenantId: workspace.tenantId, id: conversationId };
  const body = { content: 'Good day', clientId: 'once-and-once' };
  await Promise.all([
    workspace.session.call('sendInboxMessage', { params: at, body }),
    workspace.session.call('sendInboxMessage', { params: at, body }),
  ]);
  await workspace.session.call('sendInboxMessage', { params: at, body: { content: 'only for agents', private: true } });
  await hub
    .client(workspace.keys.chat as string)
    .call('sendChatMessage', { params: { id: conversationId }, body: { content: 'From the API' } });
  await expect
    .poll(() =>
      sent()
        .map(({ to, text }) => `${to}: ${text}`)
        .toSorted(),
    )
    .toEqual(['room-7: From the API', 'room-7: Good day']);
  const records = async () => (await workspace.api.call('listAutomationMessages', { query: {} })).data;
  await expect
    .poll(async () => (await records()).map(({ channel: kind, recipient, status }) => `${kind} ${recipient} ${status}`))
    .toEqual(['webhook room-7 delivered', 'webhook room-7 delivered']);
  // An echo of a sent message, as a relay may return it, is not a message of the visitor.
  const [echoed] = sent();
  expect((await receive(id, { text: echoed?.text, from: 'ann', messageId: echoed?.messageId })).body).toMatchObject({
    duplicate: true,
  });
  expect((await messages(conversationId)).filter(({ senderType }) => senderType === 'visitor')).toHaveLength(1);
});

test('a reply that cannot be sent adds a note to its conversation', async () => {
  const id = await channel();
  await receive(id, { text: 'Hello', from: 'ann', messageId: 'm1' });
  const conversationId = (await inbox())[0]?.id as string;
  provider.answer = (_received, response) => void response.writeHead(403).end('blocked by the provider');
  await reply(conversationId, 'Good day');
  const notes = async () =>
    (await messages(conversationId)).filter((message) => message.private).map(({ content }) => content);
  await expect
    .poll(notes)
    .toEqual([expect.stringMatching(/^Not sent through the channel \(delivery_refused\): .*403/)]);
});

test('messages with a test key make test conversations, whose replies are only simulated', async () => {
  const id = await channel();
  const { key } = await workspace.createKey({ environment: 'test' });
  await receive(id, { text: 'Live', from: 'ann', messageId: 'm1' });
  await receive(id, { text: 'Test', from: 'ann', messageId: 'm2' }, { 'x-api-key': key });
  const live = hub.client(workspace.keys.chat as string);
  const testing = hub.client((await workspace.createKey({ product: 'chat', environment: 'test' })).key);
  const [ofLive, ofTest] = await Promise.all(
    [live, testing].map(async (client) => (await client.call('listChatConversations', { query: {} })).data),
  );
  expect([ofLive?.length, ofTest?.length]).toEqual([1, 1]);
  const params = { id: ofTest?.[0]?.id as string };
  const { data } = await testing.call('listChatMessages', { params, query: {} });
  expect(data.map(({ content }) => content)).toEqual(['Test']);
  await testing.call('sendChatMessage', { params, body: { content: 'A reply' } });
  const records = async () =>
    (await workspace.api.call('listAutomationMessages', { query: {} })).data.map(({ status }) => status);
  await expect.poll(records).toEqual(['simulated']);
  expect(sent()).toEqual([]);
});

test('a loop with a program that answers each reply ends', async () => {
  const id = await channel();
  await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'answer everything',
      triggerJson: { type: 'event', event: { type: 'message.created', filter: { 'message.senderType': 'visitor' } } },
      stepsJson: [
        {
          type: 'skill',
          skillId: 'chat.post_message',
          input: { channelId: '{{payload.conversation.id}}', content: 'Thanks' },
        },
      ],
    },
  });
  let count = 0;
  provider.answer = async (_received, response) => {
    response.writeHead(200).end('{}');
    count += 1;
    await receive(id, { text: 'I am away', from: 'robot', messageId: `auto-${count}` });
  };
  await receive(id, { text: 'I am away', from: 'robot', messageId: 'auto-0' });
  const conversationId = (await inbox())[0]?.id as string;
  const notes = async () =>
    (
      await workspace.session.call('listInboxMessages', {
        params: { tenantId: workspace.tenantId, id: conversationId },
        query: { limit: 100 },
      })
    ).data.filter((message) => message.private).length;
  await expect.poll(notes, { timeout: 110_000, interval: 250 }).toBe(1);
  expect(sent()).toHaveLength(60);
}, 180_000);

test('a message of a blocked visitor is in no conversation, and a workspace without Live Chat cannot enable conversations', async () => {
  const id = await channel();
  await receive(id, { text: 'Hello', from: 'ann', messageId: 'm1' });
  const [conversation] = await inbox();
  await workspace.session.call('blockInboxVisitor', {
    params: { tenantId: workspace.tenantId, id: conversation?.visitorId as string },
  });
  expect((await receive(id, { text: 'Let me in', from: 'ann', messageId: 'm2' })).status).toBe(200);
  expect((await messages(conversation?.id as string)).map(({ content }) => content)).toEqual(['Hello']);
  await hub.client(adminKey).call('putEntitlements', {
    params: { tenantId: workspace.tenantId },
    body: { conversations_suite: false },
  });
  const body = { provider: 'webhook', name: 'Other', conversations: true, config: { inboundSecret: secret } };
  const headers = { 'x-api-key': workspace.key };
  expect((await send(hub.url, 'POST', '/v1/automations/channels', { headers, body })).body).toMatchObject({
    statusCode: 403,
    code: 'product_not_entitled',
  });
  expect(
    (await send(hub.url, 'POST', '/v1/automations/channels', { headers, body: { ...body, conversations: 'yes' } }))
      .body,
  ).toMatchObject({ statusCode: 400, details: [{ path: 'body.conversations' }] });
});
