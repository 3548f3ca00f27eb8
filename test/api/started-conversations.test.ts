import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId } from '../fixtures/requests.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let tenantId: string;
let agents: TestWorkspace['session'];
let me: string;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
  ({ tenantId, session: agents } = workspace);
  me = (await agents.call('readMe', {})).user.id;
});

const at = (id: string) => ({ tenantId, id });
/** Creates a visitor whose conversation is closed, unless `isOpen` is set. */
async function visitor({ environment = 'live' as 'live' | 'test', isOpen = false } = {}) {
  const { key } = await workspace.createKey({ product: 'chat', environment });
  const externalId = `person-${Math.random()}`;
  const { conversationId, visitorToken, siteKey } = await hub
    .client(key)
    .call('createChatSession', { body: { externalId, displayName: 'Ada' } });
  if (!isOpen) await agents.call('updateInboxConversation', { params: at(conversationId), body: { status: 'closed' } });
  const visitorId = (await agents.call('getInboxConversation', { params: at(conversationId) })).visitor?.id as string;
  return { conversationId, visitorId, visitorToken, siteKey };
}
const start = (visitorId: string, more: Record<string, unknown> = {}, as = agents) =>
  as.call('startInboxConversation', { params: { tenantId }, body: { visitorId, content: 'Hello Ada', ...more } });

test('an agent starts a conversation, is assigned to it, and its events have the origin support', async () => {
  const { visitorId } = await visitor();
  for (const [type, origin] of [
    ['conversation.created', ' {{payload.origin}}'],
    ['conversation.assigned', ''],
    ['message.created', ' {{payload.origin}}'],
  ] as const)
    await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: type,
        triggerJson: { type: 'event', event: { type } } as never,
        stepsJson: [{ type: 'log', message: `${type}${origin} {{payload.conversation.id}}` }],
      },
    });
  const started = await start(visitorId);
  expect(started).toMatchObject({
    name: 'Ada',
    source: 'support',
    status: 'open',
    assignedUserId: me,
    lastMessage: { content: 'Hello Ada', senderType: 'agent' },
  });
  await expect
    .poll(async () =>
      (await workspace.api.call('listAutomationLogs', { query: {} })).data
        .map(({ message }) => message.trim())
        .toSorted(),
    )
    .toEqual([
      `conversation.assigned ${started.id}`,
      `conversation.created support ${started.id}`,
      `message.created agent ${started.id}`,
    ]);
});

test('a session of the closed conversation reports the continuation, and opens the started one', async () => {
  const { visitorId, visitorToken, siteKey } = await visitor();
  const open = () => hub.client().call('openVisitorSession', { body: { siteKey, token: visitorToken } });
  expect((await open()).conversation).toMatchObject({ status: 'closed', isContinued: false });
  const { id } = await start(visitorId);
  const session = await open();
  expect(session.conversation).toMatchObject({ status: 'closed', isContinued: true });
  const next = await hub.client(session.token).call('beginVisitorConversation', {});
  expect(next.conversation).toMatchObject({ id, status: 'open', isContinued: false, lastSeq: 1, visitorReadSeq: 0 });
  // The same applies after the agent resolved the conversation.
  await agents.call('updateInboxConversation', { params: at(id), body: { status: 'resolved' } });
  const again = await open();
  expect(again.conversation.isContinued).toBe(true);
  expect((await hub.client(again.token).call('beginVisitorConversation', {})).conversation.id).toBe(id);
});

test.each(['open', 'pending', 'resolved'] as const)(
  'a visitor with a conversation that is %s gets no second one, and the response names the first',
  async (status) => {
    const { visitorId, conversationId } = await visitor({ isOpen: true });
    await agents.call('updateInboxConversation', { params: at(conversationId), body: { status } });
    await expect(start(visitorId)).rejects.toMatchObject({
      status: 409,
      code: 'conflict',
      message: expect.stringContaining(conversationId) as string,
    });
  },
);

test('two agents at the same time start one conversation', async () => {
  const { visitorId } = await visitor();
  const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => start(visitorId)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'conflict' });
});

test('a conversation with a test visitor is a test conversation', async () => {
  const { visitorId } = await visitor({ environment: 'test' });
  expect(await start(visitorId)).toMatchObject({ environment: 'test' });
});

test('a conversation with a blocked, erased, unknown or foreign visitor is rejected', async () => {
  const blocked = await visitor();
  await agents.call('blockInboxVisitor', { params: at(blocked.visitorId) });
  await expect(start(blocked.visitorId)).rejects.toMatchObject({ status: 403, code: 'visitor_blocked' });
  await expect(start(missingId)).rejects.toMatchObject({ code: 'not_found' });
  const other = await hub.workspace();
  const { visitorId } = await visitor();
  await expect(
    other.session.call('startInboxConversation', {
      params: { tenantId: other.tenantId },
      body: { visitorId, content: 'Hello' },
    }),
  ).rejects.toMatchObject({ code: 'not_found' });
  await expect(start(visitorId, { content: '' })).rejects.toMatchObject({ details: [{ path: 'body.content' }] });
  await expect(start(visitorId, { source: 'x'.repeat(101) })).rejects.toMatchObject({
    details: [{ path: 'body.source' }],
  });
  expect(await start(visitorId, { source: 'callback' })).toMatchObject({ source: 'callback' });
});
