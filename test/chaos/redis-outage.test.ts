import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { redisAvailable, startRedis } from '../fixtures/redis.ts';
import type { TestRedis } from '../fixtures/redis.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { startTcpRelay } from '../fixtures/tcp-relay.ts';

const limit = 100;
const hookToken = 'a-hook-token-of-this-test';

describe.skipIf(!redisAvailable)('a Redis outage (needs redis-server)', () => {
  let redis: TestRedis;
  let database: TestDatabase;
  let hubs: TestHub[];
  let workspace: TestWorkspace;
  let workflowId: string;
  beforeAll(async () => {
    redis = await startRedis();
    database = await acquireDatabase();
    const env = { REDIS_URL: redis.url, RATE_LIMIT_PER_MINUTE: String(limit), SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' };
    hubs = [await startHub(env, database), await startHub(env, database)];
    workspace = await first().workspace();
    // Two log steps with a delay between them, so that a worker must be woken for the second one.
    const created = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'goes on',
        triggerJson: { type: 'webhook', webhook: { token: hookToken } },
        stepsJson: [
          { type: 'log', message: 'one' },
          { type: 'log', message: 'two', delaySeconds: 1 },
        ],
      },
    });
    workflowId = created.id;
  });
  afterAll(async () => {
    await Promise.all((hubs ?? []).map((hub) => hub[Symbol.asyncDispose]()));
    await database?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });
  const first = () => hubs[0] as TestHub;
  const get = (path: string, headers: Record<string, string> = {}, hub = first()) =>
    fetch(`${hub.url}${path}`, { headers, signal: AbortSignal.timeout(60_000) });
  const readiness = async () => {
    const response = await get('/readyz');
    return {
      status: response.status,
      body: (await response.json()) as { status: string; parts: Record<string, { ok: boolean }> },
    };
  };

  async function finish(runId: string): Promise<string> {
    const run = await settledRun(workspace.api, runId);
    expect(run.status, JSON.stringify(run.stepsResultJson)).toBe('succeeded');
    return runId;
  }

  async function expectEverythingWorks(): Promise<void> {
    expect((await get('/healthz')).status).toBe(200);
    await finish(startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId } })).runId);
    const hookResponse = await fetch(`${first().url}/v1/automations/hooks/inbound`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-automation-token': hookToken },
      body: JSON.stringify({ event: 'something.happened', payload: {} }),
    });
    expect(hookResponse.ok).toBe(true);
    const { key } = await workspace.createKey();
    expect((await get('/v1/automations/runs', { 'x-api-key': key })).status).toBe(200);
  }

  async function allowed(key: string, perHub: number): Promise<number> {
    let count = 0;
    for (const hub of hubs) {
      const answers = await Promise.all(
        Array.from({ length: perHub }, () => get('/v1/automations/runs', { 'x-api-key': key }, hub)),
      );
      for (const { status } of answers) {
        expect([200, 429]).toContain(status);
        if (status === 200) count += 1;
      }
    }
    return count;
  }

  test('does not stop the API, webhooks and runs; limits apply per process until Redis is back', async () => {
    expect(await readiness()).toMatchObject({ status: 200, body: { status: 'ready' } });
    await expectEverythingWorks();
    const usedBefore = await workspace.createKey();
    await allowed(usedBefore.key, limit);

    await redis.stop();
    await expect.poll(readiness).toMatchObject({
      status: 200,
      body: { status: 'degraded', parts: { database: { ok: true }, queue: { ok: false } } },
    });
    await expectEverythingWorks();
    const { key } = await workspace.createKey();
    const count = await allowed(key, limit);
    // Each process counts for itself, up to half of the limit. A new minute starts a new count.
    expect(count).toBeGreaterThanOrEqual(limit);
    expect(count).toBeLessThanOrEqual(hubs.length * limit);

    await redis.start();
    await expect.poll(readiness).toMatchObject({ status: 200, body: { status: 'ready' } });
    await expectEverythingWorks();
  });

  test('does not stop commands for a companion of another process: they arrive within their wait time', async () => {
    await using companion = await startCompanion(hubs[1] as TestHub, workspace);
    const { nodeId } = companion;
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'ping',
        stepsJson: [{ type: 'skill', skillId: 'node.ping', input: { nodeId, waitMs: 20_000 } }],
      },
    });
    const ping = async () =>
      finish(startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } })).runId);
    await ping();
    await redis.stop();
    try {
      await expect.poll(readiness).toMatchObject({ body: { status: 'degraded' } });
      // A process looks for missed commands every 30 seconds. Three commands in a row cannot all be in time by chance.
      for (let count = 0; count < 3; count += 1) await ping();
    } finally {
      await redis.start();
    }
    await expect.poll(readiness).toMatchObject({ body: { status: 'ready' } });
    await ping();
  });

  test('of one process does not stop its commands for a companion of a process that has Redis', async () => {
    await using relay = await startTcpRelay(redis.url);
    await using own = await acquireDatabase();
    await using cut = await startHub({ REDIS_URL: relay.url, RATE_LIMIT_PER_MINUTE: '1000' }, own);
    await using steady = await startHub({ REDIS_URL: redis.url, RATE_LIMIT_PER_MINUTE: '1000' }, own);
    const { api, ...rest } = await cut.workspace();
    await using companion = await startCompanion(steady, { api, ...rest });
    const input = { nodeId: companion.nodeId, waitMs: 10_000 };
    const { id } = await api.call('createAutomationWorkflow', {
      body: { name: 'ping', stepsJson: [{ type: 'skill', skillId: 'node.ping', input }] },
    });
    const ping = async () => {
      const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
      const run = await settledRun(api, runId);
      expect(run.status, JSON.stringify(run.stepsResultJson)).toBe('succeeded');
    };
    await ping();
    relay.cut();
    const queue = async () => {
      const response = await fetch(`${cut.url}/readyz`);
      return ((await response.json()) as { parts: { queue: { ok: boolean } } }).parts.queue.ok;
    };
    await expect.poll(queue).toBe(false);
    // Three commands in a row cannot all be found by chance.
    for (let count = 0; count < 3; count += 1) await ping();
    relay.restore();
    await expect.poll(queue).toBe(true);
    await ping();
  });

  test('without closed connections blocks neither the API nor runs', async () => {
    const { key } = await workspace.createKey();
    redis.pause();
    try {
      expect((await get('/v1/automations/runs', { 'x-api-key': key })).status).toBe(200);
      await finish(startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId } })).runId);
    } finally {
      redis.resume();
    }
    await expect.poll(readiness).toMatchObject({ body: { status: 'ready' } });
    await expectEverythingWorks();
  });
});
