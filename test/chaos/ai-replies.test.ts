import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { productPermissions } from '../../shared/contract/define.ts';
import { startChatModel } from '../fixtures/chat-model.ts';
import { createClient } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { startHubProcess } from '../fixtures/processes.ts';

test('a waiting visitor gets one AI reply, even if the process that stored the message or generated the reply is killed', async () => {
  const database = await acquireDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const home = await mkdtemp(join(tmpdir(), 'outrigger-replies-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const model = await startChatModel();
  onTestFinished(() => model[Symbol.asyncDispose]());
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    DATABASE_POOL_SIZE: '6',
    RATE_LIMIT_PER_MINUTE: '1000000',
    SIGN_UP: 'open',
    ...model.env,
  };
  const first = await startHubProcess(env);
  const anybody = createClient({ baseUrl: first.url, fetch });
  const { token, tenantId } = await anybody.call('signUp', {
    body: { email: 'admin@example.org', password: 'correct horse battery', workspaceName: 'boats' },
  });
  const session = createClient({ baseUrl: first.url, fetch, token });
  const { key } = await session.call('createApiToken', {
    params: { tenantId },
    body: { name: 'k', product: 'chat', environment: 'live', permissions: [...productPermissions.chat] },
  });
  const api = createClient({ baseUrl: first.url, fetch, token: key });
  const setDebounce = (debounceMs: number) =>
    session.call('putChatAiSettings', { params: { tenantId }, body: { enabled: true, debounceMs } });
  const visitors = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const { siteKey, visitorToken, conversationId } = await api.call('createChatSession', {
        body: { externalId: `v${index}` },
      });
      const opened = await anybody.call('openVisitorSession', { body: { siteKey, token: visitorToken } });
      return { conversationId, api: createClient({ baseUrl: first.url, fetch, token: opened.token }) };
    }),
  );
  const sendQuestion = (index: number) =>
    visitors[index]?.api.call('sendVisitorMessage', { body: { content: `question ${index}`, clientId: 'q' } });
  const aiRepliesOf = ({ conversationId }: { conversationId: string }) =>
    database.query<{ content: string }>(
      `SELECT content FROM chat_messages WHERE conversation_id = $1 AND sender_type = 'ai' ORDER BY seq`,
      [conversationId],
    );

  // When the process dies, half of the replies are being generated and half wait for more messages.
  let isDead = false;
  const never = Promise.withResolvers<never>();
  model.answer = ({ text }) => (isDead ? { reply: `to ${/question \d+/.exec(text)?.[0]}` } : never.promise);
  await setDebounce(0);
  for (const index of [0, 1, 2, 3]) await sendQuestion(index);
  await expect.poll(() => model.requests.length).toBe(4);
  // Long enough to send all messages and kill the process on a busy machine.
  await setDebounce(30_000);
  for (const index of [4, 5, 6, 7]) await sendQuestion(index);
  await first.kill();
  isDead = true;
  const others = [await startHubProcess(env), await startHubProcess(env)];
  await expect
    .poll(() => Promise.all(visitors.map(aiRepliesOf)), { timeout: 120_000, interval: 500 })
    .toEqual(visitors.map((_visitor, index) => [{ content: `to question ${index}` }]));
  expect(await database.query('SELECT * FROM chat_ai_turns')).toEqual([]);
  // The model was called twice only for replies of the killed process.
  expect(model.requests).toHaveLength(12);
  expect(await Promise.all(others.map((hub) => hub.stop()))).toEqual([0, 0]);
});
