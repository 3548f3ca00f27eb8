import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import { startCrashingPostgres } from '../fixtures/crashing-postgres.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

const rounds = 20;

test(`when PostgreSQL crashes ${rounds} times under two hubs, each email of an agent is sent once and each run ends as without a crash`, async () => {
  const postgres = await startCrashingPostgres();
  const model = await startModelServer();
  const mail = await startMailServer();
  onTestFinished(() => model[Symbol.asyncDispose]());
  onTestFinished(() => mail[Symbol.asyncDispose]());
  const home = await mkdtemp(join(tmpdir(), 'outrigger-crash-hubs-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: postgres.url,
    DATABASE_POOL_SIZE: '6',
    SECRET_KEY: 'ab'.repeat(32),
    RATE_LIMIT_PER_MINUTE: '1000000',
    EGRESS_ALLOW_HOSTS: `${model.host},127.0.0.1`,
    SMTP_URL: mail.url,
    MAIL_FROM: 'hub@example.org',
  };
  const hubs = await Promise.all([startHubProcess(env), startHubProcess(env)]);
  const key = await cli(env, 'token', 'create', '--product', 'automations');
  const [api] = hubs.map(({ url }) => createClient({ baseUrl: url, fetch, token: key })) as [
    ReturnType<typeof createClient>,
  ];
  await api.call('putAutomationModels', {
    body: {
      models: [{ id: 'first', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'alpha', apiKey: 'k' }],
      order: ['first'],
    },
  });
  const { id: toolProfileId } = await api.call('putAutomationToolProfile', {
    body: { name: 'mail', allow: ['email.*'], deny: [] },
  });
  const { id } = await api.call('createAutomationWorkflow', {
    body: {
      name: 'agent',
      // The delay makes a worker claim the run. Otherwise the process that accepted the run would execute it.
      stepsJson: [{ type: 'agent', prompt: 'Write to {{payload.address}}', toolProfileId, delaySeconds: 1 }],
    },
  });

  /** How often the model was called for the first turn of the current run, and its answer after the crash. */
  let current = '';
  let asked = 0;
  let answer = Promise.withResolvers<void>();
  model.reply = async ({ messages }, turn) => {
    if (turn > 0) return 'FINAL: sent';
    const [address] = /\S+@example\.org/.exec(messages.map(({ content }) => content).join('\n')) ?? [];
    // A worker that lost its run can call the model after the end of the run.
    if (address === current) asked += 1;
    await answer.promise;
    return `TOOL_CALL:email.send|${JSON.stringify({ to: [address], subject: 'Your order', text: 'It is on its way.' })}`;
  };
  let onMail: () => void = () => undefined;
  mail.refuse = () => {
    onMail();
    return null;
  };

  const addresses = Array.from({ length: rounds }, (_, round) => `customer${round}@example.org`);
  const ends: string[] = [];
  let lostClaims = 0;
  for (const [round, address] of addresses.entries()) {
    current = address;
    asked = 0;
    answer = Promise.withResolvers();
    const { runId } = startedRun(
      await api.call('runAutomationWorkflow', { params: { id }, body: { payload: { address } } }),
    );
    await expect.poll(() => asked).toBeGreaterThan(0);
    if (round % 4 === 3) {
      // Crashes while the email is sent.
      const crashed = Promise.withResolvers<void>();
      onMail = () => {
        onMail = () => undefined;
        crashed.resolve(postgres.crash());
      };
      answer.resolve();
      await crashed.promise;
    } else {
      // Crashes while the model generates its answer.
      await postgres.crash();
      const isHeld = async () =>
        (await postgres.query('SELECT 1 FROM runs WHERE id = $1 AND holder_id IS NOT NULL', [runId])).length > 0;
      // The first worker continues with its answer while a second one has the run.
      await until(
        async () => asked > 1 || (await isHeld()),
        () => 'no worker claimed the run after the crash',
      );
      answer.resolve();
    }
    for (const { url } of hubs) await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200);
    ends.push((await settledRun(api, runId)).status);
    if (asked > 1) lostClaims += 1;
  }

  expect(lostClaims).toBeGreaterThan(0);
  expect(await Promise.all(hubs.map((hub) => hub.stop()))).toEqual([0, 0]);
  expect(mail.mails.map(({ to }) => to.join()).toSorted()).toEqual(addresses.toSorted());
  expect(ends).toEqual(addresses.map(() => 'succeeded'));
});
