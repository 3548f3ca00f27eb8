import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { aiChatScene } from '../fixtures/ai-chat-scene.ts';
import type { AiChatScene } from '../fixtures/ai-chat-scene.ts';
import { avoidPeriodEnd, dayMs } from '../fixtures/avoid-period-end.ts';
import { startChatModel } from '../fixtures/chat-model.ts';
import type { ChatModel } from '../fixtures/chat-model.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { addAiReplyOfToday, ageConversations, removeAiTurns, removeOwner } from '../fixtures/stage/chat.ts';
import type { TestVisitor } from '../fixtures/visitor.ts';

let hub: TestHub;
let model: ChatModel;
let scene: AiChatScene;
beforeAll(async () => {
  model = await startChatModel();
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', ...model.env });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await avoidPeriodEnd(dayMs);
  scene = await aiChatScene(hub);
  await scene.setAi({ enabled: true });
  model.answer = () => ({ reply: 'We open at nine.' });
});

const ofConversation = ({ conversationId }: TestVisitor) => ({ tenantId: scene.tenantId, id: conversationId });
const turns = () => hub.database.query('SELECT * FROM chat_ai_turns WHERE tenant_id = $1', [scene.tenantId]);
/** Looks for messages without a turn, of which one is a minute old and another one is new. */
async function sweepMissed(old: TestVisitor, young: TestVisitor): Promise<void> {
  await ageConversations(hub.database, [old.conversationId], { minutes: 1 });
  await ageConversations(hub.database, [young.conversationId], { seconds: 0 });
  await hub.app.sweep();
}

test('a conversation that an agent continued under a version without owners stays with agents until it is returned', async () => {
  await scene.setAi({ enabled: false });
  const visitor = await scene.visitor();
  await scene.sendAs(visitor, 'Hello');
  await scene.workspace.session.call('sendInboxMessage', {
    params: ofConversation(visitor),
    body: { content: 'I look into it.' },
  });
  await removeOwner(hub.database, visitor.conversationId);
  await scene.setAi({ enabled: true, mode: 'always' });
  await scene.sendAs(visitor, 'And?');
  expect((await scene.workspace.session.call('getInboxConversation', { params: ofConversation(visitor) })).owner).toBe(
    'person',
  );
  expect(await turns()).toEqual([]);
  for (const userId of [await scene.agent(), null])
    await scene.workspace.session.call('assignInboxConversation', {
      params: ofConversation(visitor),
      body: { userId },
    });
  await scene.sendAs(visitor, 'Is anybody there?');
  await scene.settled();
  expect((await scene.publicMessages(visitor)).slice(-3)).toEqual([
    'visitor: And?',
    'visitor: Is anybody there?',
    'ai: We open at nine.',
  ]);
});

test('a message without a turn, as an older version stores it, is also answered', async () => {
  await scene.setAi({ debounceMs: 30_000 });
  const [visitor, other] = [await scene.visitor(), await scene.visitor()];
  for (const one of [visitor, other]) await scene.sendAs(one, 'When?');
  await removeAiTurns(hub.database, scene.tenantId);
  await sweepMissed(visitor, other);
  await expect.poll(() => scene.publicMessages(visitor)).toEqual(['visitor: When?', 'ai: We open at nine.']);
  await scene.settled();
  await sweepMissed(visitor, other);
  expect(await turns()).toEqual([]);
  expect(await scene.publicMessages(other)).toEqual(['visitor: When?']);
});

test('a reply locks the assignment before the daily counts, even if the budget is used up meanwhile, to avoid a deadlock', async () => {
  await scene.setAi({ mode: 'always', dailyReplyBudget: 1 });
  await scene.set({ autoAssignment: { enabled: true, capacity: 5, returnToPool: false } });
  await scene.agent();
  const visitor = await scene.visitor();
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  model.answer = async () => {
    asked.resolve();
    await released.promise;
    return { reply: 'A late answer.' };
  };
  await scene.sendAs(visitor, 'When?');
  await asked.promise;
  await addAiReplyOfToday(hub.database, scene.tenantId);
  const other = new Client({ connectionString: hub.database.url });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query('BEGIN');
  await other.query('SELECT FROM chat_widgets WHERE tenant_id = $1 FOR NO KEY UPDATE', [scene.tenantId]);
  released.resolve();
  const waiting = () =>
    hub.database.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%chat_widgets%FOR NO KEY UPDATE%'`,
    );
  await expect.poll(async () => (await waiting()).length).toBe(1);
  await other.query('SELECT FROM chat_ai_days WHERE tenant_id = $1 FOR NO KEY UPDATE NOWAIT', [scene.tenantId]);
  await other.query('COMMIT');
  await scene.settled();
  expect((await scene.publicMessages(visitor)).at(-1)).toContain('ai: I am handing you over to a person.');
});
