import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { VisitorFrame } from '../../shared/contract/chat/live.ts';
import { aiChatScene } from '../fixtures/ai-chat-scene.ts';
import type { AiChatScene } from '../fixtures/ai-chat-scene.ts';
import { avoidPeriodEnd, dayMs } from '../fixtures/avoid-period-end.ts';
import { startChatModel } from '../fixtures/chat-model.ts';
import type { ChatModel, ChatModelReply } from '../fixtures/chat-model.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { openVisitor } from '../fixtures/live-chat.ts';
import type { LivePage } from '../fixtures/live-chat.ts';
import { send } from '../fixtures/requests.ts';
import {
  addApiMessage,
  ageConversations,
  expireAiTurnLeases,
  leaseAiTurn,
  makeAiTurnsDue,
  makeAgentsOffline,
  makePersonOwner,
  refuseHandover,
} from '../fixtures/stage/chat.ts';
import type { TestVisitor } from '../fixtures/visitor.ts';

let hub: TestHub;
let second: TestHub;
let model: ChatModel;
let scene: AiChatScene;
const pages: LivePage<unknown>[] = [];
beforeAll(async () => {
  model = await startChatModel();
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000', ...model.env });
  // Both processes answer, but each turn is answered by one of them.
  second = await startHub(
    { RATE_LIMIT_PER_MINUTE: '1000000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000', ...model.env },
    hub.database,
  );
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await avoidPeriodEnd(dayMs);
  scene = await aiChatScene(hub);
  await scene.setAi({ enabled: true });
  model.requests.length = 0;
  model.answer = () => ({ reply: 'We open at nine.' });
});
afterEach(() => {
  for (const page of pages.splice(0)) page.end();
});

const shown = () => scene.workspace.session.call('getChatAiSettings', { params: { tenantId: scene.tenantId } });
const ofConversation = ({ conversationId }: TestVisitor) => ({ tenantId: scene.tenantId, id: conversationId });
const notes = async (visitor: TestVisitor) => (await scene.inbox(visitor)).filter((message) => message.private);
const show = (visitor: TestVisitor) =>
  scene.workspace.session.call('getInboxConversation', { params: ofConversation(visitor) });
const reply = (visitor: TestVisitor, content: string) =>
  scene.workspace.session.call('sendInboxMessage', { params: ofConversation(visitor), body: { content } });
const turns = () =>
  hub.database.query(`SELECT * FROM chat_ai_turns WHERE tenant_id = $1 AND due_at < 'infinity'`, [scene.tenantId]);
const noAgent = () => makeAgentsOffline(hub.database, scene.tenantId);
const framesOf = async (visitor: TestVisitor) => {
  const page = await openVisitor(hub.url, visitor.token);
  pages.push(page as LivePage<unknown>);
  return page.frames;
};
const deltasOf = (frames: VisitorFrame[]) => frames.filter((frame) => frame.type === 'delta');
const handedOver = 'ai: I am handing you over to a person. They will answer here as soon as they can.';

/** Blocks the answer of the model until the test continues. */
function blockModel(modelReply: ChatModelReply = { reply: 'A late answer.' }) {
  const requested = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let first = true;
  const later = model.answer;
  model.answer = async (request) => {
    if (!first) return later(request);
    first = false;
    requested.resolve();
    await release.promise;
    return modelReply;
  };
  return { requested: requested.promise, release: () => release.resolve() };
}

describe('an answer', () => {
  test('is sent once and attributed to the AI agent, regardless of the number of processes and messages', async () => {
    await scene.setAi({ enabled: true, debounceMs: 30_000 });
    const visitor = await scene.visitor();
    expect((await show(visitor)).owner).toBe('ai');
    for (const text of ['Hello', 'when do you', 'open?']) await scene.sendAs(visitor, text);
    await makeAiTurnsDue(hub.database, scene.tenantId);
    await expect.poll(() => scene.publicMessages(visitor)).toContain('ai: We open at nine.');
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toEqual([
      'visitor: Hello',
      'visitor: when do you',
      'visitor: open?',
      'ai: We open at nine.',
    ]);
    expect(model.requests).toHaveLength(1);
    for (const text of ['Hello', 'when do you', 'open?']) expect(model.requests[0]?.text).toContain(text);
    expect((await shown()).usage).toMatchObject({ replies: 1, handOvers: 0, inputTokens: 10, outputTokens: 5 });
    // An AI reply does not mark the visitor's message as read.
    expect((await show(visitor)).unreadCount).toBe(3);
  });

  test('to a question from before the sign-in is sent to the conversation into which it moved', async () => {
    await scene.set({ allowAnonymous: true });
    await scene.setAi({ enabled: true, debounceMs: 30_000 });
    const { siteKey } = scene;
    const open = (body: object) => hub.client().call('openVisitorSession', { body: { siteKey, ...body } });
    const anonymous = await open({});
    await hub
      .client(anonymous.token)
      .call('sendVisitorMessage', { body: { content: 'When do you open?', clientId: 'one' } });
    const { token, conversationId } = await scene.mint();
    const session = await open({ token, anonymousSession: anonymous.token });
    expect(session).toMatchObject({ carriedOver: true, conversation: { id: conversationId } });
    const visitor = { ...session, conversationId, api: hub.client(session.token) };
    await makeAiTurnsDue(hub.database, scene.tenantId);
    await expect
      .poll(() => scene.publicMessages(visitor))
      .toEqual(['visitor: When do you open?', 'ai: We open at nine.']);
    await scene.settled();
    expect(model.requests).toHaveLength(1);
  });

  test('is sent once per message of many concurrent visitors, over two processes', async () => {
    model.answer = async ({ text }) => ({ reply: `to ${/question \d+/.exec(text)?.[0]}` });
    const visitors = await Promise.all(Array.from({ length: 12 }, () => scene.visitor()));
    await Promise.all(visitors.map((visitor, index) => scene.sendAs(visitor, `question ${index}`)));
    await scene.settled();
    const all = await Promise.all(visitors.map(scene.publicMessages));
    expect(all).toEqual(visitors.map((_visitor, index) => [`visitor: question ${index}`, `ai: to question ${index}`]));
  });

  test('triggers webhooks and workflows like any message, with the sender `ai`', async () => {
    const { id } = await scene.workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'hears',
        triggerJson: { type: 'event', event: { type: 'message.created', filter: { 'message.senderType': 'ai' } } },
        stepsJson: [{ type: 'log', message: '{{payload.actor}} {{payload.message.content}}' }],
      } as never,
    });
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, 'When?');
    await scene.settled();
    await expect
      .poll(async () =>
        (await scene.workspace.api.call('listAutomationRuns', { query: { workflowId: id } as never })).data.map(
          ({ status }) => status,
        ),
      )
      .toEqual(['succeeded']);
  });

  test('is shown to the visitor while it is generated, under the id of the future message', async () => {
    model.answer = () => ({ reply: 'We open at nine in the morning, every day but Sunday.' });
    const visitor = await scene.visitor();
    const frames = await framesOf(visitor);
    await scene.sendAs(visitor, 'When?');
    await expect
      .poll(() => frames.some((frame) => frame.type === 'message' && frame.message.senderType === 'ai'))
      .toBe(true);
    const message = frames.flatMap((frame) =>
      frame.type === 'message' && frame.message.senderType === 'ai' ? [frame.message] : [],
    )[0];
    const deltas = deltasOf(frames);
    expect(deltas.length).toBeGreaterThan(0);
    expect(new Set(deltas.map(({ id }) => id))).toEqual(new Set([message?.id]));
    expect(message?.content.startsWith(deltas.map(({ text }) => text).join(''))).toBe(true);
    expect(deltas.map(({ at }) => at)).toEqual(
      deltas.map(
        (_delta, index) =>
          deltas
            .slice(0, index)
            .map(({ text }) => text)
            .join('').length,
      ),
    );
    // No delta follows the message.
    const last = frames.findLastIndex((frame) => frame.type === 'delta');
    expect(last).toBeLessThan(
      frames.findIndex((frame) => frame.type === 'message' && frame.message.id === message?.id),
    );
    expect(frames.some((frame) => frame.type === 'typing' && frame.who === 'ai')).toBe(true);
  });

  test('that is invalid is requested again once, then the conversation is handed over to an agent', async () => {
    let tries = 0;
    model.answer = () => ((tries += 1) === 1 ? 'I would say: nine!' : { reply: 'At nine.' });
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, 'When?');
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When?', 'ai: At nine.']);
    expect(model.requests).toHaveLength(2);
    model.answer = () => '{"action":"answer","reply":"cut';
    await scene.sendAs(visitor, 'And on Sunday?');
    await scene.settled();
    expect((await scene.publicMessages(visitor)).at(-1)).toBe(handedOver);
    expect((await notes(visitor))[0]?.content).toContain('Handed over: the model gave no usable answer.');
  });

  test('is not sent if the model decides that none is needed', async () => {
    model.answer = () => ({ action: 'ignore', reason: 'thanks' });
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, 'Thanks!');
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: Thanks!']);
    expect((await show(visitor)).owner).toBe('ai');
    // The finished turn is not scheduled again as a missed turn.
    await ageConversations(hub.database, [visitor.conversationId], { minutes: 1 });
    await hub.app.sweep();
    expect(await turns()).toEqual([]);
    model.answer = () => ({ reply: 'We open at nine.' });
    await scene.sendAs(visitor, 'When do you open?');
    await scene.settled();
    expect((await scene.publicMessages(visitor)).at(-1)).toBe('ai: We open at nine.');
  });
});

describe('the knowledge base', () => {
  const fill = () =>
    send(hub.url, 'PUT', `/tenants/${scene.tenantId}/ai/knowledge`, {
      headers: { authorization: `Bearer ${scene.workspace.jwt}` },
      body: {
        entries: [
          { id: 'hours', question: 'When do you open?', answer: 'At nine.', url: 'https://boats.example/hours' },
          { id: 'dogs', question: 'May dogs come aboard?', answer: 'On a leash.' },
        ],
        terms: 'Prices include tax.',
      },
    });

  test('reaches the model, and agents see the entries used for an answer, but visitors do not', async () => {
    expect((await fill()).status).toBe(200);
    await scene.setAi({ minConfidence: 0.3 });
    model.answer = () => ({ reply: 'At nine, see https://boats.example/hours', sources: ['hours', 'made up'] });
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, 'When do you open?');
    await scene.settled();
    expect(model.requests[0]?.text).toContain('At nine.');
    expect(model.requests[0]?.text).toContain('Prices include tax.');
    expect((await scene.publicMessages(visitor)).at(-1)).toBe('ai: At nine, see https://boats.example/hours');
    expect((await scene.inbox(visitor)).at(-1)?.sources).toEqual([{ id: 'hours', url: 'https://boats.example/hours' }]);
    const exported = await send(
      hub.url,
      'GET',
      `/tenants/${scene.tenantId}/chat/visitors/${visitor.visitorId}/export`,
      {
        headers: { authorization: `Bearer ${scene.workspace.jwt}` },
      },
    );
    expect(exported.text).toContain('"sources":[{"id":"hours"');
    const { data } = await visitor.api.call('listVisitorMessages', { query: {} });
    expect(Object.keys(data.at(-1) as object)).not.toContain('sources');
  });

  test('lists only the questions that were handed over because its entries do not answer them', async () => {
    expect((await fill()).status).toBe(200);
    const listed = async () =>
      (
        await scene.workspace.session.call('listUnansweredQuestions', {
          params: { tenantId: scene.tenantId },
          query: {},
        })
      ).data.map(({ question }) => question);
    const ask = async (question: string, answer: ChatModelReply, found: string) => {
      model.answer = () => answer;
      const visitor = await scene.visitor();
      await scene.sendAs(visitor, question);
      await scene.settled();
      expect(model.requests.at(-1)?.text).toContain(found);
      return (await scene.publicMessages(visitor)).at(-1);
    };
    expect(await ask('May dogs steer?', { action: 'handoff', reason: 'not known' }, 'On a leash.')).toBe(handedOver);
    await scene.setAi({ minConfidence: 0.9 });
    expect(await ask('When do you open the marina?', { reply: 'At nine.', sources: ['hours'] }, 'At nine.')).toBe(
      handedOver,
    );
    expect(await listed()).toEqual(['When do you open the marina?', 'May dogs steer?']);
    expect(await ask('May dogs come aboard?', { reply: 'On a leash.', sources: ['dogs'] }, 'On a leash.')).toBe(
      'ai: On a leash.',
    );
    expect(await ask('May dogs come?!', { action: 'handoff', reason: 'is angry', sources: ['dogs'] }, 'leash')).toBe(
      handedOver,
    );
    expect(await ask('Hello, when?', { action: 'clarify', reply: 'Which day?' }, '')).toBe('ai: Which day?');
    expect(await listed()).toHaveLength(2);
    // Messages that wait together are separate questions.
    model.answer = () => ({ action: 'handoff', reason: 'not known' });
    const visitor = await scene.visitor();
    await scene.setAi({ debounceMs: 30_000 });
    await Promise.all(['Is the marina lit?', 'Can I rent a crane?'].map((question) => scene.sendAs(visitor, question)));
    await makeAiTurnsDue(hub.database, scene.tenantId);
    await scene.settled();
    expect((await listed()).toSorted()).toEqual(expect.arrayContaining(['Can I rent a crane?', 'Is the marina lit?']));
    expect(await listed()).toHaveLength(4);
  });
});

describe('the answer is cancelled while the model generates it', () => {
  const duringAnswer = async (then: (visitor: TestVisitor) => Promise<unknown>, modelReply?: ChatModelReply) => {
    const blocked = blockModel(modelReply);
    const visitor = await scene.visitor();
    const frames = await framesOf(visitor);
    await scene.sendAs(visitor, 'When do you open?');
    await blocked.requested;
    await then(visitor);
    blocked.release();
    await scene.settled();
    return { visitor, frames };
  };

  test('if an agent writes', async () => {
    const { visitor } = await duringAnswer((one) => reply(one, 'At ten today.'));
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When do you open?', 'agent: At ten today.']);
    expect((await show(visitor)).owner).toBe('person');
    // The request to the model is aborted.
    await expect.poll(() => model.requests[0]?.isGone).toBe(true);
    await scene.sendAs(visitor, 'Thank you');
    await scene.settled();
    expect(model.requests).toHaveLength(1);
  });

  test('if an agent is assigned', async () => {
    const { visitor } = await duringAnswer(async (one) => {
      const userId = await scene.agent();
      await noAgent();
      await scene.workspace.session.call('assignInboxConversation', { params: ofConversation(one), body: { userId } });
    });
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When do you open?']);
    expect(await show(visitor)).toMatchObject({ owner: 'person' });
  });

  test('if an agent comes online, and the agent is assigned', async () => {
    await scene.set({ autoAssignment: { enabled: true, capacity: 5, returnToPool: false } });
    let userId = '';
    const { visitor } = await duringAnswer(async () => {
      userId = await scene.agent();
    });
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When do you open?']);
    expect((await show(visitor)).assignedUserId).toBe(userId);
  });

  test('except in `always` mode if an agent is online, who is not assigned either', async () => {
    await scene.set({ autoAssignment: { enabled: true, capacity: 5, returnToPool: false } });
    await scene.setAi({ mode: 'always' });
    await scene.agent();
    const { visitor } = await duringAnswer(() => scene.agent());
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When do you open?', 'ai: A late answer.']);
    expect(await show(visitor)).toMatchObject({ owner: 'ai', assignedUserId: null });
    await hub.app.sweep();
    expect((await show(visitor)).assignedUserId).toBeNull();
  });

  test('if the conversation is closed', async () => {
    const { visitor } = await duringAnswer((one) => scene.close(one.conversationId));
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When do you open?']);
    expect((await show(visitor)).status).toBe('closed');
  });

  test('if the visitor writes again: one reply answers all messages', async () => {
    const { visitor } = await duringAnswer((one) => scene.sendAs(one, 'On Sunday, I mean.'));
    expect(await scene.publicMessages(visitor)).toEqual([
      'visitor: When do you open?',
      'visitor: On Sunday, I mean.',
      'ai: We open at nine.',
    ]);
    expect(model.requests.at(-1)?.text).toContain('On Sunday, I mean.');
  });

  test('if an API key writes: the model is called again with its message', async () => {
    const { visitor } = await duringAnswer((one) =>
      scene.api.call('sendChatMessage', {
        params: { id: one.conversationId },
        body: { content: 'Your order has left.' },
      }),
    );
    expect((await scene.publicMessages(visitor)).slice(0, 2)).toEqual([
      'visitor: When do you open?',
      'api: Your order has left.',
    ]);
    expect(await scene.publicMessages(visitor)).not.toContain('ai: A late answer.');
  });

  test('even if its notification was lost, because the transaction of the reply checks the conversation', async () => {
    const { visitor: reassigned } = await duringAnswer((one) => makePersonOwner(hub.database, one.conversationId));
    expect(await scene.publicMessages(reassigned)).toEqual(['visitor: When do you open?']);
    const { visitor: notified } = await duringAnswer((one) =>
      addApiMessage(hub.database, one.conversationId, 'Your order has left.'),
    );
    expect(await scene.publicMessages(notified)).not.toContain('ai: A late answer.');
    // Another process leases the turn.
    const { visitor: leased } = await duringAnswer((one) =>
      leaseAiTurn(hub.database, one.conversationId, { seconds: 2 }),
    );
    expect(await scene.publicMessages(leased)).toEqual(['visitor: When do you open?', 'ai: We open at nine.']);
  });

  test('if another process claims the turn: the request to the model ends at the next renewal of the lease', async () => {
    const requested = Promise.withResolvers<void>();
    const answer = model.answer;
    model.answer = (request) => {
      model.answer = answer;
      return (async function* pieces() {
        yield '{"action":"answer","reason":"","sources":[],"reply":"A late answer';
        requested.resolve();
        // Four times as long as the interval of renewals, so that only a renewal ends the request before its answer.
        for (let piece = 0; piece < 200 && !request.isGone; piece += 1) {
          yield '.';
          await delay(100);
        }
        yield '"}';
      })();
    };
    const visitor = await scene.visitor();
    const frames = await framesOf(visitor);
    await scene.sendAs(visitor, 'When do you open?');
    await requested.promise;
    await leaseAiTurn(hub.database, visitor.conversationId, { minutes: 5 });
    await expect.poll(() => deltasOf(frames).at(-1)?.dropped).toBe(true);
    await expect.poll(() => model.requests.map(({ isGone }) => isGone)).toEqual([true]);
    // As if the other process had stopped: its lease expires, and the turn is claimed again.
    await expireAiTurnLeases(hub.database, scene.tenantId);
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When do you open?', 'ai: We open at nine.']);
  });

  test('if the AI agent is switched off', async () => {
    const { visitor } = await duringAnswer(() => scene.setAi({ enabled: false }));
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When do you open?']);
    expect((await show(visitor)).owner).toBeNull();
  });

  test.each(['ai_agent', 'conversations_suite'])(
    'if the operator removes the entitlement %s from the workspace',
    async (entitlement) => {
      const entitle = (isEntitled: boolean) =>
        hub.client(adminKey).call('putEntitlements', {
          params: { tenantId: scene.tenantId },
          body: { [entitlement]: isEntitled },
        });
      const { visitor } = await duringAnswer(() => entitle(false));
      await entitle(true);
      expect(await scene.publicMessages(visitor)).toEqual(['visitor: When do you open?']);
      expect((await show(visitor)).owner).toBeNull();
      // Before the model is called.
      await scene.setAi({ debounceMs: 30_000 });
      const other = await scene.visitor();
      await scene.sendAs(other, 'When do you open?');
      await entitle(false);
      await makeAiTurnsDue(hub.database, scene.tenantId);
      await scene.settled();
      await entitle(true);
      expect(await scene.publicMessages(other)).toEqual(['visitor: When do you open?']);
      expect(model.requests).toHaveLength(1);
      // The same applies to suggestions.
      await scene.setAi({ mode: 'shadow', debounceMs: 0 });
      const third = await duringAnswer(() => entitle(false));
      await entitle(true);
      const { data } = await scene.workspace.session.call('listAiSuggestions', {
        params: { tenantId: scene.tenantId, channelId: third.visitor.conversationId },
      });
      expect(data).toEqual([]);
    },
  );

  test('and the page removes the unfinished reply', async () => {
    const gate = Promise.withResolvers<void>();
    model.answer = () =>
      (async function* pieces() {
        yield '{"action":"answer","reason":"","sources":[],"reply":"We open at nine in the morning ';
        await gate.promise;
        yield 'every day."}';
      })();
    const visitor = await scene.visitor();
    const frames = await framesOf(visitor);
    await scene.sendAs(visitor, 'When?');
    await expect.poll(() => deltasOf(frames).length).toBeGreaterThan(0);
    await reply(visitor, 'Now.');
    await expect.poll(() => deltasOf(frames).at(-1)?.dropped).toBe(true);
    gate.resolve();
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When?', 'agent: Now.']);
  });
});

describe('a hand-over', () => {
  test('writes a message, the owner, the assignment and a note with reason and summary, and stops the AI agent', async () => {
    await scene.set({ autoAssignment: { enabled: true, capacity: 5, returnToPool: false } });
    await scene.setAi({ mode: 'always', handoffMessage: 'Somebody will be with you.' });
    const userId = await scene.agent();
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, 'When do you open?');
    await scene.settled();
    // An agent counts as away 30 seconds after the last sign of life.
    await scene.agent();
    await scene.sendAs(visitor, 'Let me talk to a human please');
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toEqual([
      'visitor: When do you open?',
      'ai: We open at nine.',
      'visitor: Let me talk to a human please',
      'ai: Somebody will be with you.',
    ]);
    expect(model.requests).toHaveLength(1);
    const [note] = await notes(visitor);
    expect(note?.content).toContain('Handed over: the visitor asked for a person.');
    expect(note?.content).toContain('Visitor: When do you open?');
    expect(await show(visitor)).toMatchObject({ owner: 'person', status: 'open', assignedUserId: userId });
    expect((await visitor.api.call('getVisitorConversation', {})).assistant).toBeNull();
    await scene.sendAs(visitor, 'Hello? Is a human there?');
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toHaveLength(5);
    const { data } = await scene.workspace.session.call('listAuditLog', {
      params: { tenantId: scene.tenantId },
      query: { targetId: visitor.conversationId },
    } as never);
    expect(data.map(({ action }) => action)).toContain('conversation.handed_over');
    expect((await shown()).usage.handOvers).toBe(1);
  });

  test.each([
    ['我想申请退款', ['退款'], handedOver],
    ['أريد استرداد أموالي', ['استرداد'], 'ai: سأحوّلك إلى أحد الموظفين، وسيرد عليك هنا في أقرب وقت ممكن.'],
    ['A REFUND, please', ['refund'], handedOver],
  ])('is triggered by a keyword in any script, without a model: %s', async (text, handoffKeywords, announced) => {
    await scene.setAi({ handoffKeywords });
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, text);
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toEqual([`visitor: ${text}`, announced]);
    expect(model.requests).toEqual([]);
  });

  test('is announced in the language in which the visitor requested an agent', async () => {
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, 'Ich möchte mit einem Menschen sprechen');
    await scene.settled();
    expect((await scene.publicMessages(visitor)).at(-1)).toMatch(/^ai: Ich übergebe/);
  });

  test.each([
    ['Meine Bestellung ist noch nicht da', /^ai: Ich übergebe/],
    ['أين طلبي رقم ٤٧١١؟', /^ai: سأحوّلك/],
    ['4711', /^ai: I am handing you over/],
  ])('is announced in the language of the message when no model gives a usable answer: %s', async (text, announced) => {
    model.answer = () => 'plain text';
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, text);
    await scene.settled();
    expect((await scene.publicMessages(visitor)).at(-1)).toMatch(announced);
  });

  test('is announced in the language of the settings', async () => {
    await scene.setAi({ language: 'fr' });
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, 'Meine Bestellung ist noch nicht da');
    await visitor.api.call('askForPerson', { query: { locale: 'ar' } });
    expect((await scene.publicMessages(visitor)).at(-1)).toMatch(/^ai: Je vous confie/);
  });

  test('is triggered once by the button, even if the visitor presses it several times', async () => {
    const visitor = await scene.visitor();
    const blocked = blockModel();
    await scene.sendAs(visitor, 'When?');
    await blocked.requested;
    const before = await visitor.api.call('getVisitorConversation', {});
    expect(before.assistant).toEqual({ disclosure: '' });
    const answers = await Promise.all([1, 2, 3].map(() => visitor.api.call('askForPerson', {})));
    expect(answers.map(({ assistant }) => assistant)).toEqual([null, null, null]);
    blocked.release();
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When?', handedOver]);
    expect(await notes(visitor)).toHaveLength(1);
    await scene.close(visitor.conversationId);
    await expect(visitor.api.call('askForPerson', {})).rejects.toMatchObject({
      status: 409,
      code: 'conversation_closed',
    });
  });

  test('is triggered if no model answers or no model is configured', async () => {
    model.answer = () => ({ status: 400 });
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, 'When?');
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: When?', handedOver]);
    expect((await notes(visitor))[0]?.content).toContain('Handed over: no model answered.');
  });

  test('is triggered if the model requests it or the knowledge does not answer the question', async () => {
    model.answer = () => ({ action: 'handoff', reason: 'is angry', reply: 'never shown' });
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, 'This is a scandal');
    await scene.settled();
    expect(await scene.publicMessages(visitor)).toEqual(['visitor: This is a scandal', handedOver]);
    expect((await notes(visitor))[0]?.content).toContain('the AI agent gave this reason: is angry');
    await scene.setAi({ minConfidence: 0.5 });
    model.answer = () => ({ reply: 'I guess at nine.', sources: ['made up'] });
    const other = await scene.visitor();
    await scene.sendAs(other, 'When?');
    await scene.settled();
    expect(await scene.publicMessages(other)).toEqual(['visitor: When?', handedOver]);
  });

  test('is triggered after the maximum number of replies since an agent wrote', async () => {
    await scene.setAi({ maxRepliesPerConversation: 2 });
    const visitor = await scene.visitor();
    for (const text of ['one', 'two', 'three']) {
      await scene.sendAs(visitor, text);
      await scene.settled();
    }
    expect((await scene.publicMessages(visitor)).filter((line) => line.startsWith('ai'))).toEqual([
      'ai: We open at nine.',
      'ai: We open at nine.',
      handedOver,
    ]);
    await reply(visitor, 'Here I am.');
    await scene.workspace.session.call('updateInboxConversation', {
      params: ofConversation(visitor),
      body: { status: 'resolved' },
    });
    await scene.sendAs(visitor, 'four');
    await scene.settled();
    expect((await scene.publicMessages(visitor)).at(-1)).toBe('ai: We open at nine.');
  });

  test('is triggered when the daily reply budget is used up', async () => {
    await scene.setAi({ dailyReplyBudget: 1 });
    const [first, other] = [await scene.visitor(), await scene.visitor()];
    await Promise.all([scene.sendAs(first, 'one'), scene.sendAs(other, 'two')]);
    await scene.settled();
    const ends = [(await scene.publicMessages(first)).at(-1), (await scene.publicMessages(other)).at(-1)];
    expect(ends.toSorted()).toEqual([handedOver, 'ai: We open at nine.'].toSorted());
  });

  test('does not trigger another hand-over: messages before the conversation was reopened are ignored', async () => {
    const visitor = await scene.visitor();
    await scene.sendAs(visitor, 'I want to talk to a human');
    await scene.settled();
    await scene.workspace.session.call('updateInboxConversation', {
      params: ofConversation(visitor),
      body: { status: 'resolved' },
    });
    await scene.sendAs(visitor, 'When do you open?');
    await scene.settled();
    expect((await scene.publicMessages(visitor)).slice(-2)).toEqual([
      'visitor: When do you open?',
      'ai: We open at nine.',
    ]);
    expect(model.requests.at(-1)?.text).not.toContain('talk to a human');
  });

  test('is atomic: a failure of its last part rolls back the first', async () => {
    const visitor = await scene.visitor();
    const frames = await framesOf(visitor);
    const acceptHandover = await refuseHandover(hub.database, visitor.conversationId);
    await scene.sendAs(visitor, 'I want to talk to a human');
    await expect.poll(async () => ((await turns())[0] as { attempts: number } | undefined)?.attempts).toBe(1);
    await expect(visitor.api.call('askForPerson', {})).rejects.toMatchObject({ status: 500 });
    expect(await scene.inbox(visitor)).toHaveLength(1);
    expect(await show(visitor)).toMatchObject({ owner: 'ai' });
    expect(frames.some((frame) => frame.type === 'message' && frame.message.senderType === 'ai')).toBe(false);
    await acceptHandover();
    // The lease of the turn expires.
    await expireAiTurnLeases(hub.database, scene.tenantId);
    await scene.settled();
    expect((await scene.publicMessages(visitor)).at(-1)).toBe(handedOver);
  });
});

test('erasing a visitor removes their words from every table, including data of the AI agent and automations', async () => {
  const searchTerm = 'Schmetterlingsflügel';
  await scene.workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'hears',
      triggerJson: { type: 'event', event: { type: 'message.created' } },
      stepsJson: [{ type: 'log', message: 'heard {{payload.message.content}}' }],
    } as never,
  });
  const tablesWithIt = async () => {
    const tables = await hub.database.query<{ name: string }>(
      `SELECT format('%I', relname) AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    );
    const found = await Promise.all(
      tables.map(async ({ name }) =>
        (await hub.database.query(`SELECT 1 FROM ${name} t WHERE t::text LIKE '%' || $1 || '%' LIMIT 1`, [searchTerm]))
          .length > 0
          ? [name]
          : [],
      ),
    );
    return found.flat();
  };
  const left = ['chat_ai_suggestions', 'chat_messages', 'knowledge_unanswered', 'runs'];
  model.answer = () => ({ action: 'handoff', reason: `asks about ${searchTerm}`, reply: '' });
  const answered = await scene.visitor();
  await scene.sendAs(answered, `What does a ${searchTerm} cost?`);
  await scene.settled();
  await scene.setAi({ mode: 'shadow' });
  const suggested = await scene.visitor();
  await scene.sendAs(suggested, `Do you repair a ${searchTerm}?`);
  await scene.settled();
  expect(await notes(answered)).toHaveLength(1);
  await expect.poll(tablesWithIt).toEqual(expect.arrayContaining(left));
  for (const { visitorId: id } of [answered, suggested])
    await scene.workspace.session.call('eraseInboxVisitor', { params: { tenantId: scene.tenantId, id } });
  await expect.poll(tablesWithIt).toEqual([]);
});
