import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startCompanion } from '../fixtures/companion.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { freePort } from '../fixtures/free-port.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';

const senders = 6;

describe('after kill -9 of a hub that handles many commands', () => {
  test.each([
    ['right before the commit that suspends a run and leases its command', 'suspend_run_at_once', 'before'],
    [
      'right after the commit that suspends a run, before the device receives the command',
      'suspend_run_at_once',
      'after',
    ],
    ['right before the commit that records a result and resumes the run', 'claim_waiting_run', 'before'],
    [
      'right after the commit that records a result, before the device gets a response and the run resumes',
      'claim_waiting_run',
      'after',
    ],
  ])('%s, every accepted run succeeds with one command per step', async (_what, statement, when) => {
    await using database = await acquireDatabase();
    const home = await mkdtemp(join(tmpdir(), 'outrigger-commands-'));
    onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
    const env = {
      OUTRIGGER_HOME: home,
      PORT: String(await freePort()),
      DATABASE_URL: database.url,
      SECRET_KEY: 'ab'.repeat(32),
      RATE_LIMIT_PER_MINUTE: '1000000',
    };
    const killedHub = await startHubProcess({
      ...env,
      NODE_OPTIONS: `--import=${new URL('../fixtures/die-around-commit.ts', import.meta.url).href}`,
      DIE_STATEMENT: statement,
      DIE_WHEN: when,
      DIE_COUNT: '25',
    });
    const key = await cli(env, 'token', 'create', '--product', 'automations');
    const api = createClient({ baseUrl: killedHub.url, fetch: fetch as unknown as Fetch, token: key });
    await using companion = await startCompanion({ url: killedHub.url } as TestHub, { api } as TestWorkspace);
    const { nodeId, shared } = companion;
    // After the kill, the companion may wait 30 s before it connects again.
    const input = (more: object) => ({ nodeId, waitMs: 120_000, ...more });
    const { id } = await api.call('createAutomationWorkflow', {
      body: {
        name: 'three commands',
        stepsJson: [
          { type: 'skill', skillId: 'node.ping', input: input({}) },
          { type: 'skill', skillId: 'node.files_list', input: input({ path: shared }) },
          { type: 'skill', skillId: 'node.ping', input: input({}) },
        ],
      },
    });
    const accepted: string[] = [];
    const deadline = performance.now() + 60_000;
    const send = async () => {
      while (performance.now() < deadline) {
        try {
          const started = await fetch(`${killedHub.url}/v1/automations/workflows/${id}/run`, {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: '{}',
            signal: AbortSignal.timeout(60_000),
          });
          const { runId } = (await started.json()) as { runId: string };
          // A busy hub may refuse a run.
          if (started.ok) accepted.push(runId);
        } catch {
          // The hub was killed before or while it responded.
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    await Promise.all(Array.from({ length: senders }, send));
    if (killedHub.child.signalCode === null) await once(killedHub.child, 'exit');
    expect(killedHub.child.signalCode).toBe('SIGKILL');

    // Frees the runs of the killed process, as at the end of its lease, without waiting.
    await database.query(
      'update runs set holder_id = null, wake_at = now(), lost_leases = lost_leases + 1 where holder_id is not null and finished_at is null',
    );
    const hub = await startHubProcess(env);
    await expect
      .poll(() => database.query('select status, count(*)::int as n from runs group by 1'))
      .toEqual([{ status: 'succeeded', n: expect.any(Number) as number }]);
    const runs = await database.query<{ id: string; commands: string[]; steps: number }>(
      `select r.id, array(select c.step_index || ' ' || c.status from node_commands c where c.run_id = r.id order by c.step_index) as commands,
         (select count(*)::int from run_steps s where s.run_id = r.id and s.status = 'succeeded' and s.attempts = 1) as steps from runs r`,
    );
    expect(accepted.filter((runId) => !runs.some((run) => run.id === runId))).toEqual([]);
    const asPlanned = ['0 succeeded', '1 succeeded', '2 succeeded'];
    expect(runs.filter(({ commands, steps }) => commands.join() !== asPlanned.join() || steps !== 3)).toEqual([]);
    expect(await hub.stop()).toBe(0);
  });
});
