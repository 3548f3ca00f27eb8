import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import { startProxy } from '../fixtures/proxy.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

const backlog = 50;
const slots = 4;

test('a backlog drains as fast as the device works, and the companion never polls without a free slot', async () => {
  await using hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', NODE_POLL_SECONDS: '25' });
  const workspace = await hub.workspace();
  await using proxy = await startProxy(hub.url);
  await using companion = await startCompanion({ ...hub, url: proxy.url }, workspace, { start: false });
  const { nodeId } = companion;
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'ping', stepsJson: [{ type: 'skill', skillId: 'node.ping', input: { nodeId, waitMs: 120_000 } }] },
  });
  const runIds = await Promise.all(
    Array.from(
      { length: backlog },
      async () => startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } })).runId,
    ),
  );
  const countOf = async (where: string) =>
    (await hub.database.query<{ count: number }>(`select count(*)::int as count from node_commands where ${where}`))[0]
      ?.count;
  await until(
    async () => (await countOf(`status = 'pending'`)) === backlog,
    () => 'the commands were not written',
  );

  // Results are delayed, as on a slow connection, so that the next poll arrives before them. Its response must not
  // wait for a free slot.
  proxy.fault = async ({ path }) => {
    if (path.endsWith('/result')) await delay(300);
    return undefined;
  };
  await companion.start();
  // A poll without a free slot would delay the backlog by its wait time of 25 seconds.
  await until(
    async () => (await countOf(`status = 'succeeded'`)) === backlog,
    () => `the backlog did not drain: ${JSON.stringify(proxy.requests.slice(-10))}`,
  );
  for (const runId of runIds) expect((await settledRun(workspace.api, runId)).status).toBe('succeeded');
  const polls = proxy.requests.filter(({ path }) => path.includes('/commands?'));
  // With one command per poll, there would be as many polls as commands. The connection itself causes a few more.
  expect(polls.length).toBeLessThanOrEqual(backlog + slots);
  expect(await countOf(`extract(epoch from finished_at - handed_out_at) > 20`)).toBe(0);
});
