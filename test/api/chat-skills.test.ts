import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { loseRunProgress } from '../fixtures/stage/automations.ts';

let model: ModelServer;
let hub: TestHub;
beforeAll(async () => {
  model = await startModelServer();
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', EGRESS_ALLOW_HOSTS: model.host });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

async function begin() {
  const workspace: TestWorkspace = await hub.workspace();
  const chat = hub.client((await workspace.createKey({ product: 'chat' })).key);
  const follow = async (type: string, stepsJson: object[], filter?: object) =>
    (
      await workspace.api.call('createAutomationWorkflow', {
        body: {
          name: type,
          stepsJson,
          triggerJson: { type: 'event', event: { type, ...(filter === undefined ? {} : { filter }) } },
        } as never,
      })
    ).id;
  const runsOf = async (workflowId: string) =>
    (await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data;
  const written = async (id: string) =>
    (
      await workspace.session.call('listInboxMessages', { params: { tenantId: workspace.tenantId, id }, query: {} })
    ).data.map(({ content, private: isPrivate, senderType }) => [content, isPrivate, senderType]);
  return { workspace, chat, follow, runsOf, written };
}

/** Runs a skill and returns the result. */
async function runSkill({ api }: TestWorkspace, skillId: string, input: object) {
  const { runId } = await api.call('runAutomationSkill', { params: { skillId }, body: { input: input as never } });
  const run = await settledRun(api, runId);
  return { status: run.status, error: run.error, output: run.stepsResultJson[0]?.output };
}

test('a run that an event started replies to the visitor, and adds a note that only agents see', async () => {
  const { chat, follow, written } = await begin();
  const post = (input: object) => ({
    type: 'skill',
    skillId: 'chat.post_message',
    input: { conversationId: '{{payload.conversation.id}}', ...input },
  });
  await follow('conversation.created', [
    post({ content: 'Welcome' }),
    post({ content: 'from a new customer', private: true, as: 'ai' }),
  ]);
  const { id } = await chat.call('createChatConversation', { body: { name: 'n' } });
  await expect
    .poll(() => written(id))
    .toEqual([
      ['Welcome', false, 'api'],
      ['from a new customer', true, 'ai'],
    ]);
  const { data } = await chat.call('listChatMessages', { params: { id } });
  expect(data.map(({ content }) => content)).toEqual(['Welcome']);
});

test('all messages that one agent step posts are stored: a note and two replies', async () => {
  const { workspace, chat, written } = await begin();
  await workspace.api.call('putAutomationModels', {
    body: {
      models: [{ id: 'm', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'x' }],
      order: ['m'],
    } as never,
  });
  const { id: toolProfileId } = await workspace.api.call('putAutomationToolProfile', {
    body: { name: 't', allow: ['chat.*'], deny: [] },
  });
  const { id } = await chat.call('createChatConversation', { body: { name: 'n' } });
  const post = (input: object) => `TOOL_CALL:chat.post_message|${JSON.stringify({ channelId: id, ...input })}`;
  const replies = [
    post({ content: 'The customer is angry', private: true }),
    `${post({ content: 'One moment' })}\n${post({ content: 'Your refund is on its way' })}`,
    'FINAL: told the customer',
  ];
  model.reply = (_request, turn) => replies[turn] ?? 'FINAL: too many turns';
  const { id: workflowId } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'agent', stepsJson: [{ type: 'agent', prompt: 'go', toolProfileId }] },
  });
  const { runId } = startedRun(
    await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId }, body: {} }),
  );
  const run = await settledRun(workspace.api, runId);
  expect(run).toMatchObject({ status: 'succeeded' });
  expect(await written(id)).toEqual([
    ['The customer is angry', true, 'api'],
    ['One moment', false, 'api'],
    ['Your refund is on its way', false, 'api'],
  ]);
});

test('the specified names and the earlier ones reach the same conversation, and exactly one of each is needed', async () => {
  const { workspace, chat, written } = await begin();
  const { id } = await chat.call('createChatConversation', { body: { name: 'n' } });
  const post = (input: object) => runSkill(workspace, 'chat.post_message', { content: 'x', ...input });
  expect(await post({ channelId: id })).toMatchObject({ status: 'succeeded' });
  expect(await post({ conversationId: id })).toMatchObject({ status: 'succeeded' });
  await expect(post({})).rejects.toMatchObject({ status: 400, details: [{ path: 'body.input.channelId' }] });
  await expect(post({ channelId: id, conversationId: id })).rejects.toMatchObject({
    status: 400,
    details: [{ path: 'body.input.conversationId' }],
  });
  expect(await written(id)).toHaveLength(2);
  const { id: userId } = (await workspace.session.call('readMe', {})).user;
  const assign = (input: object) => runSkill(workspace, 'chat.assign', { channelId: id, ...input });
  expect(await assign({ assigneeId: userId })).toMatchObject({ output: { assignedUserId: userId } });
  expect(await assign({ userId: null })).toMatchObject({ output: { assignedUserId: null } });
  await expect(assign({})).rejects.toMatchObject({ status: 400, details: [{ path: 'body.input.assigneeId' }] });
  for (const field of ['assigneeId', 'userId'])
    expect(await assign({ [field]: id })).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining(`input.${field} must be a member of this workspace`) as string },
    });
});

test('the catalog and a stored workflow use the specified fields', async () => {
  const { workspace } = await begin();
  const { skills } = await workspace.api.call('listAutomationSkillCatalog', {});
  const fieldsOf = (skillId: string) => {
    const { properties, required } = (skills.find(({ id }) => id === skillId) as (typeof skills)[number]).input as {
      properties: object;
      required: string[];
    };
    return { fields: Object.keys(properties), required };
  };
  expect(fieldsOf('chat.post_message')).toEqual({
    fields: ['channelId', 'content', 'private', 'as'],
    required: ['channelId', 'content'],
  });
  expect(fieldsOf('chat.assign')).toEqual({
    fields: ['channelId', 'assigneeId', 'onlyIfUnassigned'],
    required: ['channelId', 'assigneeId'],
  });
  await expect(
    workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'incomplete',
        stepsJson: [
          { type: 'skill', skillId: 'chat.post_message', input: { content: '{{context}}', as: '{{payload}}' } },
        ],
      } as never,
    }),
  ).rejects.toMatchObject({
    status: 400,
    details: [{ path: 'stepsJson[0].input.channelId', message: 'is required' }],
  });
});

test('a step that is executed again writes its message once', async () => {
  const { workspace, chat, written } = await begin();
  const { id } = await chat.call('createChatConversation', { body: { name: 'n' } });
  const step = { type: 'skill', skillId: 'chat.post_message', input: { conversationId: id, content: 'once' } };
  const { id: workflowId } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'w', stepsJson: [step] } as never,
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId } }));
  await settledRun(workspace.api, runId);
  // Simulates a crash between the message and the record of the step.
  await loseRunProgress(hub.database, runId);
  await expect
    .poll(async () => {
      await hub.app.sweep();
      return (await workspace.api.call('getAutomationRun', { params: { id: runId } })).status;
    })
    .toBe('succeeded');
  expect(await written(id)).toEqual([['once', false, 'api']]);
});

test('workflows that reply to each other end after eight runs', async () => {
  const { chat, follow, runsOf, written } = await begin();
  const workflowId = await follow('message.created', [
    {
      type: 'skill',
      skillId: 'chat.post_message',
      input: { conversationId: '{{payload.conversation.id}}', content: 'again' },
    },
  ]);
  const { id } = await chat.call('createChatConversation', { body: { name: 'n' } });
  await chat.call('sendChatMessage', { params: { id }, body: { content: 'go' } });
  await expect.poll(async () => (await written(id)).length).toBe(9);
  await expect
    .poll(async () => (await runsOf(workflowId)).map(({ status }) => status))
    .toEqual(Array.from({ length: 8 }, () => 'succeeded'));
  expect(await written(id)).toHaveLength(9);
});

test('the assignment step assigns a member, and can keep an existing assignee', async () => {
  const { workspace, chat, runsOf, follow } = await begin();
  const me = (await workspace.session.call('readMe', {})).user.id;
  const { id } = await chat.call('createChatConversation', { body: { name: 'n' } });
  const assigned = await follow('conversation.assigned', [{ type: 'log', message: '{{payload.assignee.email}}' }]);
  const call = (input: object) => runSkill(workspace, 'chat.assign', { conversationId: id, ...input });
  expect(await call({ userId: me })).toMatchObject({ output: { assignedUserId: me } });
  expect(await call({ userId: null, onlyIfUnassigned: true })).toMatchObject({ output: { assignedUserId: me } });
  expect(await call({ userId: id })).toMatchObject({ status: 'failed', error: { code: 'validation_failed' } });
  expect(await call({ userId: null })).toMatchObject({ output: { assignedUserId: null } });
  await expect.poll(async () => (await runsOf(assigned)).length).toBe(2);
});

test('a step cannot access a conversation of another workspace', async () => {
  const { chat } = await begin();
  const { id } = await chat.call('createChatConversation', { body: { name: 'n' } });
  const otherWorkspace = await hub.workspace();
  for (const [skillId, input] of [
    ['chat.post_message', { conversationId: id, content: 'x' }],
    ['chat.assign', { conversationId: id, userId: null }],
  ] as const)
    expect(await runSkill(otherWorkspace, skillId, input)).toMatchObject({
      status: 'failed',
      error: { code: 'not_found' },
    });
});
