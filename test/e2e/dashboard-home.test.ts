import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { startCompanion } from '../fixtures/companion.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { endsWithThisProcess } from '../fixtures/processes.ts';

const companionCli = resolve('node-agent/runtime/cli.ts');
const hostile = '<img src=x onerror=alert(1)>\u202E';

const hasNoSidewaysScroll = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth');
/** The number of a tile, by what it counts. */
const tileOf = (page: Page, label: string) =>
  page.getByRole('main').getByRole('link').filter({ hasText: label }).locator('span').first().innerText();

/** Types a line that the page shows into the shell of a machine, with a data folder of its own. */
function typeIntoShell(line: string, home: string): Disposable {
  const child = spawn('sh', ['-c', line.replaceAll('npx outrigger-companion', `"$NODE" "$COMPANION"`)], {
    detached: true,
    stdio: 'ignore',
    env: {
      ...process.env,
      ...endsWithThisProcess(),
      NODE: process.execPath,
      COMPANION: companionCli,
      OUTRIGGER_COMPANION_HOME: home,
    },
  });
  return {
    [Symbol.dispose]() {
      // The shell and the companion that it started.
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    },
  };
}

describe.skipIf(!canOpenDashboard)('the home page of the dashboard (needs Chromium)', () => {
  let hub: TestHub;
  let browser: Browser;
  beforeAll(async () => {
    hub = await startHub({ NODE_HEARTBEAT_SECONDS: '2' });
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
  });
  const open = (workspace: TestWorkspace, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
    openDashboard(browser, '/app', { hubUrl: hub.url, session: workspace.jwt, ...options });

  test('a newcomer connects this machine, runs a workflow on it and sees the result, without a reload', async () => {
    const workspace = await hub.workspace('Harbour');
    const folder = await mkdtemp(join(tmpdir(), 'outrigger-newcomer-'));
    try {
      await using tab = await open(workspace);
      const { page } = tab;
      let loads = 0;
      page.on('load', () => (loads += 1));
      await page.getByRole('heading', { name: 'Your first minutes' }).waitFor();
      await page.getByText('No approvals, failures or waiting machines.').waitFor();
      expect(await page.getByText('Nothing needs you.').count()).toBe(0);
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByLabel('Name').fill('front-desk');
      await page.getByRole('button', { name: 'Create a code' }).click();
      const code = await page.locator('code[aria-label="Pairing code"]').innerText();
      expect(code).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/);
      const line = await page.locator('code[aria-label="On the machine, run this line"]').innerText();
      expect(line).toBe(`npx outrigger-companion pair ${code} --hub ${hub.url} && npx outrigger-companion run`);
      const qrCode = page.getByRole('img', { name: 'QR code with the link that opens the companion app' });
      expect(await qrCode.locator('path').count()).toBe(1);
      expect(await accessibilityViolations(page)).toEqual([]);
      using _companion = typeIntoShell(line, join(folder, 'data'));
      await page.getByText('This will happen on front-desk').waitFor();
      await page.getByText('The companion lists the names of the folders that the owner shares.').waitFor();
      expect(await workspace.api.call('listAutomationWorkflows')).toMatchObject({ data: [] });
      const create = page.getByRole('button', { name: 'Create and run the workflow' });
      await create.dblclick();
      await page.getByText('Your first workflow ran on front-desk.').waitFor();
      await page.getByText(/^The machine responded after/).waitFor();
      await page.getByText('The owner shares no folder yet.').waitFor();
      const { data } = await workspace.api.call('listAutomationRuns');
      expect(data).toMatchObject([{ status: 'succeeded', workflowName: 'First look at front-desk' }]);
      expect(await page.getByRole('link', { name: 'See the run' }).getAttribute('href')).toBe(
        `/app/runs/${data[0]?.id}`,
      );
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByRole('heading', { name: 'Your first minutes' }).waitFor({ state: 'detached' });
      await expect.poll(() => tileOf(page, 'run ended in 24 hours')).toBe('1');
      // A node whose heartbeat is late is offline for a moment.
      await expect.poll(() => tileOf(page, 'nodes online')).toBe('1 of 1');
      expect(loads).toBe(0);
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  });

  test('a machine without a display says why it takes no picture, not how to allow what its owner allows', async () => {
    const workspace = await hub.workspace('No display');
    const { api } = workspace;
    const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: { name: 'server' } });
    const screen = (isAllowed: boolean) => ({
      isAllowed,
      until: null,
      asksOwner: false,
      system: {
        state: 'missing' as const,
        detail: isAllowed ? 'There is no screen here: neither DISPLAY nor WAYLAND_DISPLAY is set.' : '',
        remedy: isAllowed
          ? { text: 'Start the companion in a desktop session.', command: 'DISPLAY=:0 outrigger-companion run' }
          : null,
      },
    });
    const device = (isAllowed: boolean) => ({
      name: 'server',
      platform: 'linux',
      arch: 'x64',
      osVersion: '1',
      appVersion: '1.0.0',
      capabilities: ['node.ping', 'node.files_list'],
      powers: { screen: screen(isAllowed) },
    });
    const { deviceSecret } = await hub.client().call('claimAutomationNode', {
      body: { pairingCode, device: device(false) },
    });
    /** Reports until the page shows a text: a node without heartbeats goes offline. */
    const reportUntil = async (isAllowed: boolean, text: Locator) => {
      await expect
        .poll(async () => {
          await report(isAllowed);
          return text.count();
        })
        .toBe(1);
    };
    const report = (isAllowed: boolean) =>
      hub.client(deviceSecret).call('heartbeatAutomationNode', {
        params: { id: nodeId },
        body: { device: device(isAllowed) },
      });
    await using tab = await open(workspace);
    const { page } = tab;
    const allow = page.getByText('npx outrigger-companion allow screen');
    await reportUntil(false, allow);
    const refusal = 'The owner allows pictures of the screen, but the machine cannot take one:';
    await reportUntil(true, page.getByText(refusal));
    await page.getByText('There is no screen here: neither DISPLAY nor WAYLAND_DISPLAY is set.').waitFor();
    await page.getByText('Start the companion in a desktop session.').waitFor();
    await page.getByText('DISPLAY=:0 outrigger-companion run').waitFor();
    expect(await allow.count()).toBe(0);
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  test('what needs a person leads to its rows, and numbers are those of the API', async () => {
    const workspace = await hub.workspace('Busy');
    const { api, session } = workspace;
    await using machine = await startCompanion(hub, workspace);
    await mkdir(join(machine.shared, 'Invoices'));
    await writeFile(join(machine.shared, 'note.txt'), 'Hello');
    const create = async (name: string, stepsJson: object[], more: object = {}) =>
      (await api.call('createAutomationWorkflow', { body: { name, stepsJson, ...more } as never })).id;
    const run = async (id: string) => {
      const started = await api.call('runAutomationWorkflow', { params: { id } });
      const runId = 'runId' in started ? started.runId : '';
      await api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 30 } });
      return runId;
    };
    const { nodeId } = machine;
    const failing = await create(`import ${hostile}`, [
      { type: 'skill', skillId: 'node.files_read', input: { nodeId, path: '/etc/shadow' } },
    ]);
    for (let count = 0; count < 2; count += 1) await run(failing);
    await run(
      await create('list', [{ type: 'skill', skillId: 'node.files_list', input: { nodeId, path: machine.shared } }]),
    );
    await run(
      await create('ask', [
        { type: 'approval', title: 'Greet Ann?' },
        { type: 'log', message: 'Hello' },
      ]),
    );
    const hourly = { kind: 'cron', cron: '0 * * * *', timezone: 'UTC' };
    const scheduled = await create('hourly', [{ type: 'log', message: 'Hello' }], {
      triggerJson: { type: 'schedule', schedule: hourly },
    });
    await using tab = await open(workspace);
    const { page } = tab;
    await page.getByText('2 things need you.').waitFor();
    const slo = await session.call('getAutomationSlo', { query: { window: '24h' } });
    expect(slo.runs).toMatchObject({ total: 3, failed: 2 });
    await expect.poll(() => tileOf(page, 'runs ended in 24 hours, 33.3% succeeded')).toBe('3');
    // Each number comes with a response of its own.
    await expect.poll(() => tileOf(page, 'approval waits for you')).toBe('1');
    await expect.poll(() => tileOf(page, 'run in progress')).toBe('1');
    await expect.poll(() => tileOf(page, 'nodes online')).toBe('1 of 1');
    expect(await page.getByRole('heading', { name: 'Your first minutes' }).count()).toBe(0);
    const needs = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Needs a person' }) });
    const failures = needs.getByRole('link', { name: /Failed 2 times/ });
    expect(await failures.innerText()).toContain('import <img src=x onerror=alert(1)>⟨U+202E⟩');
    const [latest] = (await api.call('listAutomationRuns', { query: { status: 'failed' } })).data;
    expect(await failures.getAttribute('href')).toBe(`/app/runs/${latest?.id}`);
    const bar = page.getByRole('link', { name: /runs: 4, failed: 2$/ });
    expect(new URL((await bar.getAttribute('href')) ?? '', hub.url).pathname).toBe('/app/runs');
    expect(await page.getByRole('link', { name: 'hourly' }).getAttribute('href')).toBe(`/app/workflows/${scheduled}`);
    await needs.getByRole('link', { name: /Greet Ann\?/ }).click();
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('region', { name: 'Your decision' }).getByText('Approved').waitFor();
    await page.getByRole('link', { name: 'Home' }).click();
    await page.getByText('One thing needs you.').waitFor();
  });

  test('a failed run needs a person until its retry succeeds', async () => {
    const workspace = await hub.workspace('Retry');
    const { api } = workspace;
    await using machine = await startCompanion(hub, workspace);
    const { id } = await api.call('createAutomationWorkflow', {
      body: {
        name: 'read later',
        stepsJson: [
          {
            type: 'skill',
            skillId: 'node.files_read',
            input: { nodeId: machine.nodeId, path: join(machine.shared, 'later.txt') },
          },
        ],
      } as never,
    });
    const ended = async (runId: string) =>
      (await api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 30 } })).status;
    const started = await api.call('runAutomationWorkflow', { params: { id } });
    const runId = 'runId' in started ? started.runId : '';
    expect(await ended(runId)).toBe('failed');
    await using tab = await open(workspace);
    const { page } = tab;
    const need = page.getByRole('link', { name: /Failed.*read later/ });
    await need.waitFor();
    await writeFile(join(machine.shared, 'later.txt'), 'Hello');
    const retry = await api.call('retryAutomationRun', { params: { id: runId } });
    expect(await ended(retry.id)).toBe('succeeded');
    await need.waitFor({ state: 'detached' });
  });

  test('an offline node for which a run waits needs a person', async () => {
    const workspace = await hub.workspace('Asleep');
    const { api } = workspace;
    await using machine = await startCompanion(hub, workspace);
    await using tab = await open(workspace);
    const { page } = tab;
    await page.getByText('No approvals, failures or waiting machines.').waitFor();
    await machine.stop();
    await expect
      .poll(async () => (await api.call('getAutomationNode', { params: { id: machine.nodeId } })).status)
      .toBe('offline');
    const { id } = await api.call('createAutomationWorkflow', {
      body: {
        name: 'wake',
        stepsJson: [{ type: 'skill', skillId: 'node.ping', input: { nodeId: machine.nodeId, waitMs: 300_000 } }],
      },
    });
    await api.call('runAutomationWorkflow', { params: { id } });
    const row = page.getByRole('link', { name: /One run waits for it/ });
    await row.waitFor();
    expect(await row.innerText()).toContain('test machine');
    expect(await row.getAttribute('href')).toBe(`/app/nodes/${machine.nodeId}`);
  });

  test('a list that could not be read is not taken for nothing to do', async () => {
    const workspace = await hub.workspace('Unreadable');
    await using tab = await open(workspace);
    const { page } = tab;
    await page.getByText('No approvals, failures or waiting machines.').waitFor();
    await page.route('**/automations/approval-summaries?**', (route) =>
      route.fulfill({ status: 403, contentType: 'application/json', body: '{"code":"forbidden","message":"No."}' }),
    );
    await page.reload();
    const needs = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Needs a person' }) });
    await needs.getByRole('button', { name: 'Try again' }).waitFor();
    await expect.poll(() => tileOf(page, 'runs in progress')).toBe('0');
    expect(await page.getByText('No approvals, failures or waiting machines.').count()).toBe(0);
  });

  test('members who are no admins are told who connects machines, and can hide the first minutes', async () => {
    const workspace = await hub.workspace('Two roles');
    const { tenantId, session } = workspace;
    const member = { email: 'cara@harbour.example', password: 'correct horse battery' };
    await session.call('addMember', { params: { tenantId }, body: { ...member, role: 'agent' } });
    const { token } = await hub.client().call('logIn', { body: member });
    await using tab = await open(workspace, { session: token });
    const { page } = tab;
    await page.getByText('Only an admin can connect a machine.').waitFor();
    expect(await page.getByRole('button', { name: 'Create a code' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Hide this' }).click();
    await page.reload();
    await page.getByText('Nothing needs you.').waitFor();
    expect(await page.getByRole('heading', { name: 'Your first minutes' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Connect a machine' }).count()).toBe(0);
  });

  test.each([
    ['light', 320],
    ['dark', 1280],
  ] as const)(
    'home and the dialog that connects machines are accessible with the %s theme at %i pixels',
    async (colorScheme, width) => {
      const workspace = await hub.workspace(`Theme ${colorScheme}`);
      await using tab = await open(workspace, { colorScheme, viewport: { width, height: 740 } });
      const { page } = tab;
      await page.getByRole('button', { name: 'Hide this' }).click();
      await page.getByText('No runs in the last 24 hours.').waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await hasNoSidewaysScroll(page)).toBe(true);
      await page.getByRole('button', { name: 'Connect a machine' }).click();
      const dialog = page.getByRole('dialog', { name: 'Connect a machine' });
      await dialog.getByLabel('Take pictures of its screen').check();
      await dialog.getByRole('button', { name: 'Create a code' }).click();
      await dialog.getByText('allow screen').waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await hasNoSidewaysScroll(page)).toBe(true);
    },
  );
});
