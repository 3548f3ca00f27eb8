import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Client, Fetch } from '../fixtures/contract-client.ts';
import { freePort } from '../fixtures/free-port.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, endsWithThisProcess, startHubProcess } from '../fixtures/processes.ts';
import type { HubProcess } from '../fixtures/processes.ts';
import { redisAvailable, startRedis } from '../fixtures/redis.ts';
import type { TestRedis } from '../fixtures/redis.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';
import { loseWorkerOf } from '../fixtures/worker-leases.ts';

const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000);
let state = seed;
/** Pseudo-random numbers that repeat for the same seed. */
function random(): number {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return state / 2_147_483_648;
}

/**
 * Starts runs one after the other during all faults, for longer on a slow machine, until `least` were accepted. Returns
 * the accepted runs.
 */
async function acceptThrough(
  api: () => Client,
  workflowId: string,
  { tries, least, pauseMs, accepted = [] }: { tries: number; least: number; pauseMs: number; accepted?: string[] },
): Promise<string[]> {
  const deadline = performance.now() + 200_000;
  for (let index = 0; index < tries || (accepted.length < least && performance.now() < deadline); index += 1) {
    try {
      const { runId } = startedRun(
        await api().call(
          'runAutomationWorkflow',
          { params: { id: workflowId }, body: { payload: { n: index } } },
          { signal: AbortSignal.timeout(60_000) },
        ),
      );
      accepted.push(runId);
    } catch {
      // The caller got no acceptance, so a missing run is no loss.
    }
    await delay(random() * pauseMs);
  }
  expect(accepted.length).toBeGreaterThanOrEqual(least);
  return accepted;
}

async function statusesOf(api: Client, runIds: string[]): Promise<Map<string, string>> {
  const statuses = new Map<string, string>();
  let cursor: string | undefined;
  do {
    const page = await api.call('listAutomationRuns', {
      query: { limit: 100, ...(cursor === undefined ? {} : { cursor }) },
    });
    for (const run of page.data) statuses.set(run.id, run.status);
    cursor = page.meta.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return new Map(runIds.map((id) => [id, statuses.get(id) ?? 'lost']));
}

async function expectAllFinal(api: Client, runIds: string[], timeoutMs: number): Promise<Map<string, string>> {
  let statuses = new Map<string, string>();
  const open = () => [...statuses.values()].filter((status) => !['succeeded', 'failed'].includes(status));
  const deadline = performance.now() + timeoutMs;
  do {
    await delay(500);
    statuses = await statusesOf(api, runIds).catch(() => new Map([['unreachable', 'unreachable']]));
  } while (open().length > 0 && performance.now() < deadline);
  expect(open()).toEqual([]);
  return statuses;
}

describe(`through kill -9 (CHAOS_SEED=${seed})`, () => {
  test('of hub, database and companion at random, every accepted run finishes and no acting command runs twice', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'outrigger-chaos-'));
    const home = join(folder, 'hub');
    const port = await freePort();
    const env = {
      OUTRIGGER_HOME: home,
      PORT: String(port),
      RATE_LIMIT_PER_MINUTE: '1000000',
      NODE_HEARTBEAT_SECONDS: '2',
      LOG_LEVEL: 'error',
    };
    mkdirSync(home);
    let hubLog = '';
    const startHub = async () => {
      const started = await startHubProcess(env);
      started.child.stderr?.on('data', (chunk: Buffer) => (hubLog += chunk.toString()));
      return started;
    };
    let hub = await startHub();
    const key = await cli(env, 'token', 'create', '--product', 'automations');
    const client = (token: string) =>
      createClient({ baseUrl: `http://127.0.0.1:${port}`, fetch: fetch as unknown as Fetch, token });
    const api = client(key);
    const permission = ['--permission', 'approvals:decide'];
    const approvals = client(await cli(env, 'token', 'create', '--product', 'automations', ...permission));
    const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: { allowSystem: true } });
    const data = join(folder, 'companion');
    const companionEnv = { ...process.env, OUTRIGGER_COMPANION_HOME: data };
    const companionCli = (...args: string[]) =>
      promisify(execFile)(process.execPath, [resolve('node-agent/runtime/cli.ts'), ...args], { env: companionEnv });
    await companionCli('pair', pairingCode, '--hub', `http://127.0.0.1:${port}`);
    await companionCli('allow', 'system', '--no-ask', '--yes');
    const companionLog = openSync(join(folder, 'companion.log'), 'a');
    const exits: string[] = [];
    const startCompanion = (): ChildProcess => {
      const child = spawn(process.execPath, [resolve('node-agent/runtime/cli.ts'), 'run'], {
        env: { ...companionEnv, ...endsWithThisProcess() },
        stdio: ['ignore', companionLog, companionLog],
      });
      // The companion ends only when it is killed. If it stopped by itself, every later command would wait.
      child.on(
        'exit',
        (code, signal) => signal === 'SIGKILL' || exits.push(`the companion ended by itself with ${code ?? signal}`),
      );
      return child;
    };
    let companion = startCompanion();
    onTestFinished(() => {
      companion.kill('SIGKILL');
    });

    const effects = join(folder, 'effects.log');
    writeFileSync(effects, '');
    const workflow = await api.call('createAutomationWorkflow', {
      body: {
        name: 'chaos',
        stepsJson: [
          { type: 'log', message: 'begin' },
          { type: 'skill', skillId: 'node.ping', input: { nodeId, waitMs: 120_000 } },
          { type: 'skill', skillId: 'memory.write', input: { key: 'last', value: '{{payload.n}}' } },
        ],
      },
    });
    const acting = await api.call('createAutomationWorkflow', {
      body: {
        name: 'acting',
        stepsJson: [
          {
            type: 'skill',
            skillId: 'system.run',
            input: { nodeId, argv: ['sh', '-c', 'echo "$0" >> "$1"', '{{run.id}}', effects], waitMs: 120_000 },
          },
        ],
      },
    });

    const reading: string[] = [];
    const acts: string[] = [];
    let isOver = false;
    const killers = (async () => {
      while (!isOver) {
        // On a slow machine, waits for some accepted runs between two kills.
        const before = reading.length + acts.length;
        for (let waited = 0; waited < 300 && reading.length + acts.length < before + 8 && !isOver; waited += 1)
          await delay(100);
        await delay(random() * 1_500);
        const choice = random();
        if (choice < 0.35) {
          await hub.kill();
          hub = await startHub();
        } else if (choice < 0.65) {
          // The process can exist for a while after kill -9. A second companion cannot use the data folder until then.
          const ended = once(companion, 'exit');
          if (companion.kill('SIGKILL')) await ended;
          companion = startCompanion();
        } else {
          const pidFile = join(home, 'postgres/data/postmaster.pid');
          const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8').split('\n')[0]) : 0;
          try {
            if (pid > 1) process.kill(pid, 'SIGKILL');
          } catch (error) {
            // The hub has not restarted the database since the last kill.
            if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
          }
        }
      }
    })();
    const approver = (async () => {
      while (!isOver) {
        await delay(100);
        const { data: pending } = await api
          .call('listAutomationApprovals', { query: { status: 'pending', limit: 100 } })
          .catch(() => ({ data: [] }));
        for (const approval of pending)
          await approvals
            .call('decideAutomationApproval', { params: { id: approval.id }, body: { decision: 'approved' } })
            .catch(() => undefined);
      }
    })();
    await Promise.all([
      acceptThrough(() => api, workflow.id, { tries: 150, least: 40, pauseMs: 150, accepted: reading }),
      acceptThrough(() => api, acting.id, { tries: 80, least: 20, pauseMs: 300, accepted: acts }),
    ]);
    isOver = true;
    await killers;
    // Approvals of waiting runs are answered until the end.
    let settling = true;
    const lateApprover = (async () => {
      while (settling) {
        await delay(200);
        const { data: pending } = await api
          .call('listAutomationApprovals', { query: { status: 'pending', limit: 100 } })
          .catch(() => ({ data: [] }));
        for (const approval of pending)
          await approvals
            .call('decideAutomationApproval', { params: { id: approval.id }, body: { decision: 'approved' } })
            .catch(() => undefined);
      }
    })();
    const statuses = await expectAllFinal(api, [...reading, ...acts], 150_000);
    settling = false;
    await Promise.all([approver, lateApprover]);
    const failed = reading.filter((id) => statuses.get(id) !== 'succeeded');
    const errors = await Promise.all(
      failed.map(async (id) => (await api.call('getAutomationRun', { params: { id } })).error),
    );
    const logs = `${hubLog.slice(-8_000)}\n${readFileSync(join(folder, 'companion.log'), 'utf8').slice(-4_000)}`;
    expect({ exits, errors }, `${JSON.stringify({ exits, errors })}\n${logs}`).toEqual({ exits: [], errors: [] });

    const ran = readFileSync(effects, 'utf8')
      .trim()
      .split('\n')
      .filter((line) => line !== '');
    expect(ran.length).toBe(new Set(ran).size);
    for (const id of acts) {
      // A successful run must have had its effect, and a failed run must say that its outcome is unknown.
      const happened = ran.includes(id);
      const run = await api.call('getAutomationRun', { params: { id } });
      expect([id, run.status === 'succeeded' ? happened : run.error?.code === 'outcome_unknown']).toEqual([id, true]);
    }
    companion.kill('SIGKILL');
    closeSync(companionLog);
    expect(await hub.stop()).toBe(0);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
});

describe.skipIf(!redisAvailable)('several processes on one database and Redis (needs redis-server)', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis[Symbol.asyncDispose]());

  test('lose no run when Redis is flushed and killed and workers are killed', async () => {
    await using database = await acquireDatabase();
    const home = await mkdtemp(join(tmpdir(), 'outrigger-fleet-'));
    const port = await freePort();
    const env = {
      OUTRIGGER_HOME: home,
      PORT: String(port),
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      SECRET_KEY: 'cd'.repeat(32),
      RATE_LIMIT_PER_MINUTE: '1000000',
      DATABASE_POOL_SIZE: '8',
    };
    const apiProcess = await startHubProcess(env, ['--role', 'api']);
    let worker = await startHubProcess(env, ['--role', 'worker']);
    const second = await startHubProcess(env, ['--role', 'worker']);
    const key = await cli(env, 'token', 'create', '--product', 'automations');
    const api = createClient({ baseUrl: apiProcess.url, fetch: fetch as unknown as Fetch, token: key });
    const { id } = await api.call('createAutomationWorkflow', {
      body: {
        name: 'fleet',
        stepsJson: [
          { type: 'skill', skillId: 'memory.write', input: { key: 'k', value: '{{payload.n}}' } },
          { type: 'log', message: '{{payload.n}}' },
        ],
      },
    });
    const accepting = acceptThrough(() => api, id, { tries: 200, least: 100, pauseMs: 30 });
    for (let round = 0; round < 3; round += 1) {
      await delay(500);
      await redis.flush();
      await delay(300);
      await worker.kill();
      worker = await startHubProcess(env, ['--role', 'worker']);
    }
    await redis.restart();
    const accepted = await accepting;
    const statuses = await expectAllFinal(api, accepted, 90_000);
    expect([...statuses.values()].filter((status) => status !== 'succeeded')).toEqual([]);
    // The log line is written with the result of its step, so it exists once.
    const lines = await database.query<{ count: number }>(
      'select count(*)::int as count from run_logs where run_id = any($1)',
      [accepted],
    );
    expect(lines[0]?.count).toBe(accepted.length);
    await Promise.all([apiProcess.stop(), worker.stop(), second.stop()]);
    await rm(home, { recursive: true, force: true });
  });
});

test('a worker that resumes after a stall does not overwrite the results of another worker', async () => {
  await using database = await acquireDatabase();
  const home = await mkdtemp(join(tmpdir(), 'outrigger-stall-'));
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ef'.repeat(32),
    RATE_LIMIT_PER_MINUTE: '1000000',
    DATABASE_POOL_SIZE: '8',
  };
  // The receiver does not answer the first call, so that the worker stalls in the middle of its step.
  const calls: string[] = [];
  let release: (() => void) | undefined;
  const receiver = createHttp((request, response) => {
    calls.push(String(request.headers['idempotency-key']));
    const answer = () =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ call: calls.length }));
    if (calls.length === 1) release = answer;
    else answer();
  });
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  const target = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const stalled = await startHubProcess({ ...env, EGRESS_ALLOW_HOSTS: target });
  const key = await cli(env, 'token', 'create', '--product', 'automations');
  const client = (hub: HubProcess) => createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token: key });
  const { id } = await client(stalled).call('createAutomationWorkflow', {
    body: {
      name: 'stall',
      stepsJson: [{ type: 'skill', skillId: 'webhook.deliver', input: { url: `http://${target}/` } }],
    },
  });
  const { runId } = startedRun(await client(stalled).call('runAutomationWorkflow', { params: { id } }));
  await until(
    () => calls.length === 1,
    () => 'the worker did not start the step',
  );
  stalled.child.kill('SIGSTOP');
  await loseWorkerOf(database, runId);
  const healthy = await startHubProcess({ ...env, EGRESS_ALLOW_HOSTS: target });
  const finished = await settledRun(client(healthy), runId);
  expect(finished).toMatchObject({ status: 'succeeded', stepsResultJson: [{ output: { body: { call: 2 } } }] });
  // Both deliveries have the same key, so that the receiver can recognize the repetition.
  expect(new Set(calls).size).toBe(1);
  stalled.child.kill('SIGCONT');
  release?.();
  await delay(2_000);
  expect(await client(healthy).call('getAutomationRun', { params: { id: runId } })).toEqual(finished);
  await stalled.kill();
  expect(await healthy.stop()).toBe(0);
  receiver.closeAllConnections();
  receiver.close();
  await rm(home, { recursive: true, force: true });
});
