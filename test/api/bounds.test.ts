import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { keptConnections } from '../fixtures/kept-connections.ts';
import { settledRun } from '../fixtures/settled-run.ts';

/** The response of the server to every request. */
let answer = '{}';
const server = createServer(keptConnections, (request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
});
let hub: TestHub;
let workspace: TestWorkspace;
let address: string;

beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  address = `http://${host}/`;
  hub = await startHub({ EGRESS_ALLOW_HOSTS: host });
  workspace = await hub.workspace();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

async function workflow(...steps: Record<string, unknown>[]): Promise<string> {
  return (await workspace.api.call('createAutomationWorkflow', { body: { name: 'bounds', stepsJson: steps as never } }))
    .id;
}

async function run(id: string, payload: Record<string, unknown> = {}): Promise<Run> {
  const { runId } = startedRun(
    await workspace.api.call('runAutomationWorkflow', { params: { id }, body: { payload } }),
  );
  return settledRun(workspace.api, runId);
}

const large = { text: 'x'.repeat(900_000) };

test('a step that would render more than the limit fails immediately, and its message names the limit', async () => {
  const id = await workflow({
    type: 'skill',
    skillId: 'memory.write',
    input: { key: 'a', value: '{{payload}}'.repeat(12_000) },
  });
  expect(await run(id, large)).toMatchObject({
    status: 'failed',
    error: { code: 'template_error', message: expect.stringContaining('longer than 4194304 characters') as string },
  });
  const whole = await workflow({
    type: 'skill',
    skillId: 'memory.write',
    input: { key: 'a', value: Array.from({ length: 12_000 }, () => '{{payload}}') },
  });
  expect(await run(whole, large)).toMatchObject({
    status: 'failed',
    error: {
      code: 'template_error',
      message: expect.stringContaining('longer than 8388608 characters in total') as string,
    },
  });
});

test('a dry run reports a step that would render too much, and has one limit for all its steps together', async () => {
  const id = await workflow({
    type: 'skill',
    skillId: 'memory.write',
    input: { key: 'a', value: '{{payload}}'.repeat(12_000) },
  });
  const dry = await workspace.api.call('runAutomationWorkflow', {
    params: { id },
    body: { payload: large },
    query: { dryRun: 'true' },
  });
  expect(dry).toMatchObject({
    runnable: false,
    steps: [{ problems: [expect.stringContaining('longer than 4194304 characters') as string] }],
  });
  const many = await workflow(
    ...Array.from({ length: 100 }, () => ({
      type: 'skill',
      skillId: 'memory.write',
      input: { key: 'a', value: '{{payload.text}}' },
    })),
  );
  await expect(
    workspace.api.call('runAutomationWorkflow', {
      params: { id: many },
      body: { payload: large },
      query: { dryRun: 'true' },
    }),
  ).rejects.toMatchObject({ code: 'payload_too_large' });
});

test('an answer that nests too deeply to be stored fails its step with an error that names it, not the hub', async () => {
  answer = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const id = await workflow({ type: 'skill', skillId: 'webhook.deliver', input: { url: address, body: 1 } });
  expect(await run(id)).toMatchObject({
    status: 'failed',
    error: { code: 'unstorable_value', message: expect.stringContaining('nests more than 64 levels') as string },
  });
});

test('templates that nest one deep value in another fail their step with an error that names it', async () => {
  let deep: unknown = 1;
  for (let level = 0; level < 60; level += 1) deep = [deep];
  let around: unknown = '{{payload.deep}}';
  for (let level = 0; level < 60; level += 1) around = [around];
  const id = await workflow({ type: 'skill', skillId: 'memory.write', input: { key: 'a', value: around } });
  const { error } = await run(id, { deep });
  expect(error?.code).not.toBe('internal');
  expect(error?.message).toContain('64 levels');
});

test('a message of a channel that nests too deeply is rejected with an error that names it, not with a server error', async () => {
  let deep: unknown = 1;
  for (let level = 0; level < 63; level += 1) deep = [deep];
  const channel = await workspace.api.call('putAutomationChannel', {
    body: { provider: 'webhook', name: 'in', config: { inboundSecret: 'a secret of sixteen' } },
  });
  await expect(
    workspace.api.call('receiveAutomationChannelMessage', {
      params: { id: channel.id },
      body: { text: 'hi', deep } as never,
    }),
  ).rejects.toMatchObject({ code: 'validation_failed' });
});

test('a rejection lists up to 50 problems of the steps, and counts the others', async () => {
  const value = '{{steps.unknown}}'.repeat(2_000);
  const refused = workspace.api.call('createAutomationWorkflow', {
    body: { name: 'w', stepsJson: [{ type: 'skill', skillId: 'memory.write', input: { key: 'k', value } }] },
  });
  await expect(refused).rejects.toMatchObject({
    code: 'workflow_invalid',
    message: expect.stringContaining('(and 1999 more)') as string,
    details: { length: 50 },
  });
});
