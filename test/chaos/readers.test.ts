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

/** What a process holds in memory, in MiB, as its kernel counts it. */
function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** Asks for all that was ever logged, and never reads the answer. */
function stalledReader(url: string, key: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(
    `GET /v1/automations/logs/live HTTP/1.1\r\nHost: hub\r\nX-API-Key: ${key}\r\nLast-Event-ID: 01900000-0000-7000-8000-000000000000\r\n\r\n`,
  );
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

test.skipIf(process.platform !== 'linux')(
  'readers that stall cost the hub next to no memory, and nobody else waits for them',
  { timeout: 120_000 },
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
      api.call('getAutomationRun', {
        params: { id: startedRun(await api.call('runAutomationWorkflow', { params: { id } })).runId },
        query: { waitSeconds: 30 },
      });
    const first = await run();
    // 48 MiB of lines; each of eight readers would have them all.
    await database.query(
      `insert into run_logs (id, tenant_id, run_id, workflow_id, step_index, level, message, created_at)
     select (lpad(to_hex((extract(epoch from now() - interval '1 minute') * 1000)::bigint + n), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
       r.tenant_id, r.id, r.workflow_id, 0, 'info', repeat('x', 2000), now() from runs r, generate_series(1, 24000) n where r.id = $1`,
      [first.id],
    );
    const before = residentMiB(hub.child.pid as number);
    const sockets = Array.from({ length: 8 }, () => stalledReader(hub.url, key));
    let most = before;
    // A reader would have been sent everything long before; what is held back is bounded by now or grows with each look.
    for (let look = 0; look < 40; look += 1) {
      await delay(250);
      most = Math.max(most, residentMiB(hub.child.pid as number));
      if (look % 8 === 0) expect(await run()).toMatchObject({ status: 'succeeded' });
    }
    expect(most - before).toBeLessThan(120);
    for (const socket of sockets) socket.destroy();
    expect(await hub.stop()).toBe(0);
  },
);
