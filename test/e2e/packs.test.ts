import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBrowser } from '../../node-agent/runtime/commands/browser/find-browser.ts';
import { findTool } from '../../node-agent/runtime/commands/media-tool.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import type { MailServer } from '../fixtures/mail-server.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

/** Each pack is installed and runs successfully on a real companion. */

let mail: MailServer;
let model: ModelServer;
let hub: TestHub;
let workspace: TestWorkspace;
let companion: TestCompanion;
let screen: ChildProcess | undefined;
const canCapture = findTool('Xvfb') !== null && findTool('ffmpeg') !== null;
const page = createServer((_request, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Up and well</title><h1>Hello</h1>'),
);
const received: Record<string, unknown>[] = [];
const receiver = createServer((request, response) => {
  let raw = '';
  request.on('data', (chunk: Buffer) => {
    raw += chunk.toString();
  });
  request.on('end', () => {
    received.push(JSON.parse(raw) as Record<string, unknown>);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});
const addressOf = (server: typeof page) => `127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeAll(async () => {
  await Promise.all([page, receiver].map((server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done))));
  mail = await startMailServer();
  model = await startModelServer();
  hub = await startHub({
    SMTP_URL: mail.url,
    MAIL_FROM: 'hub@example.org',
    EGRESS_ALLOW_HOSTS: `${model.host},${addressOf(receiver)}`,
  });
  workspace = await hub.workspace();
  await workspace.api.call('putAutomationModels', {
    body: { models: [{ id: 'm', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'x' }], order: ['m'] },
  });
  let display = '';
  if (canCapture) {
    screen = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '640x480x24', '-nolisten', 'tcp', '-noreset'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    screen.stdout?.on('data', (chunk: Buffer) => {
      display += chunk.toString();
    });
    await until(
      () => display.includes('\n'),
      () => 'Xvfb did not start',
    );
  }
  companion = await startCompanion(hub, workspace, {
    allow: ['system', 'screen', 'browser'],
    ...(display === '' ? {} : { env: { DISPLAY: `:${display.trim()}` } }),
  });
});
afterAll(async () => {
  await companion[Symbol.asyncDispose]();
  screen?.kill('SIGKILL');
  await hub[Symbol.asyncDispose]();
  await Promise.all([mail[Symbol.asyncDispose](), model[Symbol.asyncDispose]()]);
  for (const server of [page, receiver]) {
    server.closeAllConnections();
    server.close();
  }
});

/** Installs a pack, creates its workflow and returns its id. */
async function install(packId: string, inputs: Record<string, unknown>): Promise<string> {
  expect(await workspace.api.call('installAutomationSkill', { body: { packId } })).toMatchObject({ installed: true });
  return (
    await workspace.api.call('createAutomationSkillWorkflow', { params: { packId }, body: { inputs: inputs as never } })
  ).id;
}

const settled = (id: string) => settledRun(workspace.api, id);
const run = async (workflowId: string) =>
  settled(startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId } })).runId);
const logOf = async (runId: string) =>
  (await workspace.api.call('listAutomationLogs', { query: { runId } })).data.map(({ message }) => message);

describe.skipIf(!canCapture)('with a screen (needs Xvfb and ffmpeg)', () => {
  test('the daily screen report takes a picture and emails its address', async () => {
    const done = await run(
      await install('daily-screen-report', { nodeId: companion.nodeId, email: 'ann@example.org' }),
    );
    expect(done.status).toBe('succeeded');
    const artifactId = String((done.stepsResultJson[1]?.output as { artifactId: string } | undefined)?.artifactId);
    expect((await logOf(done.id))[0]).toContain(artifactId);
    expect(mail.mails.at(-1)).toMatchObject({ to: ['ann@example.org'] });
    const picture = await fetch(`${hub.url}/v1/automations/artifacts/${artifactId}`, {
      headers: { 'x-api-key': workspace.key },
    });
    expect(
      Buffer.from(await picture.arrayBuffer())
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  });
});

describe.skipIf(findBrowser(undefined) === null)('with a browser (needs Chrome, Edge or Chromium)', () => {
  test('the site uptime watch takes a picture of a page that is up, and reports a page that is down', async () => {
    const up = await run(
      await install('site-uptime-watch', { nodeId: companion.nodeId, url: `http://${addressOf(page)}/` }),
    );
    expect(up).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [
        { status: 'succeeded' },
        { status: 'succeeded', output: { artifactId: expect.any(String) as string } },
        { status: 'succeeded' },
        { status: 'skipped' },
        {},
      ],
    });
    expect((await logOf(up.id))[0]).toContain('is up: Up and well');
    const down = await run(
      await install('site-uptime-watch', { nodeId: companion.nodeId, url: 'http://127.0.0.1:9/' }),
    );
    expect(down).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [
        { status: 'failed', attempts: 2 },
        { status: 'skipped' },
        { status: 'skipped' },
        { status: 'succeeded' },
        {},
      ],
    });
    expect((await logOf(down.id))[0]).toContain('is down');
  });
});

test('the maintenance command runs exactly the approved command after the approval', async () => {
  const workflowId = await install('maintenance-command', { nodeId: companion.nodeId, argv: ['echo', 'swept $HOME'] });
  const waiting = await run(workflowId);
  expect(waiting.status).toBe('waiting_approval');
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId: waiting.id } });
  expect(data[0]).toMatchObject({ kind: 'system.run', request: { argv: ['echo', 'swept $HOME'] } });
  await workspace.session.call('decideAutomationApproval', {
    params: { id: data[0]?.id as string },
    body: { decision: 'approved' },
  });
  expect((await settled(waiting.id)).status).toBe('succeeded');
  expect(await logOf(waiting.id)).toEqual(['Ended with 0: swept $HOME\n']);
});

test('the file drop watcher reports the files that are new since its last run', async () => {
  const workflowId = await install('file-drop-watcher', { nodeId: companion.nodeId, path: companion.shared });
  await writeFile(join(companion.shared, 'old.txt'), 'old');
  expect(await logOf((await run(workflowId)).id)).toEqual([]);
  await writeFile(join(companion.shared, 'new.txt'), 'new');
  const second = await run(workflowId);
  expect(second.status).toBe('succeeded');
  expect(await logOf(second.id)).toEqual([`New in ${companion.shared}: new.txt`]);
});

test('the weekly digest summarizes the runs of the week', async () => {
  const done = await run(await install('weekly-run-digest', { email: 'ann@example.org' }));
  expect(done.status).toBe('succeeded');
  expect((await logOf(done.id))[0]).toMatch(/^\d+ runs in 7d: \d+ succeeded/);
  expect(mail.mails.at(-1)?.raw).toContain('succeeded');
});

test('the message triage classifies incoming messages and answers the sender', async () => {
  model.reply = ({ messages }) =>
    messages.at(-1)?.content.includes('on fire') === true ? 'The server is on fire: urgent' : 'normal';
  const secret = 'a-secret-for-the-triage';
  const channel = await workspace.api.call('putAutomationChannel', {
    body: {
      provider: 'webhook',
      name: 'Front desk',
      config: { inboundSecret: secret, url: `http://${addressOf(receiver)}/` },
    },
  });
  await install('inbound-message-triage', { channelId: channel.id, provider: 'webhook', answer: 'We are on it.' });
  const { body } = await send(hub.url, 'POST', `/v1/automations/channels/${channel.id}/inbound`, {
    headers: { 'x-service-automation-token': secret },
    body: { from: 'bob', text: 'The server is on fire' },
  });
  const done = await settled((body['runIds'] as string[])[0] as string);
  expect(done.status).toBe('succeeded');
  expect(await logOf(done.id)).toEqual(['From bob: The server is on fire: urgent']);
  expect(received).toMatchObject([{ to: 'bob', text: 'We are on it.' }]);
});

test('the chat triage summarizes an unread message in a note that only agents see', async () => {
  model.reply = () => 'A broken lantern: urgent';
  await install('live-chat-triage', { greeting: 'We have your message.' });
  const chat = hub.client(workspace.keys.chat as string);
  const { conversationId, siteKey, visitorToken } = await chat.call('createChatSession', {
    body: { externalId: 'lantern' },
  });
  const { token } = await hub.client().call('openVisitorSession', { body: { siteKey, token: visitorToken } });
  const visitor = hub.client(token);
  await visitor.call('sendVisitorMessage', { body: { content: 'My lantern broke', clientId: '1' } });
  const written = async () =>
    (
      await workspace.session.call('listInboxMessages', {
        params: { tenantId: workspace.tenantId, id: conversationId },
        query: {},
      })
    ).data.map(({ content, senderType, private: isPrivate }) => [content, senderType, isPrivate]);
  await expect.poll(written).toEqual([
    ['My lantern broke', 'visitor', false],
    ['We have your message.', 'api', false],
    ['A broken lantern: urgent', 'ai', true],
  ]);
  // A message that arrives while the first is unread gets no second note.
  await visitor.call('sendVisitorMessage', { body: { content: 'It is dark', clientId: '2' } });
  await visitor.call('sendVisitorMessage', { body: { content: 'Very', clientId: '3' } });
  expect((await visitor.call('listVisitorMessages', {})).data.map(({ content }) => content)).toEqual([
    'My lantern broke',
    'We have your message.',
    'It is dark',
    'Very',
  ]);
  expect((await written()).filter(([, senderType]) => senderType === 'ai')).toHaveLength(1);
});
