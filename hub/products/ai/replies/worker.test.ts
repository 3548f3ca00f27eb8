import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../../../../test/fixtures/hub.ts';
import type { TestHub } from '../../../../test/fixtures/hub.ts';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../../test/fixtures/secrets.ts';
import { chatScene } from '../../../../test/fixtures/visitor.ts';
import { Database } from '../../../platform/db/database.ts';
import { PostgresEvents } from '../../../platform/events/postgres-events.ts';
import { ReplyWorker } from './worker.ts';

let database: TestDatabase;
let hub: TestHub | null;
beforeAll(async () => {
  database = await acquireDatabase();
  hub = await startHub({}, database);
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

test('a worker at its limit of concurrent turns starts the next one as soon as a turn ends', async () => {
  const scene = await chatScene(hub as TestHub);
  const { tenantId } = scene;
  await scene.workspace.session.call('putChatAiSettings', {
    params: { tenantId },
    body: { enabled: true, debounceMs: 30_000 },
  });
  for (let visitors = 0; visitors < 5; visitors += 1) {
    const visitor = await scene.visitor();
    await visitor.api.call('sendVisitorMessage', { body: { content: 'Hello', clientId: 'a' } });
  }
  // Stop the hub, so that only the worker of this test answers.
  await hub?.[Symbol.asyncDispose]();
  hub = null;
  await database.query('UPDATE chat_ai_turns SET due_at = now()');
  const logger = pino({ level: 'silent' });
  await using db = new Database({
    url: database.url,
    maxConnections: 4,
    applicationName: 'test',
    onError: () => undefined,
  });
  await using events = await PostgresEvents.connect(database.url, testSecrets, logger);
  const waiting: (() => void)[] = [];
  let maxActive = 0;
  let active = 0;
  let claims = 0;
  await using worker = new ReplyWorker({
    db,
    events,
    logger,
    get maxConcurrentTurns() {
      claims += 1;
      return 2;
    },
    answerer: {
      answer: async ({ turn: { conversationId } }) => {
        active += 1;
        maxActive = Math.max(maxActive, active);
        await new Promise<void>((done) => waiting.push(done));
        await database.query('DELETE FROM chat_ai_turns WHERE conversation_id = $1', [conversationId]);
        active -= 1;
        return 'replied';
      },
    },
  });
  await expect.poll(() => waiting.length).toBe(2);
  // Claims without a free slot.
  for (const before of [claims, claims + 1]) {
    worker.wake(0);
    await expect.poll(() => claims).toBeGreaterThan(before);
  }
  while (waiting.length > 0) {
    waiting.pop()?.();
    await expect
      .poll(async () => waiting.length > 0 || (await database.query('SELECT FROM chat_ai_turns')).length === 0)
      .toBe(true);
  }
  expect(await database.query('SELECT FROM chat_ai_turns')).toEqual([]);
  expect(maxActive).toBe(2);
});
