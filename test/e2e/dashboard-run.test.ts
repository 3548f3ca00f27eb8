import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { plainPng } from '../fixtures/pictures.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addNumberedLogLines, storeLargeOutput } from '../fixtures/stage/automations.ts';

const evil = '<img src=x onerror=alert(1)>\u202Egnp.exe';
const escape = '\u001B';

interface Device {
  nodeId: string;
  client: Client;
}

describe.skipIf(!canOpenDashboard)('the page of a run (needs Chromium)', () => {
  let model: ModelServer;
  let hub: TestHub;
  let workspace: TestWorkspace;
  let browser: Browser;
  beforeAll(async () => {
    model = await startModelServer();
    hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', EGRESS_ALLOW_HOSTS: model.host });
    workspace = await hub.workspace('Harbour');
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
    await model?.[Symbol.asyncDispose]();
  });

  const open = (path: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
    openDashboard(browser, path, { hubUrl: hub.url, session: workspace.jwt, ...options });

  async function start(
    stepsJson: object[],
    { name = 'harbour-report', body = {}, api = workspace.api }: { name?: string; body?: object; api?: Client } = {},
  ): Promise<string> {
    const { id } = await workspace.api.call('createAutomationWorkflow', { body: { name, stepsJson } as never });
    return startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: body as never })).runId;
  }

  const skill = (skillId: string, input: object, more: object = {}) => ({ type: 'skill', skillId, input, ...more });
  const log = (message: string, more: object = {}) => ({ type: 'log', message, ...more });

  /** Pairs a device that the test answers for. */
  async function pair(name: string): Promise<Device> {
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', {
      body: { name, allowSystem: true },
    });
    const { deviceSecret } = await hub.client().call('claimAutomationNode', {
      body: {
        pairingCode,
        device: { name, platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1.0.0', capabilities: [] },
      },
    });
    return { nodeId, client: hub.client(deviceSecret) };
  }

  /** Completes the next command of a device. */
  async function answer({ nodeId, client }: Device, result: object): Promise<void> {
    const { commands } = await client.call('pollAutomationNodeCommands', {
      params: { id: nodeId },
      query: { wait: 20, max: 1 } as never,
    });
    await client.call('completeAutomationNodeCommand', {
      params: { id: nodeId, commandId: commands[0]?.id as string },
      body: result as never,
    });
  }

  const pong = { status: 'succeeded', output: { pong: true, latencyMs: 1, appVersion: '1.0.0' } };
  const file = (name: string, contentType: string, content: Buffer) => ({
    name,
    contentType,
    base64: content.toString('base64'),
  });

  const useModel = () =>
    workspace.api.call('putAutomationModels', {
      body: {
        models: [{ id: 'm', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'alpha' }],
        order: ['m'],
      },
    });

  const lane = (page: Page, name: string) => page.getByRole('listitem').filter({ hasText: name });
  const inspector = (page: Page) => page.getByRole('complementary', { name: 'Selected step' });
  const status = (page: Page, text: string) =>
    page.getByRole('heading', { level: 1 }).locator('xpath=..').getByText(text);

  test('steps, pictures and the status appear as they happen, and an ended run is not read again', async () => {
    const device = await pair('office-pc');
    const { nodeId } = device;
    const runId = await start([
      skill('node.ping', { nodeId }, { name: 'Ping the machine' }),
      skill('node.ping', { nodeId }, { name: 'Ping it again' }),
    ]);
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    await page.getByRole('heading', { name: /office-pc/ }).waitFor();
    await answer(device, {
      ...pong,
      artifacts: [
        file('screen.png', 'image/png', plainPng()),
        file('clip.webm', 'video/webm', Buffer.from('no video')),
        file('sound.wav', 'audio/wav', Buffer.from('no sound')),
        file('page.svg', 'image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')),
      ],
    });
    const first = lane(page, 'Ping the machine');
    const picture = first.getByRole('img', { name: 'Picture screen.png' });
    await picture.waitFor();
    await expect
      .poll(() => page.evaluate(`document.querySelector('img[alt="Picture screen.png"]').naturalWidth`))
      .toBe(8);
    expect(await first.locator('video').count()).toBe(1);
    expect(await first.locator('audio').count()).toBe(1);
    await first.getByRole('link', { name: /page\.svg/ }).waitFor();
    await first.getByRole('button', { name: 'Enlarge screen.png' }).click();
    await page
      .getByRole('dialog', { name: 'Ping the machine' })
      .getByRole('img', { name: 'Picture screen.png' })
      .waitFor();
    await page.keyboard.press('Escape');

    await answer(device, pong);
    await status(page, 'Succeeded').waitFor();
    await expect.poll(() => lane(page, 'Ping it again').getByRole('img', { name: 'Succeeded' }).count()).toBe(1);
    expect(await page.getByRole('heading', { name: /office-pc/ }).count()).toBe(0);
    const reads = () => tab.requests.filter((url) => url.includes(`/runs/${runId}?`)).length;
    const isReadByTabs = async () => {
      const before = reads();
      await page.getByRole('tab', { name: 'Related runs' }).click();
      await page.getByText('Attempt 1 (this run)').waitFor();
      await page.getByRole('tab', { name: 'Logs' }).click();
      await page.getByText('No lines. Log steps and some skills write to the log.').waitFor();
      return reads() !== before;
    };
    // The events of the end can arrive in two parts, so the run can be read once more after it is shown as ended.
    await expect.poll(isReadByTabs).toBe(false);
    expect(tab.requests.filter((url) => /\/runs\/.*\/events|logs\/live/.test(url))).toEqual([]);
  });

  test('the failed step is selected with its error and its attempts, and a replay names what happens again', async () => {
    const device = await pair('lab-pc');
    const { nodeId } = device;
    const runId = await start([
      log('begin', { name: 'Tell the log' }),
      skill('node.ping', { nodeId }, { name: 'Ping the lab', retry: { maxAttempts: 2, backoffSeconds: 0 } }),
      skill('email.send', { to: ['ann@harbour.example'], subject: 's', text: 't' }, { name: 'Mail Ann' }),
      skill('webhook.deliver', { url: 'https://harbour.example/hook', body: {} }, { name: 'Post the report' }),
    ]);
    const fail = {
      status: 'failed',
      error: { code: 'timeout', message: 'the camera is covered' },
    };
    await answer(device, fail);
    await answer(device, fail);
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    await page.getByRole('heading', { name: 'Step 2 failed: Ping the lab' }).waitFor();
    await inspector(page).getByRole('heading', { name: 'Ping the lab' }).waitFor();
    await inspector(page).getByText('the camera is covered').waitFor();
    await inspector(page).getByRole('tab', { name: 'Attempts (2)' }).click();
    await inspector(page).getByRole('heading', { name: 'Attempt 1' }).waitFor();
    expect(await inspector(page).getByText('timeout', { exact: true }).count()).toBe(2);
    expect(
      await inspector(page)
        .getByText(/^Started /)
        .count(),
    ).toBe(2);
    expect(new URL(page.url()).searchParams.get('tab')).toBe('attempts');

    await page.getByRole('button', { name: 'Replay…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay this run' });
    await dialog.getByText('Mail Ann: sends a mail').waitFor();
    await dialog.getByText('Post the report: calls another system').waitFor();
    // Reading from a node and writing to the log change nothing.
    expect(await dialog.getByRole('listitem').count()).toBe(2);
    expect(await dialog.getByRole('option').allTextContents()).toEqual(['1. Tell the log', '2. Ping the lab']);
    await dialog.getByLabel('Start at').selectOption('1. Tell the log');
    await dialog.getByRole('button', { name: 'Start replay' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await expect.poll(() => new URL(page.url()).pathname).not.toContain(runId);
    await page.getByText('Attempt 2', { exact: true }).waitFor();
    await page.getByText('run again by you', { exact: true }).waitFor();

    await page.goto(`${hub.url}/app/runs/${runId}`);
    await page.getByRole('link', { name: 'Open the latest attempt' }).waitFor();
    expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0);
  });

  test('a replay can have another input and the newest version of the workflow', async () => {
    const runId = await start([log('in {{payload.city}}'), log('{{payload.missing}}')], {
      body: { payload: { city: 'Kiel' } },
    });
    const { workflowId } = await settledRun(workspace.api, runId);
    await workspace.api.call('updateAutomationWorkflow', {
      params: { id: workflowId },
      body: { stepsJson: [log('other'), log('mended {{payload.city}}')] as never },
    });
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Replay…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay this run' });
    await dialog.getByLabel('Version').selectOption('Version 2, the newest');
    await dialog.getByRole('button', { name: 'Change the input…' }).click();
    const field = dialog.getByRole('textbox', { name: 'Payload' });
    expect(JSON.parse(await field.inputValue())).toEqual({ city: 'Kiel' });
    await field.fill('{ "city": ');
    expect(await dialog.getByRole('button', { name: 'Start replay' }).isDisabled()).toBe(true);
    await field.fill('{ "city": "Oslo" }');
    expect(await accessibilityViolations(page)).toEqual([]);
    // Step 2 is chosen, and step 1 of version 2 differs.
    await dialog.getByRole('button', { name: 'Start replay' }).click();
    await dialog.getByText('the step at 0 of version 2 differs from that of the run').waitFor();
    await dialog.getByLabel('Start at').selectOption({ index: 0 });
    await dialog.getByRole('button', { name: 'Start replay' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await status(page, 'Succeeded').waitFor();
    await expect.poll(() => page.url()).not.toContain(runId);
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect(
      await workspace.api.call('getAutomationRun', { params: { id }, query: { include: 'inputs' } }),
    ).toMatchObject({ workflowVersion: 2, payload: { city: 'Oslo' } });
    const [total = ''] = (await page.getByText(/: .* working, .* waiting$/).innerText()).split(':');
    await page.getByRole('tab', { name: 'Related runs' }).click();
    await page.getByText('it can have another version or input').waitFor();
    await page.getByRole('listitem').filter({ hasText: 'this run' }).getByText(`· ${total}`).waitFor();
    const attempt = (count: number) => page.getByRole('listitem').filter({ hasText: `Attempt ${count}` });
    await attempt(1).getByText('version 1', { exact: true }).waitFor();
    await attempt(2).getByText('version 2', { exact: true }).waitFor();
  });

  test('a failed run of an older version says so, and offers the newer version with the same input', async () => {
    const runId = await start([skill('node.ping', { node: 'no-such-pc' }, { name: 'Ping' })], {
      body: { payload: { city: 'Kiel' }, context: 'by hand' },
    });
    const { workflowId } = await settledRun(workspace.api, runId);
    await workspace.api.call('updateAutomationWorkflow', {
      params: { id: workflowId },
      body: { stepsJson: [{ type: 'log', message: 'mended' }] },
    });
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    await page.getByText('The workflow now has version 2. A retry runs version 1 again.').waitFor();
    await page.getByRole('button', { name: 'Retry with version 1' }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Run version 2 with the same input' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run version 2' }).click();
    await status(page, 'Succeeded').waitFor();
    await expect.poll(() => page.url()).not.toContain(runId);
    const newRun = await workspace.api.call('getAutomationRun', {
      params: { id: new URL(page.url()).pathname.split('/').at(-1) ?? '' },
    });
    expect(newRun).toMatchObject({ workflowVersion: 2, attempt: 1, payload: { city: 'Kiel' }, context: 'by hand' });
  });

  test('the keyboard continues at the page when the run goes on before the decision is answered', async () => {
    const { nodeId } = await pair('den-pc');
    const runId = await start([skill('system.run', { nodeId, argv: ['uname'] }, { name: 'Run uname' })]);
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    const decided = Promise.withResolvers<void>();
    await page.route(/\/decide$/, async (route) => {
      const response = await route.fetch();
      await decided.promise;
      await route.fulfill({ response });
    });
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: /“Run uname” waits/ }).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    decided.resolve();
  });

  test('an approval is decided on the page, by POST, and the run goes on', async () => {
    const device = await pair('desk-pc');
    const runId = await start([
      skill('system.run', { nodeId: device.nodeId, argv: ['uname', '-a', 'two words'] }, { name: 'Run uname' }),
    ]);
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    await page.getByRole('heading', { name: 'Approve a command on desk-pc?' }).waitFor();
    const rows = page.locator('dt:text-is("Arguments") + dd li');
    expect(await rows.allInnerTexts()).toEqual([
      expect.stringMatching(/^1\s+-a$/),
      expect.stringMatching(/two words$/),
    ]);
    const pending = await workspace.api.call('listAutomationApprovals', { query: { runId } });
    expect(pending.data[0]?.status).toBe('pending');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: /“Run uname” waits/ }).waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    // The banner with the focus is gone, so the keyboard continues at the page.
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    await expect
      .poll(() =>
        lane(page, 'Run uname')
          .getByText(/waiting for the node/)
          .count(),
      )
      .toBe(1);

    await page.getByRole('button', { name: 'Cancel run' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Keep the run' }).click();
    await page.getByRole('button', { name: 'Cancel run' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).click();
    await status(page, 'Cancelled').waitFor();
    expect(await page.getByRole('heading', { name: /“Run uname” waits/ }).count()).toBe(0);
  });

  test('an approval is rejected on the page only after a second press, with the reason', async () => {
    const runId = await start([{ type: 'approval', title: 'Go on?' }]);
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    const reject = page.getByRole('button', { name: 'Reject', exact: true });
    await reject.click();
    await page.getByLabel('Reason').fill('Not now');
    expect((await workspace.api.call('getAutomationRun', { params: { id: runId } })).status).toBe('waiting_approval');
    await reject.click();
    await status(page, 'Failed').waitFor();
    await page
      .getByText(/^Rejected by .*: Not now$/)
      .first()
      .waitFor();
  });

  test('a rejection and the effect of a skill are in the language of the page', async () => {
    const device = await pair('hall-pc');
    const runId = await start([
      { type: 'approval', title: 'Go on?' },
      skill('node.ping', { nodeId: device.nodeId }, { name: 'Ping the office' }),
    ]);
    await settledRun(workspace.api, runId);
    const [approval] = (await workspace.session.call('listAutomationApprovals', { query: { runId } })).data;
    const body = { decision: 'rejected', note: 'Wrong machine' } as const;
    await workspace.session.call('decideAutomationApproval', { params: { id: approval?.id as string }, body });
    for (const [locale, rejection, effect] of [
      ['de', `Abgelehnt von ${workspace.email}: Wrong machine`, 'liest von einem Rechner'],
      ['ar', `رفضه \u2068${workspace.email}\u2069: \u2068Wrong machine\u2069`, 'يقرأ من جهاز'],
    ] as const) {
      await using tab = await open(`/app/runs/${runId}?step=0`, { locale });
      const { page } = tab;
      await expect.poll(() => page.getByText(rejection, { exact: true }).count(), { message: locale }).toBe(2);
      await page.goto(`${hub.url}/app/runs/${runId}?step=1`);
      await page.getByText(effect, { exact: true }).waitFor();
    }
  });

  test('an approval that binds a call shows its skill and input beside the buttons', async () => {
    const runId = await start([
      { type: 'approval', title: 'Send the weather?' },
      skill('email.send', { to: ['all@rival.example'], subject: 'Our secret prices', text: evil }),
    ]);
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    const banner = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Send the weather?' }) });
    await banner.getByRole('button', { name: 'Approve' }).waitFor();
    await banner.getByRole('heading', { name: 'If you approve, exactly this runs' }).waitFor();
    for (const text of ['email.send', 'all@rival.example', 'Our secret prices', '⟨U+202E⟩gnp.exe'])
      await banner.getByText(text).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  test('a user who may not decide an approval sees why, and no buttons', async () => {
    const runId = await start([
      {
        type: 'approval',
        title: 'Leave the harbour?',
        message: 'The storm is near.',
        approvers: ['ben@harbour.example'],
      },
    ]);
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    await page.getByRole('heading', { name: 'Leave the harbour?' }).waitFor();
    await page.getByText('Approvers: ben@harbour.example').waitFor();
    const { data } = await workspace.session.call('listAutomationApprovalSummaries', { query: { runId } });
    await page.getByText(data[0]?.refusal?.message ?? 'no refusal').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await lane(page, 'Approval')
      .getByText(/waiting for ben@harbour\.example/)
      .waitFor();
  });

  test('a run that waits for an offline node, for the owner of a node, for a time or for another run says so, with a link', async () => {
    const device = await pair('boat-pc');
    const childId = (
      await workspace.api.call('createAutomationWorkflow', {
        body: { name: 'child work', stepsJson: [{ type: 'approval', title: 'Go?' }] } as never,
      })
    ).id;
    const waits = [
      await start([skill('node.ping', { nodeId: device.nodeId, waitMs: 300_000 }, { name: 'Ping the boat' })]),
      await start([log('later', { name: 'Tomorrow', delaySeconds: 86_400 })]),
      await start([skill('subagent.spawn', { workflowId: childId }, { name: 'Start the child' })]),
    ];
    await using tab = await open(`/app/runs/${waits[0]}`);
    const { page } = tab;
    await page.getByRole('heading', { name: /boat-pc/ }).waitFor();
    expect(await page.getByRole('link', { name: 'Open the node' }).getAttribute('href')).toBe(
      `/app/nodes/${device.nodeId}`,
    );
    const { commands } = await device.client.call('pollAutomationNodeCommands', {
      params: { id: device.nodeId },
      query: { wait: 20, max: 1 } as never,
    });
    const waitingForOwner = [commands[0]?.id as string];
    await device.client.call('heartbeatAutomationNode', {
      params: { id: device.nodeId },
      body: { facts: { waitingForOwner }, running: waitingForOwner },
    });
    await page
      .getByRole('heading', { name: 'The owner of boat-pc must allow “Ping the boat” at the machine' })
      .waitFor();
    await lane(page, 'Ping the boat').getByText('waiting for the owner of the node').waitFor();
    const banner = page.locator('section').filter({ has: page.getByRole('heading', { name: 'The owner of boat-pc' }) });
    expect(await banner.locator('p').allInnerTexts()).toEqual([
      expect.stringMatching(/First, the owner has 2 minutes to answer\. Without an answer, the step fails\.$/),
      expect.stringMatching(/^If the owner allows it, the node must then finish ./),
    ]);
    await page.goto(`${hub.url}/app/runs/${waits[1]}`);
    await page.getByRole('heading', { name: '“Tomorrow” waits for its set time' }).waitFor();
    await page.goto(`${hub.url}/app/runs/${waits[2]}`);
    await page.getByRole('link', { name: 'Open that run' }).click();
    await page.getByRole('heading', { level: 1, name: 'child work' }).waitFor();
    await page.getByRole('link', { name: `…${waits[2]?.slice(-12)}` }).click();
    await page.getByRole('heading', { level: 1, name: 'harbour-report' }).waitFor();
    await page.getByRole('tab', { name: 'Related runs' }).click();
    await page.getByRole('link', { name: 'child work' }).waitFor();
  });

  test('hostile names and output stay text', async () => {
    const runId = await start(
      [
        log(`${escape}[31mred${escape}[0m ${evil}`, { name: `<b>step</b> ${evil}` }),
        skill('memory.write', { key: 'k', value: { [evil]: evil } }),
      ],
      { name: `name ${evil}`, body: { payload: { [evil]: evil }, context: evil } },
    );
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}?step=1`);
    const { page } = tab;
    const shown = '<img src=x onerror=alert(1)>⟨U+202E⟩gnp.exe';
    await page.getByRole('heading', { level: 1, name: `name ${shown}` }).waitFor();
    await lane(page, `<b>step</b> ${shown}`).waitFor();
    await inspector(page)
      .getByText(String.raw`\u202e`)
      .first()
      .waitFor();
    await page.getByRole('tab', { name: 'Logs' }).first().click();
    await page.getByText(`⟨U+001B⟩[31mred⟨U+001B⟩[0m ${shown}`).waitFor();
    await page.getByRole('tab', { name: 'Run input' }).click();
    await page.getByText('Context').waitFor();
    expect(await page.evaluate(`document.body.innerText.includes('\u202E')`)).toBe(false);
    expect(await page.locator('main img').count()).toBe(0);
  });

  test('a large output is read when it is asked for, and shown whole', async () => {
    const runId = await start([skill('memory.write', { key: 'k', value: 1 }, { name: 'Read the chart' })]);
    await settledRun(workspace.api, runId);
    await storeLargeOutput(hub.database, runId, 0, 4 * 1024 * 1024);
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    await inspector(page).getByText('This value is large. Nothing of it is shown yet.').waitFor();
    const stepReads = () => tab.requests.filter((url) => url.includes(`/runs/${runId}/steps/0`)).length;
    expect(stepReads()).toBe(0);
    await inspector(page).getByRole('button', { name: 'Show the whole value, 4 MB' }).click();
    const output = inspector(page).getByRole('region', { name: 'Output' });
    await output.getByText('"begin"').waitFor();
    await page.evaluate(`document.querySelector('[role=region][aria-label=Output]').scrollTo(0, 1e9)`);
    await output.getByText('"the end"').waitFor();
    expect(await page.evaluate(`document.querySelectorAll('*').length`)).toBeLessThan(3_000);
    expect(stepReads()).toBe(1);
  });

  test('a run of 200 steps stays small, and the keyboard moves the selection', async () => {
    const runId = await start(
      Array.from({ length: 200 }, (_unused, index) => log('x', { name: `Step ${index + 1}.` })),
    );
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}?step=10`);
    const { page } = tab;
    await inspector(page).getByRole('heading', { name: 'Step 11.' }).waitFor();
    expect(await page.evaluate(`document.querySelectorAll('*').length`)).toBeLessThan(3_000);
    await page.getByRole('button', { name: /Step 11\./ }).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await inspector(page).getByRole('heading', { name: 'Step 12.' }).waitFor();
    expect(new URL(page.url()).searchParams.get('step')).toBe('11');
    await page.reload();
    await inspector(page).getByRole('heading', { name: 'Step 12.' }).waitFor();
  });

  test('100,000 log lines scroll with few rows on the page, and new lines are followed', async () => {
    const runId = await start([log('first'), { type: 'approval', title: 'Go on?' }, log('the newest line')]);
    await settledRun(workspace.api, runId);
    await addNumberedLogLines(hub.database, runId, 100_000);
    await using tab = await open(`/app/runs/${runId}?view=logs`);
    const { page } = tab;
    const rows = page.getByRole('region', { name: 'Logs' });
    await rows.getByText('line 100000', { exact: true }).waitFor();
    expect(await page.evaluate(`document.querySelectorAll('*').length`)).toBeLessThan(1_000);
    await page.evaluate(`document.querySelector('[role=region][aria-label=Logs]').scrollTo(0, 0)`);
    await expect.poll(() => rows.getByText('line 99850', { exact: true }).count()).toBe(0);
    await page
      .getByRole('status')
      .getByText(/Newest (?:4|5|6|7|8|9)00 lines/)
      .waitFor();

    await page.getByRole('checkbox', { name: 'Follow new lines' }).check();
    await page.getByRole('button', { name: 'Approve' }).click();
    await rows.getByText('the newest line', { exact: true }).waitFor();
    await rows.getByText('the newest line', { exact: true }).click();
    await page.locator('pre').getByText('the newest line').waitFor();

    await page.getByRole('combobox', { name: 'Level' }).selectOption('error');
    await rows.getByText('line 99900', { exact: true }).waitFor();
    expect(await rows.getByText('line 99999', { exact: true }).count()).toBe(0);
  });

  test('a search in 100,000 lines leads to the place of a line, whose neighbours continue in both directions', async () => {
    const runId = await start([log('first <b>mark</b>'), log(`${escape}[31mred`)]);
    await settledRun(workspace.api, runId);
    await addNumberedLogLines(hub.database, runId, 100_000);
    await using tab = await open(`/app/runs/${runId}?view=logs`);
    const { page } = tab;
    const rows = page.getByRole('region', { name: 'Logs' });
    const search = page.getByRole('searchbox', { name: 'Search in the log' });
    await rows.getByText('line 100000', { exact: true }).waitFor();
    await search.fill('LINE 50000');
    await page.getByRole('status').getByText('1 lines found', { exact: true }).waitFor();
    expect(await rows.locator('mark').allInnerTexts()).toEqual(['line 50000']);
    expect(new URL(page.url()).searchParams.get('q')).toBe('LINE 50000');
    await rows.getByRole('button', { name: 'line 50000' }).click();
    await rows.getByText('line 50001', { exact: true }).waitFor();
    await rows.getByText('line 49999', { exact: true }).waitFor();
    expect(await rows.locator('[aria-expanded=true]').innerText()).toContain('line 50000');
    const numbersAt = async (top: number) => {
      await page.evaluate(`document.querySelector('[role=region][aria-label=Logs]').scrollTo(0, ${top})`);
      const texts = await rows.getByText(/^line \d+$/).allInnerTexts();
      return texts.map((text) => Number(text.slice(5)));
    };
    await expect.poll(async () => Math.max(...(await numbersAt(1e9)))).toBeGreaterThan(50_200);
    await expect.poll(async () => Math.min(...(await numbersAt(0)))).toBeLessThan(49_800);
    // The place is in the address.
    await page.reload();
    await rows.getByText('line 50001', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Back to the results' }).click();
    await page.getByRole('status').getByText('1 lines found', { exact: true }).waitFor();

    // The search asks before it continues after each 100,000 lines.
    await search.fill('no such line');
    await page.getByRole('button', { name: 'Search further' }).click();
    await page.getByText('No line contains this text.').waitFor();
    await search.fill('');
    await page.getByRole('combobox', { name: 'Order' }).selectOption('asc');
    await rows.getByText('first <b>mark</b>', { exact: true }).waitFor();
    expect(await page.evaluate(`document.querySelectorAll('*').length`)).toBeLessThan(1_000);

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`run-${runId}.log`);
    const text = readFileSync(await download.path(), 'utf8');
    expect(text).toContain('step 1: ⟨U+001B⟩[31mred');
    expect(text.trimEnd().split('\n')).toHaveLength(100_002);

    await page.goto(`${hub.url}/app/runs/${runId}?step=1&tab=logs`);
    await inspector(page).getByText('⟨U+001B⟩[31mred').waitFor();
    expect(await inspector(page).getByText('first').count()).toBe(0);
  });

  test('the turns of an AI agent appear while it works, with their calls', async () => {
    await useModel();
    const { id: toolProfileId } = await workspace.api.call('putAutomationToolProfile', {
      body: { name: 'tools', allow: ['memory.read'], deny: [] },
    });
    const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    model.reply = (_request, turn) => answers[turn]?.promise ?? 'FINAL: ?';
    const runId = await start([{ type: 'agent', prompt: 'Look', toolProfileId, name: 'Ask the agent' }]);
    await using tab = await open(`/app/runs/${runId}?tab=turns`);
    const { page } = tab;
    await inspector(page).getByText('The model works on its next answer…').waitFor();
    answers[0]?.resolve(`${evil} I look.\nTOOL_CALL:memory.read|{"no":1}`);
    await inspector(page).getByRole('heading', { name: 'Turn 1' }).waitFor();
    await inspector(page).getByText('memory.read').first().waitFor();
    await inspector(page).getByText('10 tokens in, 5 tokens out').waitFor();
    expect(await inspector(page).getByText('⟨U+202E⟩').count()).toBeGreaterThan(0);
    answers[1]?.resolve('FINAL: The light is green.');
    await inspector(page).getByRole('heading', { name: 'Turn 2' }).waitFor();
    await status(page, 'Succeeded').waitFor();
    await expect.poll(() => inspector(page).getByText('The model works on its next answer…').count()).toBe(0);
  });

  test('the turns of an AI agent show its answers and the skills that it called', async () => {
    await useModel();
    const { id: toolProfileId } = await workspace.api.call('putAutomationToolProfile', {
      body: { name: 'tools', allow: ['memory.write'], deny: [] },
    });
    model.reply = (_request, turn) =>
      turn === 0 ? 'TOOL_CALL:memory.write|{"key":"light","value":"green"}' : 'FINAL: The light is green.';
    const runId = await start([{ type: 'agent', prompt: 'Look at the light', toolProfileId, name: 'Ask the agent' }]);
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}?tab=turns`);
    const { page } = tab;
    await inspector(page).getByRole('heading', { name: 'Turn 2' }).waitFor();
    await inspector(page).getByText('alpha').first().waitFor();
    await inspector(page).getByText('memory.write').first().click();
    await inspector(page).getByText('"green"').first().waitFor();
    await inspector(page)
      .getByText(/The light is green\./)
      .first()
      .waitFor();
    expect(
      await inspector(page)
        .getByRole('heading', { name: /^Turn / })
        .count(),
    ).toBe(2);
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 320],
    ['dark', 320],
  ] as const)('every part is accessible with the %s theme at %i pixels', async (colorScheme, width) => {
    const device = await pair(`theme-pc-${colorScheme}-${width}`);
    const runId = await start([
      log('one', { name: 'A step with a rather long name that does not fit into its column at all' }),
      skill('node.ping', { nodeId: device.nodeId }, { name: 'Ping' }),
      { type: 'approval', title: 'Go on with a rather long question that wraps on small screens?', message: 'm' },
      log('two'),
    ]);
    await answer(device, { ...pong, artifacts: [file('screen.png', 'image/png', plainPng())] });
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}?step=1`, { colorScheme, viewport: { width, height: 700 } });
    const { page } = tab;
    const check = async () => {
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    };
    await inspector(page).getByRole('heading', { name: 'Ping' }).waitFor();
    await inspector(page).getByRole('heading', { name: 'Output' }).waitFor();
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await check();
    if (width < 500) {
      await inspector(page).getByRole('button', { name: 'Close' }).click();
      await inspector(page).waitFor({ state: 'hidden' });
    }
    for (const view of ['Logs', 'Run input', 'Related runs']) {
      await page.getByRole('tablist', { name: 'Parts of the run' }).getByRole('tab', { name: view }).click();
      await page
        .getByText({ Logs: /^\d+ lines$/, 'Run input': 'Payload', 'Related runs': 'Attempt 1 (this run)' }[view] ?? '')
        .first()
        .waitFor();
      await check();
    }
    await page.getByRole('button', { name: 'Cancel run' }).click();
    await page.getByRole('dialog').waitFor();
    await check();
  });
});
