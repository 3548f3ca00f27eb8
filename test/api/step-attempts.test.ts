import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { StepResult } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import type { MailServer } from '../fixtures/mail-server.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import type { Receiver } from '../fixtures/receiver.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let mail: MailServer;
let model: ModelServer;
let receiver: Receiver;
let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  [mail, model, receiver] = await Promise.all([startMailServer(), startModelServer(), startReceiver()]);
  hub = await startHub({
    EGRESS_ALLOW_HOSTS: '127.0.0.1',
    RATE_LIMIT_PER_MINUTE: '1000000',
    SMTP_URL: mail.url,
    MAIL_FROM: 'hub@example.org',
  });
  workspace = await hub.workspace();
  await workspace.api.call('putAutomationModels', {
    body: {
      models: [{ id: 'main', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'alpha', apiKey: 'key' }],
      order: ['main'],
    },
  });
});
afterEach(() => {
  receiver.received.length = 0;
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  for (const server of [mail, model, receiver]) await server[Symbol.asyncDispose]();
});

const retry = { maxAttempts: 3, backoffSeconds: 0, factor: 1 };
const webhook = (more: object = {}) => ({
  type: 'skill',
  skillId: 'webhook.deliver',
  input: { url: receiver.url, body: 1 },
  ...more,
});

async function start(stepsJson: object[]): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } as never });
  return startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id }, body: {} })).runId;
}

async function stepsOf(runId: string): Promise<StepResult[]> {
  return (await settledRun(workspace.api, runId)).stepsResultJson;
}

/** Answers requests with these statuses in turn, and then with 200. */
function refuse(...statuses: number[]): void {
  receiver.answer = (_received, response) =>
    void response.writeHead(statuses[receiver.received.length - 1] ?? 200).end('x');
}

/** Checks the order of the attempts and of their times. Returns the error codes. */
function expectOrder({ attempts, attemptHistory, startedAt, finishedAt }: StepResult): (string | undefined)[] {
  expect(attemptHistory.map(({ attempt }) => attempt)).toEqual(
    Array.from({ length: attempts }, (_, index) => index + 1),
  );
  const times = attemptHistory.flatMap((attempt) => [attempt.startedAt as string, attempt.finishedAt as string]);
  expect(times.every((at) => !Number.isNaN(Date.parse(at)))).toBe(true);
  expect(times.toSorted()).toEqual(times);
  expect([times[0], times.at(-1)]).toEqual([startedAt, finishedAt]);
  return attemptHistory.map(({ error }) => error?.code);
}

test('a webhook step with three attempts shows the time and the error of each, in order', async () => {
  refuse(503, 500);
  const [step] = await stepsOf(await start([webhook({ retry })]));
  expect(step).toMatchObject({ status: 'succeeded', attempts: 3, error: null });
  expect(expectOrder(step as StepResult)).toEqual(['skill_failed', 'skill_failed', undefined]);
  const messages = step?.attemptHistory.map(({ error }) => error?.message);
  expect(messages).toEqual([expect.stringContaining('503'), expect.stringContaining('500'), undefined]);
  expect(new Set(step?.attemptHistory.map(({ startedAt }) => startedAt)).size).toBe(3);
});

test('the last attempt has the error of a step that fails for good', async () => {
  refuse(500, 501, 502);
  const [step] = await stepsOf(await start([webhook({ retry })]));
  expect(step).toMatchObject({ status: 'failed', attempts: 3 });
  expectOrder(step as StepResult);
  const messages = step?.attemptHistory.map(({ error }) => error?.message);
  expect(messages).toEqual(['500', '501', '502'].map((status) => expect.stringContaining(status) as string));
  expect(step?.error?.message).toBe(messages?.[2]);
});

test('mails, agents and steps that end with other work show each attempt, too', async () => {
  const refusals = ['first', 'second'];
  mail.refuse = () => {
    const message = refusals.shift();
    return message === undefined ? null : { code: 451, message };
  };
  const input = { to: ['ann@example.org'], subject: 's', text: 't' };
  const [mailed] = await stepsOf(await start([{ type: 'skill', skillId: 'email.send', input, retry }]));
  expect(mailed?.status).toBe('succeeded');
  expect(expectOrder(mailed as StepResult)).toHaveLength(3);
  expect(mailed?.attemptHistory.map(({ error }) => error === null)).toEqual([false, false, true]);

  // The first failure comes before the first turn of the agent, the second one after it.
  const replies = [{ status: 400 }, 'no final answer yet', { status: 400 }];
  model.reply = () => replies.shift() ?? 'FINAL:done';
  const [asked] = await stepsOf(await start([{ type: 'agent', prompt: 'go', retry }]));
  expect(asked).toMatchObject({ status: 'succeeded', attempts: 3 });
  expect(expectOrder(asked as StepResult).map((code) => code === undefined)).toEqual([false, false, true]);

  // The end of a child run wakes its parent, so its last step is written by itself.
  refuse(503);
  const child = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'child', stepsJson: [webhook({ retry })] as never },
  });
  const parent = await start([{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child.id } }]);
  const [spawning] = await stepsOf(parent);
  const [spawned] = await stepsOf(spawning?.childRunId as string);
  expect(expectOrder(spawned as StepResult)).toEqual(['skill_failed', undefined]);
});

test('a step that waits for its next attempt shows the failed ones, and a cancelled run keeps them', async () => {
  refuse(503);
  const runId = await start([webhook({ retry: { ...retry, backoffSeconds: 600 } })]);
  const read = async () =>
    (await workspace.api.call('getAutomationRun', { params: { id: runId } })).stepsResultJson[0] as StepResult;
  await expect.poll(async () => (await read()).attemptHistory[0]?.finishedAt).toEqual(expect.any(String));
  const waiting = await read();
  expect(waiting).toMatchObject({
    status: 'running',
    attempts: 1,
    attemptHistory: [{ error: { code: 'skill_failed' } }],
  });
  await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
  const cancelled = await read();
  expect(cancelled).toMatchObject({ status: 'failed', error: { code: 'cancelled' } });
  expect(cancelled.attemptHistory).toEqual(waiting.attemptHistory);
});

test('a retry of the run keeps the attempts of the steps that it keeps', async () => {
  refuse(503);
  const runId = await start([webhook({ retry }), { type: 'log', message: '{{payload.x}}' }]);
  const [first] = await stepsOf(runId);
  expect(first?.attempts).toBe(2);
  const again = await workspace.api.call('retryAutomationRun', { params: { id: runId } });
  const [kept] = await stepsOf(again.id);
  expect(kept).toEqual(first);
});

test('the message of an attempt is cut, and has no half character', async () => {
  const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
  const device = { name: 'd', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1' } as const;
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: { pairingCode, device: { ...device, capabilities: ['node.ping'] } },
  });
  const runId = await start([{ type: 'skill', skillId: 'node.ping', input: { nodeId }, retry }]);
  const node = hub.client(deviceSecret);
  const message = `x${'🦀'.repeat(400)}`;
  const results = [
    { status: 'failed', error: { code: 'failed', message } },
    { status: 'succeeded', output: { pong: true, latencyMs: 1, appVersion: '1' } },
  ];
  for (const body of results) {
    const { commands } = await node.call('pollAutomationNodeCommands', {
      params: { id: nodeId },
      query: { wait: 20, max: 1 } as never,
    });
    const params = { id: nodeId, commandId: commands[0]?.id as string };
    await node.call('completeAutomationNodeCommand', { params, body: body as never });
  }
  const [step] = await stepsOf(runId);
  expect(step?.commands[0]?.error?.message).toBe(message);
  expect(step?.attemptHistory[0]?.error?.message).toBe(`${message.slice(0, 499)}\u{fffd}`);
});

test('a run without a retry sends the statements that it sent before, and keeps no attempt of its own', async () => {
  refuse();
  using recorder = new StatementRecorder(100);
  const runId = await start([webhook({ retry }), { type: 'log', message: 'x' }]);
  await settledRun(workspace.api, runId);
  const written = recorder.statements.filter(
    ({ text }) => /run_steps/.test(text) && /^\s*(?:INSERT|UPDATE)/.test(text),
  );
  expect(new Set(written.map(({ name }) => name))).toEqual(new Set(['write_steps']));
  const rows = await hub.database.query(
    'select retried_attempts, attempt_started_at from run_steps where run_id = $1 order by index',
    [runId],
  );
  expect(rows).toEqual([
    { retried_attempts: null, attempt_started_at: null },
    { retried_attempts: null, attempt_started_at: null },
  ]);
});

test('a step whose end waits for a lock does not begin before its run', async () => {
  const limited = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'w', stepsJson: [{ type: 'log', message: 'x' }], limits: { maxConcurrentRuns: 1 } } as never,
  });
  await workspace.api.call('putAutomationPolicy', { body: { errorWorkflowId: limited.id } });
  const holder = new Client({ connectionString: hub.database.url });
  await holder.connect();
  try {
    await holder.query(`BEGIN; SELECT 1 FROM workflows WHERE id = '${limited.id}' FOR UPDATE`);
    const runId = await start([{ type: 'log', message: '{{payload.x}}' }]);
    const waitsForLong = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND state_change < clock_timestamp() - interval '0.5 s'`;
    await expect.poll(() => hub.database.query(waitsForLong)).toHaveLength(1);
    await holder.query('COMMIT');
    const { startedAt, stepsResultJson } = await settledRun(workspace.api, runId);
    expect(stepsResultJson[0]?.status).toBe('failed');
    expect([startedAt, stepsResultJson[0]?.startedAt].toSorted()[0]).toBe(startedAt);
  } finally {
    await holder.end();
    await workspace.api.call('putAutomationPolicy', { body: { errorWorkflowId: null } });
  }
});
