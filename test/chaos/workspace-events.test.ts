import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import type { HubProcess } from '../fixtures/processes.ts';
import { openStream } from '../fixtures/server-sent-events.ts';

test('a reader of workspace events receives each event once and in order while its hubs are killed', async () => {
  await using database = await acquireDatabase();
  const home = await mkdtemp(join(tmpdir(), 'outrigger-events-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    RATE_LIMIT_PER_MINUTE: '1000000',
    SIGN_UP: 'open',
    DATABASE_POOL_SIZE: '6',
  };
  const clientOf = (url: string, token?: string) =>
    createClient({ baseUrl: url, fetch: fetch as unknown as Fetch, ...(token === undefined ? {} : { token }) });
  const steady = await startHubProcess(env);
  const { token, tenantId } = await clientOf(steady.url).call('signUp', {
    body: { email: 'a@example.org', password: 'correct horse battery', workspaceName: 'busy' },
  });
  const key = await cli(env, 'token', 'create', '--product', 'automations', '--workspace', 'busy');
  const api = clientOf(steady.url, key);
  const { id } = await api.call('createAutomationWorkflow', {
    body: { name: 'w', stepsJson: Array.from({ length: 3 }, () => ({ type: 'log', message: 'x' })) } as never,
  });

  // Starts a process that executes no runs, so that no run waits for an expired lease.
  const startFront = () => startHubProcess(env, ['--role', 'api']);
  let hub: HubProcess = await startFront();
  const received: string[] = [];
  let lastEventId: string | undefined;
  const listen = async (url: string) => {
    const stream = await openStream(`${url}/tenants/${tenantId}/events`, token, lastEventId);
    expect(stream.status).toBe(200);
    if (lastEventId === undefined) await expect.poll(() => stream.received.length).toBe(1);
    return async (isComplete: (count: number) => boolean = () => true) => {
      await expect.poll(() => isComplete(stream.received.length)).toBe(true);
      stream.end();
      await expect.poll(() => stream.isOver).toBe(true);
      lastEventId = stream.lastEventId;
      received.push(
        ...stream.received.map(({ event, data }) =>
          [event, data['id'] ?? data['runId'], data['index'], data['status']].join(' '),
        ),
      );
    };
  };
  // Waits for the first bytes, because the stream omits earlier events.
  await (
    await listen(hub.url)
  )();
  let isWriting = true;
  const writing = (async () => {
    while (isWriting) {
      await Promise.all(Array.from({ length: 2 }, () => api.call('runAutomationWorkflow', { params: { id } })));
      await delay(200);
    }
  })();
  for (let round = 0; round < 3; round += 1) {
    const stopHub = await listen(hub.url);
    await delay(800);
    await hub.kill();
    await stopHub();
    const stopSteady = await listen(steady.url);
    hub = await startFront();
    await stopSteady();
  }
  isWriting = false;
  await writing;
  await expect.poll(async () => (await database.query('select 1 from runs where finished_at is null')).length).toBe(0);
  const written = (
    await database.query<{ line: string }>(
      `select concat_ws(' ', type, coalesce(data->>'id', data->>'runId'), coalesce(data->>'index', ''), data->>'status') as line from workspace_events where tenant_id = $1 and type in ('run', 'step') order by seq`,
      [tenantId],
    )
  ).map(({ line }) => line);
  expect(written.length).toBeGreaterThan(50);
  const stopHub = await listen(hub.url);
  // The first message of a stream is `ready`.
  await stopHub((count) => received.length + count > written.length);
  const [ready, ...events] = received;
  expect(ready).toMatch(/^ready/);
  expect(events.toSorted()).toEqual(written.toSorted());
  const ofRun = (lines: string[]) => Map.groupBy(lines, (line) => line.split(' ')[1]);
  const [receivedByRun, writtenByRun] = [ofRun(events), ofRun(written)];
  for (const [runId, lines] of writtenByRun) expect(receivedByRun.get(runId)).toEqual(lines);
  expect(await hub.stop()).toBe(0);
  expect(await steady.stop()).toBe(0);
});
