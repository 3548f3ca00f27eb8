import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { openAgent, openVisitor, textsOf } from '../fixtures/live-chat.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { redisAvailable, startRedis } from '../fixtures/redis.ts';
import type { TestRedis } from '../fixtures/redis.ts';
import { chatScene } from '../fixtures/visitor.ts';

describe.skipIf(!redisAvailable)('live chat of two hubs on one Redis (needs redis-server)', () => {
  let redis: TestRedis;
  let database: TestDatabase;
  let hubs: [TestHub, TestHub];
  beforeAll(async () => {
    redis = await startRedis();
    database = await acquireDatabase();
    const env = { REDIS_URL: redis.url, RATE_LIMIT_PER_MINUTE: '1000000' };
    hubs = [await startHub(env, database), await startHub(env, database)];
  });
  afterAll(async () => {
    for (const hub of hubs) await hub[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
    await redis[Symbol.asyncDispose]();
  });

  test('continues after Redis is emptied or killed, without lost, repeated or reordered messages', async () => {
    const [here, there] = hubs;
    const scene = await chatScene(here);
    const visitor = await scene.visitor();
    const params = { tenantId: scene.tenantId, id: visitor.conversationId };
    const page = await openVisitor(here.url, visitor.token);
    const inbox = await openAgent(there.url, scene.tenantId, scene.workspace.jwt);
    const agent = there.client(scene.workspace.jwt);
    const expected: string[] = [];
    const exchangeMessages = async (round: string) => {
      for (let index = 0; index < 3; index += 1) {
        await visitor.api.call('sendVisitorMessage', {
          body: { content: `asked ${round} ${index}`, clientId: `${round} ${index}` },
        });
        await agent.call('sendInboxMessage', { params, body: { content: `answered ${round} ${index}` } });
        expected.push(`asked ${round} ${index}`, `answered ${round} ${index}`);
      }
      // The next sync delivers messages that were sent while Redis was unavailable.
      await expect.poll(() => textsOf(page)).toEqual(expected);
      await expect.poll(() => textsOf(inbox)).toEqual(expected);
    };
    await exchangeMessages('at first');
    await redis.flush();
    await exchangeMessages('after it was emptied');
    await redis.restart();
    await exchangeMessages('after it was killed');
    page.end();
    inbox.end();
  });
});
