import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { findBrowser } from '../../node-agent/runtime/commands/browser/find-browser.ts';
import { ControlClient } from '../../node-agent/runtime/control/client.ts';
import { DataFolder } from '../../node-agent/runtime/data-folder.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { processesWith, startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let companion: TestCompanion;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
  companion = await startCompanion(hub, workspace, { allow: ['system', 'browser'], start: false });
});
afterAll(async () => {
  await companion[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

interface Row {
  part: string;
  state: string;
  detail: string;
}

test('the owner tests parts by name, and each part reports its result', async () => {
  const { code, stdout } = await companion.cli('test', 'hub', 'system', 'screen', '--json');
  const results = JSON.parse(stdout) as Row[];
  expect(results.map(({ part, state }) => `${part} ${state}`)).toEqual(['hub passed', 'system passed', 'screen off']);
  expect(results[0]?.detail).toContain(hub.url);
  expect(code).toBe(0);
  const table = await companion.cli('test', 'system', 'screen');
  expect(table.stdout.split('\n')).toEqual([
    expect.stringMatching(/^passed {2}system {2}/),
    expect.stringMatching(/^off {5}screen {2}.*outrigger-companion allow screen$/),
    '',
  ]);
  // The audit log contains only commands of a hub.
  const audit = JSON.parse((await companion.cli('audit', '--json')).stdout) as { type: string }[];
  expect(audit.filter(({ type }) => !type.startsWith('owner.'))).toEqual([]);
});

test('the command exits with 1 if a test fails, and with 2 for an unknown part', async () => {
  await using stranger = await startCompanion(hub, workspace, { allow: [], start: false });
  await stranger.cli('unpair');
  const { code, stdout } = await stranger.cli('test', 'hub');
  expect(code).toBe(1);
  expect(stdout).toContain('not paired; pair it with: outrigger-companion pair');
  expect((await stranger.cli('test', 'kitchen')).code).toBe(2);
});

test.skipIf(findBrowser(undefined) === null)(
  'a running companion tests with its own browser, and deletes sent pictures if the owner keeps none (needs Chrome, Edge or Chromium)',
  async () => {
    await using running = await startCompanion(hub, workspace, { allow: ['browser'] });
    const { stdout } = await running.cli('test', 'browser', 'hub', '--json');
    const results = JSON.parse(stdout) as (Row & { picture: { contentType: string } | null })[];
    expect(results.map(({ part, state }) => `${part} ${state}`)).toEqual(['browser passed', 'hub passed']);
    expect(results[0]?.picture?.contentType).toMatch(/^image\//);
    // The browser of the test does not block the profile for commands.
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'look',
        stepsJson: [
          {
            type: 'skill',
            skillId: 'browser.navigate',
            input: { nodeId: running.nodeId, url: hub.url.replace('127.0.0.1', 'localhost') },
          },
          { type: 'skill', skillId: 'browser.screenshot', input: { nodeId: running.nodeId } as never },
        ],
      },
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    const run = await settledRun(workspace.api, runId);
    expect(run).toMatchObject({ status: 'succeeded' });
    using control = (await ControlClient.open(new DataFolder(running.home))) as ControlClient;
    const entries = (await control.call('history', {})).entries.filter(({ type }) => !type.startsWith('owner.'));
    expect(entries).toMatchObject([
      { type: 'browser.screenshot', outcome: 'succeeded', hasPicture: true },
      { type: 'browser.navigate', outcome: 'succeeded', hasPicture: false },
    ]);
    const commandId = entries[0]?.commandId as string;
    const picture = await control.call('picture', { commandId });
    expect(Buffer.from(picture.base64, 'base64').subarray(1, 4).toString()).toBe('PNG');
    await control.call('change', { change: 'keep_pictures', keep: false });
    await expect(control.call('picture', { commandId })).rejects.toThrow('not kept any more');
  },
);

test.skipIf(findBrowser(undefined) === null)(
  'a test that is killed leaves no browser behind (needs Chrome, Edge or Chromium)',
  async () => {
    const profile = join(companion.home, 'browser-profile');
    const tested = spawn(process.execPath, [resolve('node-agent/runtime/cli.ts'), 'test', 'browser'], {
      env: { ...process.env, OUTRIGGER_COMPANION_HOME: companion.home },
      stdio: 'ignore',
    });
    onTestFinished(() => {
      tested.kill('SIGKILL');
    });
    await until(
      () => processesWith(`--user-data-dir=${profile}`).length > 0,
      () => 'the browser did not start',
    );
    tested.kill('SIGKILL');
    await expect.poll(() => processesWith(`--user-data-dir=${profile}`)).toEqual([]);
  },
);
