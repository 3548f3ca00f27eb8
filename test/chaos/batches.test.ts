import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import { addCampaigns, addContactList, addContacts } from '../fixtures/stage/marketing.ts';

const senders = 20;

/** Calls the webhook until the hub has stopped. Returns the ids of the accepted runs. */
async function callUntilGone(url: string, token: string): Promise<string[]> {
  const accepted: string[] = [];
  const deadline = performance.now() + 60_000;
  const call = async () => {
    const response = await fetch(`${url}/v1/automations/hooks/inbound`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-automation-token': token },
      body: '{"event":"chaos"}',
      signal: AbortSignal.timeout(60_000),
    });
    if (response.status === 200) accepted.push(((await response.json()) as { runId: string }).runId);
  };
  const send = async () => {
    while (performance.now() < deadline) {
      try {
        await call();
      } catch {
        return;
      }
    }
  };
  // Calls are accepted in batches as soon as the hub has cached the workflow.
  await call();
  await Promise.all(Array.from({ length: senders }, send));
  return accepted;
}

/** The environment of a hub, and a function that adds the settings for its kill at a commit. */
async function environment(database: TestDatabase) {
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
  const killedAtCommit = (statement: string, when: string, count: number) => ({
    ...env,
    NODE_OPTIONS: `--import=${new URL('../fixtures/die-around-commit.ts', import.meta.url).href}`,
    DIE_STATEMENT: statement,
    DIE_WHEN: when,
    DIE_COUNT: String(count),
  });
  return { env, dying: killedAtCommit };
}

/** Frees the runs of a killed process, as at the end of its lease, without waiting. Returns their number. */
async function endLeases(database: TestDatabase): Promise<number> {
  const ended = await database.query(
    'update runs set holder_id = null, wake_at = now(), lost_leases = lost_leases + 1 where holder_id is not null and finished_at is null returning id',
  );
  return ended.length;
}

/** Resolves once every run has succeeded. */
async function allSucceed(database: TestDatabase): Promise<void> {
  await expect
    .poll(() => database.query('select status, count(*)::int as n from runs group by 1'))
    .toEqual([{ status: 'succeeded', n: expect.any(Number) as number }]);
}

describe('after kill -9 of a hub that handles many requests', () => {
  test.each([
    ['right before the commit of a batch of accepted runs', 'accept_runs', 'before'],
    [
      'right after the commit of a batch of accepted runs, before any response and before any run starts',
      'accept_runs',
      'after',
    ],
    ['right before the commit of a batch of finished runs', 'advance_all_runs', 'before'],
    ['right after the commit of a batch of finished runs', 'advance_all_runs', 'after'],
  ])('%s, every accepted run finishes once and writes each log line once', async (_what, statement, when) => {
    await using database = await acquireDatabase();
    const { env, dying: killedAtCommit } = await environment(database);
    const killedHub = await startHubProcess(killedAtCommit(statement, when, 15));
    const key = await cli(env, 'token', 'create', '--product', 'automations');
    const client = (url: string) => createClient({ baseUrl: url, fetch: fetch as unknown as Fetch, token: key });
    const token = 'webhook-token-of-this-test';
    await client(killedHub.url).call('createAutomationWorkflow', {
      body: {
        name: 'three lines',
        triggerJson: { type: 'webhook', webhook: { token } },
        stepsJson: ['a', 'b', 'c'].map((message) => ({ type: 'log' as const, message })),
      },
    });
    const accepted = await callUntilGone(killedHub.url, token);
    if (killedHub.child.signalCode === null) await once(killedHub.child, 'exit');
    expect(killedHub.child.signalCode).toBe('SIGKILL');
    const expiredLeases = await endLeases(database);
    if (when === 'after' && statement === 'accept_runs') expect(expiredLeases).toBeGreaterThan(0);

    const hub = await startHubProcess(env);
    await allSucceed(database);
    const runs = await database.query<{ id: string; lines: string[]; steps: number }>(
      `select r.id, array(select l.message from run_logs l where l.run_id = r.id order by l.step_index, l.id) as lines,
         (select count(*)::int from run_steps s where s.run_id = r.id and s.status = 'succeeded' and s.attempts = 1) as steps from runs r`,
    );
    expect(runs.length).toBeGreaterThanOrEqual(accepted.length);
    expect(accepted.filter((id) => !runs.some((run) => run.id === id))).toEqual([]);
    expect(runs.filter(({ lines, steps }) => lines.join('') !== 'abc' || steps !== 3)).toEqual([]);
    expect(await hub.stop()).toBe(0);
  });

  test('right before the commit of a step of a test run that sends a campaign, each contact counts once', async () => {
    await using database = await acquireDatabase();
    const { env, dying: killedAtCommit } = await environment(database);
    const killedHub = await startHubProcess(killedAtCommit('advance_all_runs', 'before', 1));
    const key = await cli(env, 'token', 'create', '--product', 'automations', '--environment', 'test');
    const [workspace] = await database.query<{ id: string }>('select id from tenants');
    const listId = await addContactList(database, (workspace as { id: string }).id);
    await addContacts(database, listId, { count: 3, attributes: {} });
    await addCampaigns(database, listId, { count: 1, html: '<p>hello</p>' });
    const [campaign] = await database.query<{ id: string }>('select id from campaigns');
    const client = createClient({ baseUrl: killedHub.url, fetch: fetch as unknown as Fetch, token: key });
    const { id } = await client.call('createAutomationWorkflow', {
      body: {
        name: 'send',
        stepsJson: [
          {
            type: 'skill' as const,
            skillId: 'marketing.campaign_send',
            input: { campaignId: (campaign as { id: string }).id },
          },
        ],
      },
    });
    await client.call('runAutomationWorkflow', { params: { id }, body: {} });
    if (killedHub.child.signalCode === null) await once(killedHub.child, 'exit');
    expect(killedHub.child.signalCode).toBe('SIGKILL');
    const simulated = () => database.query('select mails_simulated from campaigns');
    expect(await simulated(), 'the count was committed before the kill').toEqual([{ mails_simulated: 3 }]);
    expect(await endLeases(database)).toBe(1);

    const hub = await startHubProcess(env);
    await allSucceed(database);
    expect(await simulated()).toEqual([{ mails_simulated: 3 }]);
    expect(await hub.stop()).toBe(0);
  });

  test.each([
    ['right before the commit of a batch of intents', 'before'],
    ['right after the commit of a batch of intents, before any request is sent', 'after'],
  ])(
    '%s, every sent request has a committed intent, and each run sends with one idempotency key',
    async (_what, when) => {
      await using database = await acquireDatabase();
      const calls: string[] = [];
      const server = createServer((incoming, response) => {
        calls.push(String(incoming.headers['idempotency-key']));
        incoming.resume();
        incoming.once('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
      });
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      onTestFinished(() => {
        server.closeAllConnections();
        server.close();
      });
      const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { env, dying: killedAtCommit } = await environment(database);
      const egress = { EGRESS_ALLOW_HOSTS: host };
      const killedHub = await startHubProcess({ ...killedAtCommit('write_intents', when, 12), ...egress });
      const key = await cli(env, 'token', 'create', '--product', 'automations');
      const api = createClient({ baseUrl: killedHub.url, fetch: fetch as unknown as Fetch, token: key });
      const token = 'webhook-token-of-this-test';
      await api.call('createAutomationWorkflow', {
        body: {
          name: 'a call between two lines',
          triggerJson: { type: 'webhook', webhook: { token } },
          stepsJson: [
            { type: 'log', message: 'a' },
            { type: 'skill', skillId: 'webhook.deliver', input: { url: `http://${host}/`, body: {} } },
            { type: 'log', message: 'b' },
          ],
        },
      });
      const accepted = await callUntilGone(killedHub.url, token);
      if (killedHub.child.signalCode === null) await once(killedHub.child, 'exit');
      expect(killedHub.child.signalCode).toBe('SIGKILL');
      const keys = async (where: string) =>
        (
          await database.query<{ key: string }>(`select run_id || '-' || step_index as key from effects where ${where}`)
        ).map((row) => row.key);
      const intended = await keys('true');
      expect(calls.filter((call) => !intended.includes(call))).toEqual([]);
      const before = new Set(calls);
      if (when === 'after') expect(intended.some((intent) => !before.has(intent))).toBe(true);

      await endLeases(database);
      const hub = await startHubProcess({ ...env, ...egress });
      await allSucceed(database);
      const runs = await database.query<{ id: string; lines: string }>(
        `select r.id, (select string_agg(l.message, '' order by l.step_index, l.id) from run_logs l where l.run_id = r.id) as lines from runs r`,
      );
      expect(accepted.filter((id) => !runs.some((run) => run.id === id))).toEqual([]);
      expect(runs.filter(({ lines }) => lines !== 'ab')).toEqual([]);
      // One effect per run. The key makes a repeated call recognizable.
      const all = await keys('receipt_at is not null');
      expect(all.toSorted()).toEqual(runs.map(({ id }) => `${id}-1`).toSorted());
      expect([...new Set(calls)].toSorted()).toEqual(all.toSorted());
      expect(await hub.stop()).toBe(0);
    },
  );

  test.each([
    ['right before the commit of a batch of schedule fires', 'before'],
    ['right after the commit of a batch of schedule fires, before any run starts', 'after'],
  ])('%s, each schedule fires once, and its run finishes once', async (_what, when) => {
    await using database = await acquireDatabase();
    const { env, dying: killedAtCommit } = await environment(database);
    const killedHub = await startHubProcess(killedAtCommit('enter_fires', when, 1));
    const schedules = 100;
    const trigger = {
      schemaVersion: 1,
      type: 'schedule',
      schedule: {
        kind: 'interval',
        everySeconds: 86_400,
        timezone: 'UTC',
        onMissed: 'last',
        maxCatchUp: 1,
        overlap: 'allow',
        jitterSeconds: 0,
      },
    };
    await database.query(
      `with made as (
         insert into workflows (id, tenant_id, name, active, version, trigger, steps, next_run_at)
         select gen_random_uuid(), (select id from tenants limit 1), 'daily ' || n, true, 1, $1, '[{"type":"log","message":"fired"}]', now() from generate_series(1, $2) n returning id, tenant_id, name, steps
       ) insert into workflow_versions (workflow_id, version, tenant_id, name, steps) select id, 1, tenant_id, name, steps from made`,
      [JSON.stringify(trigger), schedules],
    );
    if (killedHub.child.signalCode === null) await once(killedHub.child, 'exit');
    expect(killedHub.child.signalCode).toBe('SIGKILL');
    const expiredLeases = await endLeases(database);
    // Uncommitted fires are repeated by the next process. The killed process had claimed some of the committed runs.
    if (when === 'after') expect(expiredLeases).toBeGreaterThan(0);
    else expect(await database.query('select 1 from schedule_fires')).toEqual([]);

    const hub = await startHubProcess(env);
    const ended = async () =>
      (await database.query<{ n: number }>('select count(*)::int as n from runs where finished_at is not null'))[0]?.n;
    await expect.poll(ended).toBe(schedules);
    await allSucceed(database);
    const found = await database.query<{ fires: number; runs: number; lines: number }>(
      `select (select count(*)::int from schedule_fires f where f.workflow_id = w.id and f.run_id is not null) as fires, (select count(*)::int from runs r where r.workflow_id = w.id) as runs,
         (select count(*)::int from run_logs l where l.workflow_id = w.id) as lines from workflows w`,
    );
    expect(found).toEqual(Array.from({ length: schedules }, () => ({ fires: 1, runs: 1, lines: 1 })));
    expect(await hub.stop()).toBe(0);
  });
});
