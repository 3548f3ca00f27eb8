import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findTool } from '../../node-agent/runtime/commands/media-tool.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startVirtualScreen } from '../fixtures/virtual-screen.ts';
import type { VirtualScreen } from '../fixtures/virtual-screen.ts';

const canCapture = findTool('Xvfb') !== null && findTool('ffmpeg') !== null;
const hostile = '<img src=x onerror=alert(1)>\u202Egpj.exe';
const shownHostile = '<img src=x onerror=alert(1)>⟨U+202E⟩gpj.exe';

describe.skipIf(!canOpenDashboard)('the nodes of the dashboard (needs Chromium)', () => {
  let hub: TestHub;
  let browser: Browser;
  let workspace: TestWorkspace;
  let companion: TestCompanion;
  let screen: VirtualScreen | undefined;
  beforeAll(async () => {
    hub = await startHub({ NODE_HEARTBEAT_SECONDS: '2', SESSION_RATE_LIMIT_PER_MINUTE: '100000' });
    workspace = await hub.workspace('Harbour');
    screen = canCapture ? await startVirtualScreen() : undefined;
    companion = await startCompanion(hub, workspace, {
      allow: ['screen', 'system'],
      env: screen === undefined ? {} : { DISPLAY: screen.display },
    });
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await companion?.[Symbol.asyncDispose]();
    screen?.[Symbol.dispose]();
    await hub?.[Symbol.asyncDispose]();
  });
  const open = (path: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
    openDashboard(browser, path, { hubUrl: hub.url, session: workspace.jwt, ...options });
  const pathOf = (tab = '', nodeId = companion.nodeId) => `/app/nodes/${nodeId}${tab === '' ? '' : `/${tab}`}`;
  /** The row of a table that begins with a text. */
  const rowOf = (page: Page, name: string) =>
    page.getByRole('row').filter({ has: page.getByRole('rowheader').filter({ hasText: name }) });

  /** A device that reports what it wants. */
  async function fakeDevice(name: string, powers?: object) {
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
    const device = { name, platform: 'linux', arch: 'x64', osVersion: hostile, appVersion: '0.1', capabilities: [] };
    const { deviceSecret } = await hub.client('').call('claimAutomationNode', { body: { pairingCode, device } });
    await hub.client(deviceSecret).call('heartbeatAutomationNode', {
      params: { id: nodeId },
      body: { device: { ...device, powers } as typeof device },
    });
    return nodeId;
  }

  test('the list shows a machine with its state and powers, and that it goes and comes, without a reload', async () => {
    await using tab = await open('/app/nodes');
    await tab.page.evaluate('window.isSameDocument = true');
    const row = rowOf(tab.page, 'test machine');
    await row.getByText('Online').waitFor();
    await row.getByText('Files: Works').waitFor();
    await row.getByText('Camera: The owner does not allow it').waitFor();
    await companion.stop();
    await row.getByText('Offline').waitFor();
    await companion.start();
    await row.getByText('Online').waitFor();
    expect(await tab.page.evaluate('window.isSameDocument')).toBe(true);
  });

  test('permissions show the hub, the owner and the system, and what to do where one of them refuses', async () => {
    await using tab = await open(pathOf('permissions'));
    const { page } = tab;
    const camera = rowOf(page, 'Camera');
    await camera.getByText('npx outrigger-companion allow camera').waitFor();
    await camera.getByText('The owner does not allow it').waitFor();
    const programs = rowOf(page, 'Programs');
    await programs.getByText('With approval').waitFor();
    await programs.getByRole('switch').click();
    await programs.getByText('The switch of the hub is off').waitFor();
    const read = () => workspace.api.call('getAutomationNode', { params: { id: companion.nodeId } });
    expect((await read()).allowSystem).toBe(false);
    await programs.getByRole('switch').click();
    await programs.getByText('With approval').waitFor();
    expect((await read()).allowSystem).toBe(true);
    await companion.cli('allow', 'camera', '--for', '2h');
    await camera.getByText('Allowed until').waitFor();
    await companion.cli('deny', 'camera');
    await camera.getByText('npx outrigger-companion allow camera').waitFor();
    await companion.cli('pause');
    await page.getByText('The owner paused this machine.').waitFor();
    await companion.cli('resume');
    await page.getByText('The owner paused this machine.').waitFor({ state: 'hidden' });
  });

  test('a role that may not change a node sees the switches and is told why it cannot use them', async () => {
    const { tenantId } = workspace;
    const agent = { email: 'ben@harbour.example', password: 'correct horse battery' };
    await workspace.session.call('addMember', { params: { tenantId }, body: { ...agent, role: 'agent' } });
    onTestFinished(async () => {
      const { data } = await workspace.session.call('listMembers', { params: { tenantId } });
      const id = data.find(({ email }) => email === agent.email)?.id as string;
      await workspace.session.call('removeMember', { params: { tenantId, userId: id } });
    });
    const { token } = await hub.client().call('logIn', { body: agent });
    await using tab = await open(pathOf('permissions'), { session: token });
    const { page } = tab;
    await rowOf(page, 'Programs').getByRole('switch').waitFor();
    expect(await rowOf(page, 'Programs').getByRole('switch').isDisabled()).toBe(true);
    const revoke = page.getByRole('button', { name: 'Revoke' });
    expect([await revoke.isDisabled(), await revoke.getAttribute('title')]).toEqual([
      true,
      'Your role does not allow this.',
    ]);
  });

  test('the console runs a program once for a double click, waits for its approval, and shows its output as text', async () => {
    await using tab = await open(`${pathOf('console')}?skill=system.run`);
    const { page } = tab;
    const before = (await workspace.api.call('listAutomationRuns')).data.length;
    await page.getByText('A person must approve it first.').waitFor();
    const entry = (number: number) => page.getByRole('textbox', { name: `Entry ${number}`, exact: true });
    await entry(1).fill('printf');
    const list = page.getByRole('group', { name: 'Program and arguments' });
    await list.getByRole('button', { name: 'Add' }).click();
    await entry(2).fill(String.raw`\033[31m%s\033[0m<b>x</b>\342\200\256gpj`);
    await list.getByRole('button', { name: 'Add' }).click();
    await entry(3).fill('y'.repeat(20_000));
    await page.getByRole('button', { name: 'Run on test machine' }).dblclick();
    const link = page.getByRole('link', { name: 'Open the approval' });
    const id = (await link.getAttribute('href'))?.split('/').at(-1) as string;
    await workspace.session.call('decideAutomationApproval', { params: { id }, body: { decision: 'approved' } });
    const output = page.getByLabel('Standard output');
    await output.getByText('⟨U+001B⟩[31myyy').waitFor();
    const text = await output.textContent();
    expect(text).toContain('⟨U+001B⟩[0m<b>x</b>⟨U+202E⟩gpj');
    expect(text?.length).toBeGreaterThan(20_000);
    expect((await workspace.api.call('listAutomationRuns')).data.length).toBe(before + 1);
  });

  test.skipIf(!canCapture)(
    'the console and the overview show the picture of the real screen (needs Xvfb and ffmpeg)',
    async () => {
      await using tab = await open(`${pathOf('console')}?skill=node.capture_screen`);
      const { page } = tab;
      await page.getByRole('button', { name: 'Run on test machine' }).click();
      const picture = page.getByRole('img', { name: /^screen/ });
      await expect
        .poll(() => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth))
        .toBe(800);
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('img', { name: 'Picture of the screen' }).waitFor();
    },
  );

  test('errors land on their fields: those that the page finds, and those of the hub', async () => {
    await using tab = await open(`${pathOf('console')}?skill=browser.click`);
    const { page } = tab;
    const run = page.getByRole('button', { name: 'Run on test machine' });
    // The only field of a ping has no effect.
    await page.getByRole('combobox', { name: 'Command' }).selectOption('node.ping');
    await run.waitFor();
    expect(await page.getByRole('textbox', { name: 'Path' }).count()).toBe(0);
    await page.getByRole('combobox', { name: 'Command' }).selectOption('browser.click');
    const selector = page.getByRole('textbox', { name: 'CSS selector' });
    await run.click();
    await page.getByText('Fill in this field.').waitFor();
    expect(await selector.getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('combobox', { name: 'Given as' }).selectOption('Role');
    await page.getByRole('textbox', { name: 'Role' }).fill('Button');
    await run.click();
    await page.getByText('This does not have the required form.').waitFor();
    await page.getByRole('combobox', { name: 'Command' }).selectOption('system.run');
    const group = page.getByRole('group', { name: 'Program and arguments' });
    await group.waitFor();
    await run.click();
    await page.getByText('the program must not be empty').waitFor();
    expect(await group.textContent()).toContain('the program must not be empty');
  });

  test('commands are listed by status and page by page, linked to their runs', async () => {
    const ping = () =>
      workspace.api.call('runAutomationSkill', {
        params: { skillId: 'node.ping' },
        body: { input: { nodeId: companion.nodeId } },
      });
    await Promise.all(Array.from({ length: 52 }, ping));
    const params = { id: companion.nodeId };
    const finished = async () =>
      (
        await workspace.api.call('listAutomationNodeCommands', {
          params,
          query: { status: 'succeeded', type: 'node.ping', limit: 100 },
        })
      ).data.length;
    await expect.poll(finished).toBe(52);
    await using tab = await open(`${pathOf('commands')}?status=succeeded`);
    const { page } = tab;
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'To the newest' }).waitFor();
    await expect.poll(() => page.getByRole('row').count()).toBeLessThan(50);
    await page.getByRole('link', { name: 'To the newest' }).click();
    await expect.poll(() => page.getByRole('row').count()).toBe(51);
    const [newest] = (await workspace.api.call('listAutomationNodeCommands', { params })).data;
    expect(
      await page
        .getByRole('link', { name: /, step 1$/ })
        .first()
        .getAttribute('href'),
    ).toBe(`/app/runs/${newest?.runId}`);
    expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(3_000);
    await page.getByRole('combobox', { name: 'Status' }).selectOption('withdrawn');
    await page.getByText('No command has this status.').waitFor();
    expect(new URL(page.url()).search).toBe('?status=withdrawn');
  });

  test('names and reports of a hostile device stay text, and an earlier companion has unknown powers', async () => {
    const power = {
      isAllowed: true,
      until: null,
      asksOwner: false,
      system: { state: 'denied', detail: hostile, remedy: { text: hostile, command: hostile } },
    };
    const [evil, old] = [await fakeDevice(hostile, { camera: power }), await fakeDevice('old machine')];
    await using tab = await open(pathOf('permissions', evil));
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: shownHostile }).waitFor();
    await expect.poll(() => rowOf(page, 'Camera').getByText(shownHostile).count()).toBe(3);
    await page.getByRole('link', { name: 'Nodes', exact: true }).first().click();
    await rowOf(page, shownHostile).getByText('Camera: The system lacks something').waitFor();
    await rowOf(page, 'old machine').getByText('Camera: Unknown').waitFor();
    await page.goto(hub.url + pathOf('permissions', old));
    await page.getByText('This companion does not report its powers.').waitFor();
    expect(await rowOf(page, 'Camera').getByText('Not reported').count()).toBe(2);
    expect(await page.getByRole('img').count()).toBe(0);
  });

  test('a node gets a name and tags, and is revoked only after a confirmation', async () => {
    const id = await fakeDevice('to edit');
    await using tab = await open(pathOf('', id));
    const { page } = tab;
    await page.getByRole('button', { name: 'Name and tags…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('test machine');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('A node of this workspace is called "test machine" already').waitFor();
    await dialog.getByLabel('Name').fill('front desk');
    await dialog.getByLabel('Tags').fill('lobby, two/words  lobby');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('2: must have 1 to 50 letters, digits').waitFor();
    await dialog.getByLabel('Tags').fill('lobby, 2nd-floor  lobby');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'front desk' }).waitFor();
    await page.getByRole('link', { name: 'lobby' }).click();
    await expect.poll(() => page.getByRole('rowheader').allTextContents()).toHaveLength(1);
    await rowOf(page, 'front desk').getByRole('link', { name: '2nd-floor' }).waitFor();
    // A change from elsewhere appears without a reload.
    await workspace.api.call('updateAutomationNode', { params: { id }, body: { tags: ['lobby', 'attic'] } });
    await rowOf(page, 'front desk').getByRole('link', { name: 'attic' }).waitFor();
    await page.getByRole('button', { name: 'Show nodes with any tag' }).click();
    await rowOf(page, 'test machine').waitFor();
    await rowOf(page, 'front desk').getByRole('link', { name: 'front desk' }).click();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const status = async () => (await workspace.api.call('getAutomationNode', { params: { id } })).status;
    expect(await status()).not.toBe('revoked');
    await page.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('heading', { level: 1, name: 'Nodes' }).waitFor();
    expect(await status()).toBe('revoked');
    await expect.poll(() => rowOf(page, 'front desk').count()).toBe(0);
    await page.goto(hub.url + pathOf('permissions', id));
    await page.getByText('Revoked').waitFor();
    expect(await page.getByRole('button', { name: 'Revoke' }).count()).toBe(0);
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 320],
    ['dark', 320],
  ] as const)('the pages are accessible with the %s theme at %i pixels', async (colorScheme, width) => {
    await using tab = await open('/app/nodes', { colorScheme, viewport: { width, height: 800 } });
    const { page } = tab;
    await rowOf(page, 'test machine').waitFor();
    for (const [path, shown] of [
      ['/app/nodes', 'Last seen'],
      [pathOf(), 'Changes over time'],
      [pathOf('permissions'), 'Browser'],
      [pathOf('commands'), 'Command'],
      [`${pathOf('console')}?skill=system.run`, 'Program and arguments'],
    ] as const) {
      await page.goto(hub.url + path);
      await page.getByText(shown, { exact: true }).first().waitFor({ state: 'attached' });
      expect([path, await accessibilityViolations(page)]).toEqual([path, []]);
      expect([path, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([path, true]);
    }
  });
});
