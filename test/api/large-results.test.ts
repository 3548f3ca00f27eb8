import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** Starts a run whose command is leased by a device. */
async function begin() {
  const { api } = await hub.workspace();
  const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: { allowBrowser: true } });
  const device = { name: 'd', platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1', capabilities: [] };
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: { pairingCode, device: device as never },
  });
  const evaluate = { type: 'skill', skillId: 'browser.evaluate', input: { nodeId, expression: '1' } };
  const { id } = await api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: [evaluate] as never } });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} }));
  const { commands } = await hub
    .client(deviceSecret)
    .call('pollAutomationNodeCommands', { params: { id: nodeId }, query: { wait: 20 } });
  const path = `/v1/automations/nodes/${nodeId}/commands/${commands[0]?.id}/result`;
  const authorization = `Bearer ${deviceSecret}`;
  const resultOf = (value: string) =>
    `{"status":"succeeded","output":{"url":"https://example.org/","title":"t","pageId":"p","value":${value}}}`;
  const report = (value: string) =>
    send(hub.url, 'POST', path, {
      headers: { authorization, 'content-type': 'application/json' },
      raw: resultOf(value),
    });
  const reportForm = async (value: string) => {
    const body = new FormData();
    body.set('result', resultOf(value));
    const response = await fetch(hub.url + path, { method: 'POST', headers: { authorization }, body });
    return { status: response.status, body: (await response.json()) as { code?: string } };
  };
  const ended = () => settledRun(api, runId);
  /** Sends a form field and the first byte of a file, and then nothing more. */
  const reportSlowly = async (value: string) => {
    const form = request(hub.url + path, {
      method: 'POST',
      headers: { authorization, 'content-type': 'multipart/form-data; boundary=X' },
    });
    form.on('error', () => undefined);
    const file = 'Content-Disposition: form-data; name="f"; filename="f.txt"\r\nContent-Type: text/plain';
    const head = `--X\r\nContent-Disposition: form-data; name="result"\r\n\r\n${resultOf(value)}\r\n--X\r\n${file}\r\n\r\nx`;
    await new Promise<void>((done) => form.write(head, () => done()));
    onTestFinished(() => {
      form.destroy();
    });
  };
  return { report, reportForm, reportSlowly, ended };
}

const lists = `[${'[],'.repeat(3_500_000)}[]]`;

test('a result with millions of values is rejected before it is parsed, as JSON and as a form', async () => {
  const { report, reportForm, ended } = await begin();
  expect((await report(lists)).body.code).toBe('payload_too_large');
  expect((await reportForm(lists)).body.code).toBe('payload_too_large');
  expect((await report('1')).status).toBe(200);
  expect(await ended()).toMatchObject({ status: 'succeeded' });
});

test('slow results do not prevent other workspaces from sending large bodies', async () => {
  const values = `[${'{},'.repeat(390_000)}{}]`;
  for (const { reportSlowly } of await Promise.all([begin(), begin(), begin(), begin()])) await reportSlowly(values);
  await delay(500);
  const { api } = await hub.workspace();
  const { id } = await api.call('createAutomationWorkflow', {
    body: { name: 'w', stepsJson: [{ type: 'log', message: 'hi' }] },
  });
  const payload = { rows: Array.from({ length: 4_000 }, (_unused, row) => ({ row, name: `row ${row}` })) };
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: { payload } }));
  expect(runId).not.toBe('');
});

test('a command with too large an output fails', async () => {
  const { report, ended } = await begin();
  expect((await report(JSON.stringify('x'.repeat(6 * 1024 * 1024)))).status).toBe(200);
  expect(await ended()).toMatchObject({ status: 'failed', error: { code: 'output_too_large' } });
});
