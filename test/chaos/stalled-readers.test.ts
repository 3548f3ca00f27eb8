import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import { openStream } from '../fixtures/server-sent-events.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

/** Resident memory of a process in MiB. */
function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** Requests all events from the start and never reads the response. */
function stalledReader(url: string, path: string, headers: Record<string, string>): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.pause();
  const lines = Object.entries({ Host: 'hub', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

test.skipIf(process.platform !== 'linux')(
  'stalled readers use almost no memory of the hub and do not delay other readers',
  async () => {
    await using database = await acquireDatabase();
    const home = await mkdtemp(join(tmpdir(), 'outrigger-readers-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const env = {
      OUTRIGGER_HOME: home,
      PORT: '0',
      DATABASE_URL: database.url,
      SECRET_KEY: 'ab'.repeat(32),
      RATE_LIMIT_PER_MINUTE: '1000000',
      DATABASE_POOL_SIZE: '8',
    };
    const hub = await startHubProcess(env);
    const key = await cli(env, 'token', 'create', '--product', 'automations');
    const api = createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token: key });
    const { id } = await api.call('createAutomationWorkflow', {
      body: { name: 'talkative', stepsJson: [{ type: 'log', message: 'hello' }] },
    });
    const run = async () =>
      settledRun(api, startedRun(await api.call('runAutomationWorkflow', { params: { id } })).runId);
    const first = await run();
    // 48 MiB of log lines, which each of eight readers requests.
    await database.query(
      `insert into run_logs (id, tenant_id, run_id, workflow_id, step_index, level, message, created_at)
     select (lpad(to_hex((extract(epoch from now() - interval '1 minute') * 1000)::bigint + n), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
       r.tenant_id, r.id, r.workflow_id, 0, 'info', repeat('x', 2000), now() from runs r, generate_series(1, 24000) n where r.id = $1`,
      [first.id],
    );
    const before = residentMiB(hub.child.pid as number);
    const sockets = Array.from({ length: 8 }, () =>
      stalledReader(hub.url, '/v1/automations/logs/live', {
        'X-API-Key': key,
        'Last-Event-ID': '01900000-0000-7000-8000-000000000000',
      }),
    );
    let most = before;
    // An unlimited buffer would be full long before. A limited one does not grow any more.
    for (let sample = 0; sample < 40; sample += 1) {
      await delay(250);
      most = Math.max(most, residentMiB(hub.child.pid as number));
      if (sample % 8 === 0) expect(await run()).toMatchObject({ status: 'succeeded' });
    }
    expect(most - before).toBeLessThan(120);
    for (const socket of sockets) socket.destroy();
    expect(await hub.stop()).toBe(0);
  },
);

test.skipIf(process.platform !== 'linux')(
  'unread workspace events of slow readers stay in the database and do not delay other readers',
  async () => {
    await using database = await acquireDatabase();
    const home = await mkdtemp(join(tmpdir(), 'outrigger-readers-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const hub = await startHubProcess({
      OUTRIGGER_HOME: home,
      PORT: '0',
      DATABASE_URL: database.url,
      SECRET_KEY: 'ab'.repeat(32),
      SIGN_UP: 'open',
      DATABASE_POOL_SIZE: '8',
    });
    const { token, tenantId } = await createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch }).call(
      'signUp',
      { body: { email: 'a@example.org', password: 'correct horse battery', workspaceName: 'stalled' } },
    );
    const path = `/tenants/${tenantId}/events`;
    const quick = await openStream(`${hub.url}${path}`, token);
    await expect.poll(() => quick.received.length).toBe(1);
    const before = residentMiB(hub.child.pid as number);
    // 20 MiB of events, which each of 24 readers requests.
    const write = (count: number) =>
      database.query(
        `insert into workspace_events (tenant_id, type, data) select $1, 'run', jsonb_build_object('padding', repeat('x', 2000)) from generate_series(1, $2::int)`,
        [tenantId, count],
      );
    await write(9_000);
    const sockets = Array.from({ length: 24 }, () =>
      stalledReader(hub.url, path, {
        Authorization: `Bearer ${token}`,
        'Last-Event-ID': quick.received[0]?.id as string,
      }),
    );
    await expect.poll(() => quick.received.length).toBe(9_001);
    let most = before;
    for (let sample = 0; sample < 20; sample += 1) {
      await delay(250);
      most = Math.max(most, residentMiB(hub.child.pid as number));
    }
    await write(1);
    await expect.poll(() => quick.received.length).toBe(9_002);
    // One page of events per reader and uncollected garbage use about 200 MiB. Without waiting for readers, it is 600
    // MiB.
    expect(most - before).toBeLessThan(400);
    for (const socket of sockets) socket.destroy();
    quick.end();
    expect(await hub.stop()).toBe(0);
  },
);

test.skipIf(process.platform !== 'linux')(
  'unread responses with large runs use a bounded amount of memory and are closed',
  async () => {
    await using database = await acquireDatabase();
    const home = await mkdtemp(join(tmpdir(), 'outrigger-readers-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const env = {
      OUTRIGGER_HOME: home,
      PORT: '0',
      DATABASE_URL: database.url,
      SECRET_KEY: 'ab'.repeat(32),
      RATE_LIMIT_PER_MINUTE: '1000000',
      DATABASE_POOL_SIZE: '8',
      NODE_OPTIONS: '--max-old-space-size=800',
    };
    const hub = await startHubProcess(env);
    const key = await cli(env, 'token', 'create', '--product', 'automations');
    const api = createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token: key });
    const { id } = await api.call('createAutomationWorkflow', {
      body: { name: 'large', stepsJson: Array.from({ length: 8 }, () => ({ type: 'log' as const, message: 'x' })) },
    });
    const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
    const ended = await settledRun(api, runId);
    expect(ended.status).toBe('succeeded');
    await database.query(
      `update run_steps set output = to_jsonb(repeat('x', 4000000)), output_bytes = 4000002 where run_id = $1`,
      [runId],
    );
    const headers = { 'X-API-Key': key };
    const path = `/v1/automations/runs/${runId}`;
    const before = residentMiB(hub.child.pid as number);
    const sockets = [
      ...Array.from({ length: 40 }, () => stalledReader(hub.url, path, headers)),
      ...Array.from({ length: 10 }, () => stalledReader(hub.url, `${path}/events`, headers)),
    ];
    let most = before;
    for (let sample = 0; sample < 40; sample += 1) {
      await delay(250);
      most = Math.max(most, residentMiB(hub.child.pid as number));
    }
    // Complete responses would use 40 times 32 MB, and the streams 10 times 32 MB.
    expect(most - before).toBeLessThan(700);
    // Small requests still get a response.
    expect((await api.call('listAutomationRuns', {})).data).toHaveLength(1);
    // The hub closes connections whose clients do not read.
    await until(
      async () => {
        const again = await fetch(`${hub.url}${path}`, { headers });
        return again.status === 200 && (await again.text()).length > 32_000_000;
      },
      () => 'the memory was not released',
      150_000,
    );
    for (const socket of sockets) socket.destroy();
    expect(hub.child.exitCode).toBeNull();
  },
);
