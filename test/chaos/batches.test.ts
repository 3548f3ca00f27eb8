import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';

const senders = 20;

/** Calls the hook again and again until the hub is gone; answers the runs that it said it took. */
async function callUntilGone(url: string, token: string): Promise<string[]> {
  const accepted: string[] = [];
  const deadline = performance.now() + 60_000;
  const send = async () => {
    while (performance.now() < deadline) {
      try {
        const response = await fetch(`${url}/v1/automations/hooks/inbound`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-service-automation-token': token },
          body: '{"event":"chaos"}',
          signal: AbortSignal.timeout(10_000),
        });
        if (response.status === 200) accepted.push(((await response.json()) as { runId: string }).runId);
      } catch {
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: senders }, send));
  return accepted;
}

describe('after kill -9 of a hub under many calls', { timeout: 120_000 }, () => {
  test.each([
    ['right before the commit of a batch of accepted runs', 'accept_held_runs', 'before'],
    ['right after it, before anybody has an answer or any of them has begun', 'accept_held_runs', 'after'],
    ['right before the commit of a batch of ends', 'advance_all_runs', 'before'],
    ['right after it', 'advance_all_runs', 'after'],
  ])('%s, every run that was accepted ends once, with each of its lines once', async (_what, statement, when) => {
    await using database = await acquireDatabase();
    const home = await mkdtemp(join(tmpdir(), 'outrigger-batches-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const env = {
      OUTRIGGER_HOME: home,
      PORT: '0',
      DATABASE_URL: database.url,
      SECRET_KEY: 'ab'.repeat(32),
      HOOK_RATE_LIMIT_PER_MINUTE: '10000000',
      DATABASE_POOL_SIZE: '8',
    };
    const mortal = await startHubProcess({
      ...env,
      NODE_OPTIONS: `--import=${new URL('../fixtures/die-around.ts', import.meta.url).href}`,
      DIE_STATEMENT: statement,
      DIE_WHEN: when,
      DIE_COUNT: '15',
    });
    const key = await cli(env, 'token', 'create', '--product', 'automations');
    const client = (url: string) => createClient({ baseUrl: url, fetch: fetch as unknown as Fetch, token: key });
    const token = 'webhook-token-of-this-test';
    await client(mortal.url).call('createAutomationWorkflow', {
      body: {
        name: 'three lines',
        triggerJson: { type: 'webhook', webhook: { token } },
        stepsJson: ['a', 'b', 'c'].map((message) => ({ type: 'log' as const, message })),
      },
    });
    const accepted = await callUntilGone(mortal.url, token);
    if (mortal.child.signalCode === null) await once(mortal.child, 'exit');
    expect(mortal.child.signalCode).toBe('SIGKILL');
    const inHand = await database.query<{ id: string }>("select id from runs where status = 'running'");
    if (when === 'after' && statement === 'accept_held_runs') expect(inHand.length).toBeGreaterThan(0);

    const hub = await startHubProcess(env);
    // What the sweep does with runs whose process is gone, without the wait for their leases.
    await database.query(
      "update runs set lease_expires_at = null, wake_at = now(), lost_leases = lost_leases + 1 where status = 'running' and id = any($1)",
      [inHand.map(({ id }) => id)],
    );
    await expect
      .poll(() => database.query('select status, count(*)::int as n from runs group by 1'), { timeout: 40_000 })
      .toEqual([{ status: 'succeeded', n: expect.any(Number) as number }]);
    const runs = await database.query<{ id: string; lines: string[]; steps: number }>(
      `select r.id, array(select l.message from run_logs l where l.run_id = r.id order by l.step_index, l.id) as lines,
         (select count(*)::int from run_steps s where s.run_id = r.id and s.status = 'succeeded' and s.attempts = 1) as steps from runs r`,
    );
    expect(runs.length).toBeGreaterThanOrEqual(accepted.length);
    expect(accepted.filter((id) => !runs.some((run) => run.id === id))).toEqual([]);
    expect(runs.filter(({ lines, steps }) => lines.join('') !== 'abc' || steps !== 3)).toEqual([]);
    await expect.poll(() => database.query('select id from outbox')).toEqual([]);
    expect(await hub.stop()).toBe(0);
  });
});
