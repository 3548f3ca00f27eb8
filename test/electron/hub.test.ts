import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBrowser } from '../../node-agent/runtime/commands/browser/find-browser.ts';
import { findTool } from '../../node-agent/runtime/commands/media-tool.ts';
import type { HistoryEntry } from '../../shared/companion/state.ts';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { processesWith, startCompanion } from '../fixtures/companion.ts';
import { electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { freePort } from '../fixtures/free-port.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';
import { startApp } from './app.ts';
import type { TestApp } from './app.ts';
import { hasDesktop, startDesktop } from './desktop.ts';
import type { TestDesktop } from './desktop.ts';

const markup = '<img src=x onerror="document.title=1"><b>bold</b>';

describe.skipIf(electronPath === null || !hasDesktop)(`the app and its hub ${needsElectron}`, () => {
  let desktop: TestDesktop;
  let hub: TestHub;
  let workspace: TestWorkspace;
  let app: TestApp;
  let nodeId: string;
  beforeAll(async () => {
    [desktop, hub] = await Promise.all([startDesktop(), startHub({ RATE_LIMIT_PER_MINUTE: '100000' })]);
    workspace = await hub.workspace();
    app = await startApp(desktop);
    const node = await workspace.api.call('createAutomationNode', { body: { allowBrowser: true } });
    nodeId = node.nodeId;
    await app.call('pair', { code: node.pairingCode, hub: hub.url, secretInFile: true });
    await until(
      async () => (await app.companion())?.connection.isUp === true,
      () => 'the companion did not connect',
    );
  });
  afterAll(async () => {
    await app?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
    await desktop?.[Symbol.asyncDispose]();
  });

  async function run(skillId: string, input: Record<string, unknown> = {}): Promise<Run> {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'app', stepsJson: [{ type: 'skill', skillId, input: { nodeId, ...input } as never }] },
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    return settledRun(workspace.api, runId);
  }
  const history = async () => {
    const answer = await app.call('history', { limit: 50 });
    return (answer as { result: { entries: HistoryEntry[] } }).result.entries;
  };

  test.skipIf(findTool('ffmpeg') === null)(
    'a workflow captures the screen after the owner allows it, and the window shows the picture (needs ffmpeg)',
    async () => {
      expect(await run('node.capture_screen')).toMatchObject({ error: { code: 'denied_by_device' } });
      await app.call('change', { change: 'allow', power: 'screen' });
      const done = await run('node.capture_screen', { format: 'jpeg' });
      expect(done.stepsResultJson[0]?.output).toMatchObject({ contentType: 'image/jpeg', width: 1280, height: 800 });
      await expect.poll(async () => (await history())[0]).toMatchObject({ outcome: 'succeeded', hasPicture: true });
      const [entry] = await history();
      const answer = await app.call('picture', { commandId: entry?.commandId });
      expect(answer).toMatchObject({ result: { contentType: 'image/jpeg' } });
    },
  );

  test('the window shows HTML from a hub as text', async () => {
    await run('node.files_list', { path: `/${markup}` });
    await expect.poll(async () => JSON.stringify(await history())).toContain('<b>bold</b>');
    await app.page.getByRole('navigation').getByText('Activity').click();
    await expect.poll(() => app.page.locator('body').innerText()).toContain('<b>bold</b>');
    expect(await app.page.locator('img[src="x"]').count()).toBe(0);
    expect(await app.page.title()).not.toBe('1');
  });

  test('the companion disconnects when the hub is killed and reconnects when the hub is back', async () => {
    await using database = await acquireDatabase();
    const home = await mkdtemp(join(tmpdir(), 'outrigger-hub-'));
    const env = {
      PORT: String(await freePort()),
      DATABASE_URL: database.url,
      OUTRIGGER_HOME: home,
      SECRET_KEY: 'ab'.repeat(32),
    };
    try {
      const first = await startHubProcess(env);
      const { pairingCode } = JSON.parse(await cli(env, 'node', 'pair', '--json')) as { pairingCode: string };
      await using other = await startApp(desktop);
      await other.call('pair', { code: pairingCode, hub: first.url, secretInFile: true });
      const isUp = async () => (await other.companion())?.connection.isUp;
      await expect.poll(isUp).toBe(true);
      await first.kill();
      await expect.poll(isUp).toBe(false);
      expect((await other.companion())?.connection.lastError).toEqual(expect.any(String));
      const second = await startHubProcess(env);
      await expect.poll(isUp).toBe(true);
      await second.kill();
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  test('the app attaches to a running companion, and each keeps running when the other ends', async () => {
    await using headless = await startCompanion(hub, workspace);
    const { pid } = headless.process() as { pid: number };
    await using beside = await startApp(desktop, { dataFolder: headless.home });
    expect((await beside.appState()).runtime.state).toBe('attached');
    expect(await beside.companion()).toMatchObject({ pid, connection: { isUp: true } });
    await headless.stop();
    await expect.poll(async () => (await beside.appState()).runtime.state).toBe('running');
    await expect.poll(async () => (await beside.companion())?.connection.isUp).toBe(true);
    expect((await beside.companion())?.pid).not.toBe(pid);
    // While the companion of the app runs, another companion is refused.
    const second = await headless.cli('run');
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('Another companion') as string });
    await beside.electron.evaluate(({ app: its }) => its.quit()).catch(() => undefined);
    await beside.ended;
    await headless.start();
    await using again = await startApp(desktop, { dataFolder: headless.home });
    expect((await again.appState()).runtime.state).toBe('attached');
    await again.kill();
    expect((await headless.cli('status', '--json')).stdout).toContain('"connected": true');
  });

  test.skipIf(findBrowser(undefined) === null)(
    'all processes of a workflow end when the app is killed (needs Chromium)',
    async () => {
      const node = await workspace.api.call('createAutomationNode', { body: { allowBrowser: true } });
      await using killed = await startApp(desktop);
      await killed.call('pair', { code: node.pairingCode, hub: hub.url, secretInFile: true });
      await killed.call('change', { change: 'allow', power: 'browser', withoutSandbox: process.getuid?.() === 0 });
      await killed.call('change', { change: 'browser_hosts', privateHosts: ['localhost'] });
      const opened = await run('browser.navigate', { nodeId: node.nodeId, url: `${hub.url}/healthz` });
      expect(opened).toMatchObject({ status: 'succeeded' });
      const profile = join(killed.dataFolder, 'browser-profile');
      expect(processesWith(profile).length).toBeGreaterThan(0);
      await killed.kill();
      await expect.poll(() => processesWith(killed.dataFolder)).toEqual([]);
    },
  );
});
