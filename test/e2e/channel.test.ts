import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startProxy } from '../fixtures/proxy.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

async function ping({ nodeId }: TestCompanion): Promise<string> {
  const { runId } = await workspace.api.call('runAutomationSkill', {
    params: { skillId: 'node.ping' },
    body: { input: { nodeId } },
  });
  const run = await settledRun(workspace.api, runId);
  return run.status;
}

const connections = (companion: TestCompanion) =>
  companion
    .log()
    .split('\n')
    .filter((line) => line.includes('"connected"'))
    .map((line) => (JSON.parse(line) as { by: string }).by);

/** Waits for the channel. A companion whose channel takes more than 3 seconds to open polls first. */
async function usesChannel(companion: TestCompanion): Promise<void> {
  await expect.poll(async () => (await companion.cli('status')).stdout).toContain('connected by a channel');
}

describe('a companion', () => {
  test('uses the channel without a request for each command', async () => {
    await using proxy = await startProxy(hub.url);
    proxy.sockets = 'pass';
    await using companion = await startCompanion(hub, workspace, { hubUrl: proxy.url });
    await usesChannel(companion);
    const before = proxy.requests.length;
    for (let index = 0; index < 5; index += 1) expect(await ping(companion)).toBe('succeeded');
    expect(proxy.requests.slice(before)).toEqual([]);
  });

  test('polls with --no-channel', async () => {
    await using companion = await startCompanion(hub, workspace, { run: ['--no-channel'] });
    expect(connections(companion)).toEqual(['poll']);
    expect(await ping(companion)).toBe('succeeded');
  });

  test.each(['refuse', 'swallow'] as const)(
    'polls when a proxy would %s its channel, and retries the channel rarely',
    async (sockets) => {
      await using proxy = await startProxy(hub.url);
      proxy.sockets = sockets;
      const startedAt = performance.now();
      await using companion = await startCompanion(hub, workspace, { hubUrl: proxy.url });
      expect(connections(companion)).toEqual(['poll']);
      for (let index = 0; index < 10; index += 1) expect(await ping(companion)).toBe('succeeded');
      const tries = proxy.requests.filter(({ path }) => path.endsWith('/channel')).length;
      // The first pause takes at least 1 second, and each pause takes twice as long as the previous one.
      const seconds = (performance.now() - startedAt) / 1_000;
      expect(tries).toBeLessThanOrEqual(1 + Math.log2(1 + seconds));
    },
  );

  test('reopens a cut channel, and polls after repeated cuts', async () => {
    await using proxy = await startProxy(hub.url);
    proxy.sockets = 'pass';
    await using companion = await startCompanion(hub, workspace, { hubUrl: proxy.url });
    const transport = async () => /connected by (?:a )?(\w+)/.exec((await companion.cli('status')).stdout)?.[1];
    for (const by of ['channel', 'channel', 'polls']) {
      await usesChannel(companion);
      const before = connections(companion).length;
      proxy.cutSockets();
      await until(
        () => connections(companion).length > before,
        () => `the companion did not reconnect: ${companion.log()}`,
      );
      await expect.poll(transport).toBe(by);
      expect(await ping(companion)).toBe('succeeded');
    }
    expect(proxy.requests.filter(({ path }) => path.endsWith('/channel'))).toHaveLength(3);
  });

  test('loses no command and no result while its channel is cut repeatedly', async () => {
    await using proxy = await startProxy(hub.url);
    proxy.sockets = 'pass';
    await using companion = await startCompanion(hub, workspace, { hubUrl: proxy.url });
    const results = await Promise.all(
      Array.from({ length: 20 }, async (_none, index) => {
        if (index % 5 === 4) proxy.cutSockets();
        return ping(companion);
      }),
    );
    expect(results).toEqual(Array.from({ length: 20 }, () => 'succeeded'));
  });
});
