import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { controlMethods } from '../../shared/companion/control.ts';
import type { ControlEvent, ControlMethodName } from '../../shared/companion/control.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { CompanionStandIn } from '../../test/fixtures/companion-stand-in.ts';
import { startWindowHost } from '../../test/fixtures/companion-window.ts';
import type { WindowBackend } from '../../test/fixtures/companion-window.ts';
import { startHub } from '../../test/fixtures/hub.ts';
import type { TestWorkspace } from '../../test/fixtures/hub.ts';
import { findPageBrowser } from '../../test/fixtures/page-browser.ts';
import { endsWithThisProcess } from '../../test/fixtures/processes.ts';
import { settledRun } from '../../test/fixtures/settled-run.ts';
import { until } from '../../test/fixtures/until.ts';
import { ControlClient } from '../runtime/control/client.ts';
import { CompanionError, DataFolder } from '../runtime/data-folder.ts';

const browser = findPageBrowser();
const urlOf = (path: string) => JSON.stringify(pathToFileURL(resolve(path)).href);

/** Starts a companion that keeps running without a paired hub, as the app does. Resolves to a control channel client. */
async function startUnpaired(folder: DataFolder): Promise<ControlClient> {
  const program = `
    import { onStopRequest } from ${urlOf('shared/node/process-lifetime.ts')};
    import { Supervisor } from ${urlOf('node-agent/runtime/supervisor.ts')};
    import { DataFolder } from ${urlOf('node-agent/runtime/data-folder.ts')};
    const stop = new AbortController();
    onStopRequest({ onStop: () => stop.abort() });
    await new Supervisor({
      folder: new DataFolder(${JSON.stringify(folder.path)}),
      host: null,
      staysUnpaired: true,
      signal: stop.signal,
      onEvent: () => undefined,
    }).run();`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, ...endsWithThisProcess() },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  let client: ControlClient | null = null;
  await until(
    async () => (client = await ControlClient.open(folder).catch(() => null)) !== null,
    () => `the companion does not listen: ${stderr}`,
  );
  return client as unknown as ControlClient;
}

/** Starts a workflow that runs one program, and approves the program at the hub. Resolves to the ID of the run. */
async function beginApproved({ api, session }: TestWorkspace, input: object): Promise<string> {
  const { id } = await api.call('createAutomationWorkflow', {
    body: { name: 'asks', stepsJson: [{ type: 'skill', skillId: 'system.run', input: input as never }] },
  });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
  expect((await settledRun(api, runId)).status).toBe('waiting_approval');
  const { data } = await api.call('listAutomationApprovals', { query: { status: 'pending', runId } });
  await session.call('decideAutomationApproval', {
    params: { id: data[0]?.id as string },
    body: { decision: 'approved' },
  });
  return runId;
}

/** The companion behind its control channel. Methods of the app are answered by a stand-in. */
function behind(client: ControlClient, app: CompanionStandIn): WindowBackend {
  const listeners = new Set<(event: ControlEvent) => void>();
  return {
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async answer(method, params) {
      if (!Object.hasOwn(controlMethods, method)) return app.answer(method, params);
      const name = method as ControlMethodName;
      try {
        if (name === 'subscribe')
          return { result: await client.subscribe((event) => listeners.forEach((listener) => listener(event))) };
        return { result: await client.call(name, params as never) };
      } catch (error) {
        if (error instanceof CompanionError) return { error: { code: 'failed', message: error.message } };
        throw error;
      }
    },
  };
}

describe.skipIf(browser === null)('the window with a real companion (needs Chromium)', () => {
  test('pairs the companion, allows a power, answers a prompt with its origin, shows the command in the log, and pauses', async () => {
    const home = mkdtempSync(join(tmpdir(), 'outrigger-window-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
    await using hub = await startHub();
    const workspace = await hub.workspace('Boats');
    await using host = await startWindowHost(browser?.path as string);
    using client = await startUnpaired(new DataFolder(join(home, 'data')));
    await using opened = await host.open(behind(client, new CompanionStandIn()));
    const { page } = opened;
    const status = () => page.getByRole('status').first().textContent();

    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: { allowSystem: true } });
    await page.getByLabel('Address of the hub').fill(hub.url);
    await page.getByLabel('Pairing code').fill('WRNG-CODE');
    await page.getByRole('checkbox', { name: /a file that only I can read/ }).check();
    await page.getByRole('button', { name: 'Pair', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Pairing code').fill(pairingCode.toLowerCase());
    await page.getByRole('button', { name: 'Pair', exact: true }).click();
    await expect.poll(status).toContain(`Connected${new URL(hub.url).host}`);

    await page.getByRole('tab', { name: 'Permissions' }).click();
    await page.getByRole('switch', { name: 'Allow programs' }).click();
    await expect
      .poll(() => page.getByRole('switch', { name: 'Ask me before each program' }).getAttribute('aria-checked'))
      .toBe('true');

    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'asks',
        stepsJson: [
          {
            type: 'skill',
            name: 'greet',
            skillId: 'system.run',
            input: { nodeId, argv: ['echo', 'two words'], cwd: home } as never,
          },
        ],
      },
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    const run = () => settledRun(workspace.api, runId);
    expect((await run()).status).toBe('waiting_approval');
    const { data } = await workspace.api.call('listAutomationApprovals', { query: { status: 'pending', runId } });
    await workspace.session.call('decideAutomationApproval', {
      params: { id: data[0]?.id as string },
      body: { decision: 'approved', note: 'To greet the crew' },
    });
    const dialog = page.getByRole('alertdialog', { name: 'May this program run?' });
    await dialog.waitFor();
    expect(await dialog.locator('.argv li').allTextContents()).toEqual(['"echo"', '"two words"']);
    const facts = await dialog.locator('.facts.exact > dt, .facts.exact > dd').allTextContents();
    const origin = facts.slice(facts.indexOf('Workspace'), facts.indexOf('Input'));
    expect(origin).toEqual([
      'Workspace',
      'Boats',
      'Workflow',
      'asks',
      'Run',
      `${runId}, step 1 (greet)`,
      'Started by',
      'test (API key)',
      'Approved by',
      `${workspace.email} (user)`,
      'Reason',
      'To greet the crew',
    ]);
    const allow = page.getByRole('button', { name: 'Allow once' });
    await expect.poll(() => allow.getAttribute('aria-disabled')).toBe('false');
    await allow.click();
    await dialog.waitFor({ state: 'detached' });
    expect((await settledRun(workspace.api, runId)).status).toBe('succeeded');

    await page.getByRole('tab', { name: 'Activity' }).click();
    await expect
      .poll(() => page.locator('.command-row').allTextContents())
      .toEqual([
        expect.stringMatching(/^Run a programDone.*two words/),
        expect.stringMatching(/^You decided about a programallowed once: echo "two words"/),
        expect.stringMatching(/^You changed a settingallow system/),
        expect.stringMatching(/^You changed a settingpair with http/),
      ]);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await expect.poll(status).toContain('Paused');
    expect((await client.call('state', {})).settings.paused).toBe(true);
    await page.getByRole('tab', { name: 'Overview' }).click();
    const programs = page.locator('.tile', { hasText: 'Programs' });
    expect(await programs.textContent()).toBe('ProgramsPaused');
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await expect.poll(() => programs.textContent()).toBe('ProgramsAsks you first');
    expect(opened.complaints).toEqual([]);
  });

  test('Refuse all and pause refuses all waiting commands and pauses the companion', async () => {
    const home = mkdtempSync(join(tmpdir(), 'outrigger-window-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
    await using hub = await startHub();
    const workspace = await hub.workspace();
    await using host = await startWindowHost(browser?.path as string);
    using client = await startUnpaired(new DataFolder(join(home, 'data')));
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: { allowSystem: true } });
    await client.call('pair', { code: pairingCode, hub: hub.url, secretInFile: true });
    await client.call('change', { change: 'allow', power: 'system' });
    const files = ['first', 'second', 'third'].map((name) => join(home, name));
    const runIds: string[] = [];
    for (const file of files) runIds.push(await beginApproved(workspace, { nodeId, argv: ['touch', file], cwd: home }));
    await expect.poll(async () => (await client.call('state', {})).prompts).toHaveLength(files.length);
    await using opened = await host.open(behind(client, new CompanionStandIn()));
    const dialog = opened.page.getByRole('alertdialog', { name: 'May this program run?' });
    await dialog.getByText('2 more wait').waitFor();
    await dialog.getByRole('button', { name: 'Refuse all and pause' }).click();
    await dialog.waitFor({ state: 'detached' });
    for (const runId of runIds)
      expect(await settledRun(workspace.api, runId)).toMatchObject({ status: 'failed', error: { code: 'paused' } });
    expect(await client.call('state', {})).toMatchObject({ prompts: [], settings: { paused: true } });
    await opened.page.getByRole('status').getByText('Paused').first().waitFor();
    expect(files.filter((file) => existsSync(file))).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });
});
