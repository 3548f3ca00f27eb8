import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { openAgent, openVisitor } from '../fixtures/live-chat.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import type { Receiver } from '../fixtures/receiver.ts';
import { send } from '../fixtures/requests.ts';
import { openStream } from '../fixtures/server-sent-events.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { chatScene } from '../fixtures/visitor.ts';

let hub: TestHub;
let receiver: Receiver;
let model: Awaited<ReturnType<typeof startModelServer>>;
beforeAll(async () => {
  [receiver, model] = await Promise.all([startReceiver(), startModelServer()]);
  hub = await startHub({
    RATE_LIMIT_PER_MINUTE: '1000000',
    EGRESS_ALLOW_HOSTS: '127.0.0.1',
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'test',
  });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

const act = fc.oneof(
  fc.constant('visitor' as const),
  fc.constant('agent' as const),
  fc.constant('note' as const),
  fc.constant('noted by a run' as const),
  fc.constant('api' as const),
  fc.constant('close and open' as const),
);

test('agents see notes in any order of writing, and no visitor, key, webhook, run, model or export does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 12 }), async (acts) => {
      const scene = await chatScene(hub);
      const { tenantId, workspace, api } = scene;
      receiver.received.length = 0;
      await api.call('createWebhook', {
        params: { tenantId },
        body: { url: receiver.url, events: ['message.created', 'conversation.closed'] },
      });
      const { id: workflowId } = await workspace.api.call('createAutomationWorkflow', {
        body: {
          name: 'all',
          stepsJson: [
            { type: 'skill', skillId: 'ai.invoke', input: { input: 'What is it about?', context: '{{payload}}' } },
          ],
          triggerJson: {
            type: 'event',
            event: { type: 'message.created', filter: { 'message.senderType': 'visitor' } },
          },
        } as never,
      });
      const visitor = await scene.visitor();
      const params = { tenantId, id: visitor.conversationId };
      const page = await openVisitor(hub.url, visitor.token);
      const stream = await openStream(`${hub.url}/widget/v1/events?after=0`, visitor.token);
      const inbox = await openAgent(hub.url, tenantId, workspace.jwt);
      for (const { frames } of [page, inbox])
        await expect.poll(() => frames.some(({ type }) => type === 'sync')).toBe(true);
      const secrets: string[] = [];
      let open = 0;
      for (const [index, what] of acts.entries()) {
        const content = `${what === 'note' || what === 'noted by a run' ? 'hidden' : 'said'}${index}word`;
        if (what === 'visitor') {
          await visitor.api.call('sendVisitorMessage', { body: { content, clientId: content } });
          open += 1;
        } else if (what === 'api') {
          await api.call('sendChatMessage', { params: { id: visitor.conversationId }, body: { content } });
          open += 1;
        } else if (what === 'close and open') {
          for (const status of ['closed', 'open'] as const)
            await workspace.session.call('updateInboxConversation', { params, body: { status } });
        } else if (what === 'noted by a run') {
          const { runId } = await workspace.api.call('runAutomationSkill', {
            params: { skillId: 'chat.post_message' },
            body: { input: { conversationId: visitor.conversationId, content, private: true } },
          });
          await settledRun(workspace.api, runId);
        } else {
          await workspace.session.call('sendInboxMessage', { params, body: { content, private: what === 'note' } });
          if (what === 'agent') open += 1;
        }
        if (content.startsWith('hidden')) secrets.push(content);
      }
      await api.call('sendChatMessage', { params: { id: visitor.conversationId }, body: { content: 'the end' } });

      const textOf = (value: unknown) => JSON.stringify(value);
      await expect.poll(() => textOf(page.frames)).toContain('the end');
      await expect.poll(() => textOf(stream.received)).toContain('the end');
      await expect.poll(() => textOf(inbox.frames)).toContain('the end');
      await expect.poll(() => textOf(receiver.received)).toContain('the end');
      const runs = async () => (await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data;
      await expect.poll(async () => (await runs()).every(({ finishedAt }) => finishedAt !== null)).toBe(true);
      const exported = await send(hub.url, 'GET', `/tenants/${tenantId}/chat/visitors/${visitor.visitorId}/export`, {
        headers: { authorization: `Bearer ${workspace.jwt}` },
      });
      const outside = {
        page: page.frames,
        stream: stream.received,
        visitorMessages: await visitor.api.call('listVisitorMessages', {}),
        visitorConversation: await visitor.api.call('getVisitorConversation', {}),
        keyMessages: await api.call('listChatMessages', { params: { id: visitor.conversationId } }),
        keyConversations: await api.call('listChatConversations', {}),
        keyVisitors: await api.call('listChatVisitors', {}),
        webhooks: receiver.received,
        runs: await Promise.all(
          (await runs()).map(({ id }) => workspace.api.call('getAutomationRun', { params: { id } })),
        ),
        model: model.requests,
        exported: exported.text,
      };
      for (const secret of secrets)
        for (const [path, seen] of Object.entries(outside))
          expect([path, textOf(seen).includes(secret)]).toEqual([path, false]);
      expect((await visitor.api.call('listVisitorMessages', {})).data.map(({ seq }) => seq)).toEqual(
        Array.from({ length: open + 1 }, (_, index) => index + 1),
      );
      const inside = await workspace.session.call('listInboxMessages', { params, query: { limit: 100 } });
      expect(inside.data.filter((message) => message.private).map(({ content }) => content)).toEqual(secrets);
      for (const secret of secrets) await expect.poll(() => textOf(inbox.frames)).toContain(secret);
      page.end();
      inbox.end();
      stream.end();
    }),
    { numRuns: 6 },
  );
});
