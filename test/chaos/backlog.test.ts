import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startCompanion } from '../fixtures/companion.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { freePort } from '../fixtures/free-port.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import { settledRun } from '../fixtures/settled-run.ts';

test('fifty runs for a device that were accepted before a kill -9 of the hub all succeed', async () => {
  await using database = await acquireDatabase();
  const home = await mkdtemp(join(tmpdir(), 'outrigger-backlog-'));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const port = await freePort();
  const env = {
    OUTRIGGER_HOME: home,
    PORT: String(port),
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    RATE_LIMIT_PER_MINUTE: '1000000',
  };
  const hub = await startHubProcess(env);
  const key = await cli(env, 'token', 'create', '--product', 'automations');
  const api = createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token: key });
  await using companion = await startCompanion({ url: hub.url } as TestHub, { api } as TestWorkspace);
  // After the kill, the companion may wait 30 s before it connects again.
  const input = { nodeId: companion.nodeId, waitMs: 120_000 };
  const { id } = await api.call('createAutomationWorkflow', {
    body: { name: 'ping', stepsJson: [{ type: 'skill', skillId: 'node.ping', input }] },
  });
  // The process is killed during these starts.
  const runIds = await Promise.all(
    Array.from(
      { length: 50 },
      async () => startedRun(await api.call('runAutomationWorkflow', { params: { id } })).runId,
    ),
  );
  await hub.kill();
  const again = await startHubProcess(env);
  // The runs of the killed process are claimed again when their leases expire.
  const ended = await Promise.all(runIds.map((runId) => settledRun(api, runId)));
  expect(ended.filter(({ status }) => status !== 'succeeded').map(({ status, error }) => ({ status, error }))).toEqual(
    [],
  );
  expect(await again.stop()).toBe(0);
});
