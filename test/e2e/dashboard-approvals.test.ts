import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { workflows } from '../../shared/contract/automations/workflows.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { copyApproval } from '../fixtures/stage/automations.ts';

const password = 'correct horse battery';
const bob = 'bob@harbour.example';
const hostile = '<img src=x onerror=alert(1)> \u202Eevil';

const hasNoSidewaysScroll = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth');

describe.skipIf(!canOpenDashboard)('approvals in the dashboard (needs Chromium)', () => {
  let hub: TestHub;
  let browser: Browser;
  let machine: TestCompanion;
  let ann: string;
  /** Ann writes and starts the workflows, so the rules let Bob decide programs, and not Ann. */
  let sessions: { ann: string; bob: string };
  let api: Client;
  let bobApi: Client;
  let nodeId: string;
  beforeAll(async () => {
    hub = await startHub();
    const workspace = await hub.workspace('Harbour');
    const { tenantId, session } = workspace;
    ann = workspace.email;
    api = session;
    await api.call('addMember', { params: { tenantId }, body: { email: bob, password, role: 'agent' } });
    const { token } = await hub.client().call('logIn', { body: { email: bob, password } });
    sessions = { ann: workspace.jwt, bob: token };
    bobApi = hub.client(token);
    machine = await startCompanion(hub, workspace, { start: false });
    ({ nodeId } = machine);
    await api.call('updateAutomationNode', { params: { id: nodeId }, body: { name: 'office-pc' } });
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await machine?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
  });

  const open = (path: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
    openDashboard(browser, path, { hubUrl: hub.url, session: sessions.bob, ...options });

  /** Starts a run that waits for an approval. @returns the id of the approval. */
  async function ask(
    name: string,
    stepsJson: z.input<typeof workflows.createAutomationWorkflow.body>['stepsJson'],
  ): Promise<string> {
    const { id } = await api.call('createAutomationWorkflow', { body: { name, stepsJson } });
    const started = await api.call('runAutomationWorkflow', { params: { id } });
    const runId = 'runId' in started ? started.runId : '';
    await api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 30 } });
    const { data } = await api.call('listAutomationApprovals', { query: { runId } });
    expect(data).toHaveLength(1);
    return data[0]?.id ?? '';
  }
  const askForProgram = (name: string, argv: string[], input: object = {}) =>
    ask(name, [{ type: 'skill', skillId: 'system.run', name: 'Pack the logs', input: { nodeId, argv, ...input } }]);
  const question = (name: string, title: string, more: object = {}) =>
    ask(name, [
      { type: 'approval', title, ...more },
      { type: 'log', message: 'Hello' },
    ]);
  const read = (id: string) => api.call('getAutomationApproval', { params: { id } });
  const postsOf = (page: Page) => {
    const posts: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') posts.push(`${request.method()} ${new URL(request.url()).pathname}`);
    });
    return posts;
  };

  test('what will run is shown field by field, and hostile text stays text', async () => {
    const id = await askForProgram('harbour-report', ['sh', '-c', `tar czf /tmp/logs.tgz\n${hostile}`, ''], {
      cwd: '/home/ann',
      env: { TARGET: ' /srv/backup' },
      stdin: 'yes\n',
      timeoutMs: 90_000,
    });
    await using tab = await open(`/app/approvals/${id}`);
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: 'Run a program on office-pc' }).waitFor();
    await page.getByText('sh runs text in the arguments as code.').waitFor();
    const fieldOf = (name: string) => page.locator(`dt:text-is("${name}") + dd`).innerText();
    const items = await page.locator('dt:text-is("Arguments") + dd li').allInnerTexts();
    const lines = items.map((item) => item.replace(/^\d+\s*/, ''));
    expect(lines).toEqual(['-c', 'tar czf /tmp/logs.tgz\n<img src=x onerror=alert(1)> ⟨U+202E⟩evil', 'Empty text']);
    expect(await fieldOf('Program')).toBe('sh');
    expect(await fieldOf('Folder')).toBe('/home/ann');
    expect(await fieldOf('Variables')).toMatch(/^TARGET=\n? \/srv\/backup$/);
    expect(await fieldOf('Standard input')).toBe('yes⟨line break⟩');
    expect(await fieldOf('Time limit')).toBe('1 min 30 secs, then the program is ended');
    expect(await fieldOf('Requested by')).toBe(ann);
    const { requestHash, runId, workflowId } = await read(id);
    expect((await page.getByRole('main').innerText()).replaceAll(/\s/g, '')).toContain(requestHash);
    for (const [name, href] of [
      ['See the run', `/app/runs/${runId}`],
      ['Step 1: Pack the logs', `/app/runs/${runId}`],
      ['harbour-report', `/app/workflows/${workflowId}`],
      ['office-pc', `/app/nodes/${nodeId}`],
    ] as const)
      expect(await page.getByRole('link', { name, exact: true }).getAttribute('href')).toBe(href);
    expect(await page.locator('main img').count()).toBe(0);
  });

  test('a thumb decides on a phone, once, and the buttons wait for the hub', async () => {
    const id = await askForProgram('disk-check', ['df', '-h', '/']);
    await using tab = await open(`/app/approvals/${id}`, { viewport: { width: 360, height: 740 }, hasTouch: true });
    const { page } = tab;
    const posts = postsOf(page);
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    await page.getByRole('button', { name: 'Show the rest' }).tap();
    await expect.poll(() => approve.isEnabled()).toBe(true);
    const reject = page.getByRole('button', { name: 'Reject', exact: true });
    for (const button of [approve, reject]) {
      const box = await button.boundingBox();
      expect(box?.height).toBeGreaterThanOrEqual(44);
      expect(box?.y).toBeGreaterThan(740 / 2);
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(740);
    }
    expect(await hasNoSidewaysScroll(page)).toBe(true);
    await page.getByRole('button', { name: 'Add a note' }).tap();
    await page.getByLabel('Note').fill('Looks right');
    const answer = Promise.withResolvers<void>();
    await page.route('**/decide', async (route) => {
      await answer.promise;
      await route.continue();
    });
    await approve.tap();
    await expect.poll(() => approve.isDisabled()).toBe(true);
    expect(await reject.isDisabled()).toBe(true);
    // The second tap of an impatient thumb.
    await approve.tap({ force: true });
    expect((await read(id)).status).toBe('pending');
    answer.resolve();
    const outcome = page.getByRole('region', { name: 'Your decision' });
    await outcome.getByText('by bob@harbour.example').waitFor();
    await outcome.getByText('Note: Looks right').waitFor();
    expect(await approve.count()).toBe(0);
    expect(posts).toEqual([`POST /v1/automations/approvals/${id}/decide`]);
    expect(await read(id)).toMatchObject({ status: 'approved', note: 'Looks right', decider: { name: bob } });
  });

  test.each([
    ['a desktop', { width: 1280, height: 800 }],
    ['a phone', { width: 390, height: 740 }],
  ])('blank characters hide nothing on %s, on the page of the approval and of the run', async (_screen, viewport) => {
    const blank = `ok${'\n'.repeat(1_900)}; rm  -rf /${' '.repeat(400)}x\u3000y${'\u0301'.repeat(600)}`;
    const id = await askForProgram('blank', ['/bin/echo', blank, 'last argument']);
    const { runId } = await read(id);
    await using tab = await open(`/app/approvals/${id}`, { viewport });
    const { page } = tab;
    for (const path of [`/app/approvals/${id}`, `/app/runs/${runId}`]) {
      await page.goto(hub.url + path);
      const rows = page.locator('dt:text-is("Arguments") + dd li');
      await rows.first().waitFor();
      const texts = await rows.allInnerTexts();
      expect(texts[0]).toContain('ok⟨1,900 line breaks⟩\n; rm  -rf /⟨400 spaces⟩x⟨U+3000⟩y⟨U+0301');
      expect((await rows.first().boundingBox())?.height).toBeLessThan(300);
      expect(texts[1]).toMatch(/^2\s+last argument$/);
      expect(await hasNoSidewaysScroll(page)).toBe(true);
    }
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    await page.getByText('last argument').scrollIntoViewIfNeeded();
    await approve.waitFor();
  });

  test('Approve waits until the end of each text was in view, and the keyboard leads there', async () => {
    const script = Array.from({ length: 60 }, (_unused, index) => `echo line ${index}`).join('\n');
    const id = await askForProgram('long', ['bash', '-c', `${script}\nrm -rf /srv/data`]);
    const { runId } = await read(id);
    await using tab = await open(`/app/approvals/${id}`, { viewport: { width: 390, height: 740 } });
    const { page } = tab;
    const posts = postsOf(page);
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    const isEndInView = () =>
      page.evaluate(`(() => {
        const frame = document.querySelector('dd pre');
        const panel = document.querySelector('[aria-label="Your decision"]');
        const visibleTo = Math.min(innerHeight, panel === null ? Infinity : panel.getBoundingClientRect().top);
        const isAtEnd = frame.scrollTop + frame.clientHeight >= frame.scrollHeight - 20;
        return isAtEnd && frame.getBoundingClientRect().bottom <= visibleTo + 20;
      })()`);
    for (const path of [`/app/runs/${runId}`, `/app/approvals/${id}`]) {
      await page.goto(hub.url + path);
      await page.getByText('To approve, read to the end.').waitFor();
      expect(await approve.isDisabled()).toBe(true);
      expect(await accessibilityViolations(page)).toEqual([]);
      await expect.poll(() => page.getByRole('button', { name: 'Reject', exact: true }).isEnabled()).toBe(true);
      const rest = page.getByRole('button', { name: 'Show the rest' });
      await rest.press('Enter');
      await expect.poll(isEndInView).toBe(true);
      // Another press leads to the end of the request. It is too early until the end of the frame counts as seen.
      await expect
        .poll(async () => {
          if (await rest.isVisible()) await rest.press('Enter', { timeout: 1_000 }).catch(() => undefined);
          return approve.isEnabled();
        })
        .toBe(true);
    }
    expect(posts).toEqual([]);
    await approve.dblclick();
    await page.getByText('by bob@harbour.example').waitFor();
    expect(posts).toEqual([`POST /v1/automations/approvals/${id}/decide`]);
    expect(new URL(page.url()).pathname).toBe(`/app/approvals/${id}`);
  });

  test('opening an address decides nothing, whatever it contains', async () => {
    const id = await question('greet', 'Greet Ann?');
    await using tab = await open('/app');
    const { page } = tab;
    const posts = postsOf(page);
    for (const path of [`?decision=approved&note=x`, '?approve=true', '#approve'])
      await page.goto(`${hub.url}/app/approvals/${id}${path}`);
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    expect(posts).toEqual([]);
    expect((await read(id)).status).toBe('pending');
  });

  test('who may not decide reads why, and who can, and the menu counts only what the user can decide', async () => {
    const id = await askForProgram('own-command', ['uname']);
    await using tab = await open(`/app/approvals/${id}`, { session: sessions.ann });
    const { data } = await hub.client(sessions.ann).call('listAutomationApprovalSummaries', {
      query: { status: 'pending', limit: 100 },
    });
    const own = data.filter(({ canDecide }) => canDecide).length;
    expect(own).toBeLessThan(data.length);
    const link = tab.page
      .getByRole('navigation')
      .getByRole('link', { name: /^Approvals/ })
      .first();
    await expect.poll(() => link.textContent()).toBe(own === 0 ? 'Approvals' : `Approvals${own}`);
    const panel = tab.page.getByRole('region', { name: 'Your decision' });
    await panel.getByText('You cannot decide this approval').waitFor();
    const { refusal } = await read(id);
    await panel.getByText(refusal?.message ?? 'no refusal').waitFor();
    expect(await panel.getByRole('button').count()).toBe(0);
  });

  test('the menu shows and reads out 99+ from 100 approvals on', async () => {
    const own = await hub.workspace();
    const { id } = await own.session.call('createAutomationWorkflow', {
      body: { name: 'ask', stepsJson: [{ type: 'approval', title: 'Send it?' }] },
    });
    const { runId } = startedRun(await own.session.call('runAutomationWorkflow', { params: { id } }));
    await own.session.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 30 } });
    await copyApproval(hub.database, runId, { copies: 98, request: {} });
    const link = async (page: Page, name: string) => {
      const found = page.getByRole('navigation', { name: 'Main menu' }).getByRole('link', { name, exact: true });
      await found.waitFor();
      return found.textContent();
    };
    await using before = await open('/app/runs', { session: own.jwt });
    expect(await link(before.page, 'Approvals 99 waiting')).toBe('Approvals99');
    await own.session.call('runAutomationWorkflow', { params: { id } });
    expect(await link(before.page, 'Approvals 99+ waiting')).toBe('Approvals99+');
    await own.session.call('runAutomationWorkflow', { params: { id } });
    await expect
      .poll(async () => (await own.session.call('listAutomationApprovals', { query: { limit: 100 } })).meta.nextCursor)
      .not.toBeNull();
    await using after = await open('/app/runs', { session: own.jwt });
    expect(await link(after.page, 'Approvals 99+ waiting')).toBe('Approvals99+');
  });

  test('the first of two approvers reads only that others still have to approve, also later and in the run', async () => {
    const id = await question('two', 'Two people?', { approvers: [bob, 'cara@harbour.example'], required: 2 });
    const { runId } = await read(id);
    await using tab = await open(`/app/approvals/${id}`);
    const { page } = tab;
    const panel = page.getByRole('region', { name: 'Your decision' });
    const sentence = 'Your approval is recorded. Other people still have to approve.';
    const sentences = () => panel.locator('p').allInnerTexts();
    // The page aborts a read in progress when it reads again.
    const refused = page.waitForResponse(
      async (response) =>
        response.url().endsWith(`/approvals/${id}`) &&
        (await response.text().catch(() => '')).includes('approval_already_decided'),
    );
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await refused;
    await panel.getByText(sentence).waitFor();
    expect(await sentences()).toEqual([sentence]);
    await page.reload();
    await panel.getByText(sentence).waitFor();
    expect(await sentences()).toEqual([sentence]);
    await page.goto(`${hub.url}/app/runs/${runId}`);
    await page.getByText(sentence).waitFor();
    expect(await page.getByText('You have already decided').count()).toBe(0);
  });

  test('Reject asks once more, with a field for the reason, and the keyboard leads through', async () => {
    const id = await question('reject', 'Reject this?');
    await using tab = await open(`/app/approvals/${id}`, { viewport: { width: 390, height: 740 }, hasTouch: true });
    const { page } = tab;
    const posts = postsOf(page);
    const buttonOf = (name: string) => page.getByRole('button', { name, exact: true });
    const asked = page.getByText('Reject this? Its step then fails.');
    await buttonOf('Reject').tap();
    await asked.waitFor();
    expect(await buttonOf('Approve').count()).toBe(0);
    // Above the end of the page, the panel covers parts of links.
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await hasNoSidewaysScroll(page)).toBe(true);
    await page.getByLabel('Reason').fill('Wrong machine');
    await buttonOf('Cancel').tap();
    await buttonOf('Approve').waitFor();
    expect(await asked.count()).toBe(0);
    expect(await page.getByLabel('Note').inputValue()).toBe('Wrong machine');
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    expect(await focused()).toBe('Reject');
    await page.keyboard.press('Enter');
    await asked.waitFor();
    expect(await focused()).toBe(await asked.innerText());
    await page.keyboard.press('Escape');
    await buttonOf('Approve').waitFor();
    expect(await focused()).toBe('Reject');
    await buttonOf('Reject').dblclick();
    await asked.waitFor();
    expect(posts).toEqual([]);
    expect((await read(id)).status).toBe('pending');
    await expect.poll(() => buttonOf('Reject').isEnabled()).toBe(true);
    await page.getByLabel('Reason').focus();
    for (const key of ['Tab', 'Tab', 'Enter']) await page.keyboard.press(key);
    await page.getByText('by bob@harbour.example').waitFor();
    expect(posts).toEqual([`POST /v1/automations/approvals/${id}/decide`]);
    expect(await read(id)).toMatchObject({ status: 'rejected', note: 'Wrong machine' });
  });

  test('an earlier try is named in the language and the time of the reader', async () => {
    const { nodeId: id, pairingCode } = await api.call('createAutomationNode', { body: { allowSystem: true } });
    const { deviceSecret } = await hub.client().call('claimAutomationNode', {
      body: {
        pairingCode,
        device: {
          name: 'd',
          platform: 'linux',
          arch: 'x64',
          osVersion: '',
          appVersion: '1',
          capabilities: ['system.run'],
        },
      },
    });
    const device = hub.client(deviceSecret);
    const first = await ask('fails', [
      { type: 'skill', skillId: 'system.run', input: { nodeId: id, argv: ['false'], waitMs: 60_000 } },
    ]);
    await bobApi.call('decideAutomationApproval', { params: { id: first }, body: { decision: 'approved' } });
    const { commands } = await device.call('pollAutomationNodeCommands', {
      params: { id },
      query: { wait: 20, max: 1, running: '' } as never,
    });
    await device.call('completeAutomationNodeCommand', {
      params: { id, commandId: commands[0]?.id ?? '' },
      body: { status: 'failed', error: { code: 'exit_code', message: 'The program ended with exit code 1.' } },
    });
    const { runId } = await read(first);
    await api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 30 } });
    const again = await api.call('retryAutomationRun', { params: { id: runId } });
    await api.call('getAutomationRun', { params: { id: again.id }, query: { waitSeconds: 30 } });
    const { data } = await api.call('listAutomationApprovals', { query: { runId: again.id } });
    const [approval] = data;
    const earlierTry = approval?.hubMessage?.earlierTry;
    expect(earlierTry).toMatchObject({ commandType: 'system.run', code: 'exit_code' });
    const sentAt = earlierTry?.sentAt ?? '';
    expect(approval?.message).toContain(`at ${sentAt} and ended with exit_code.`);
    const options = { locale: 'de-DE', timezoneId: 'Asia/Tokyo' };
    await using tab = await open(`/app/approvals/${approval?.id}`, options);
    const { page } = tab;
    for (const path of [`/app/approvals/${approval?.id}`, `/app/runs/${again.id}`]) {
      await page.goto(hub.url + path);
      const warning = page.locator('p').filter({ hasText: 'Ein früherer Versuch dieses Schritts' });
      await warning.getByText('Das Programm endete mit einem Fehler.').waitFor();
      const time = warning.locator('time');
      expect(await time.getAttribute('datetime')).toBe(sentAt);
      expect(await time.innerText()).toContain(
        new Intl.DateTimeFormat('de-DE', { timeStyle: 'short', timeZone: 'Asia/Tokyo' }).format(new Date(sentAt)),
      );
      expect(await time.getAttribute('title')).toContain(sentAt.slice(11, 19));
      expect(await page.getByRole('main').innerText()).not.toMatch(/earlier try|exit_code|asks to run/);
    }
  });

  test('an approval without a bound step says in each state what is true of the run and of the hash', async () => {
    const decide = (decision: 'approved' | 'rejected') => (id: string) =>
      bobApi.call('decideAutomationApproval', { params: { id }, body: { decision } });
    const cancel = async (id: string) => api.call('cancelAutomationRun', { params: { id: (await read(id)).runId } });
    await using tab = await open('/app/approvals');
    const { page } = tab;
    for (const [status, settle, sentence] of [
      ['pending', null, 'is not bound to this approval. The run continues after an approval.'],
      ['approved', decide('approved'), 'was not bound to this approval. The run continued after the approval.'],
      [
        'rejected',
        decide('rejected'),
        'was not bound to this approval. The approval was rejected, so its step failed.',
      ],
      ['expired', cancel, 'was not bound to this approval. The approval ended without a decision.'],
    ] as const) {
      const id = await ask(`alone-${status}`, [{ type: 'approval', title: `Alone, ${status}?` }]);
      await settle?.(id);
      await expect.poll(async () => (await read(id)).status).toBe(status);
      await page.goto(`${hub.url}/app/approvals/${id}`);
      await page.getByText(`The next step ${sentence}`).waitFor();
      await page.getByText('The hash covers the title and the details of this approval, but no step.').waitFor();
      expect(await page.getByText('Only the request with this hash runs').count()).toBe(0);
    }
    const bound = await question('bound', 'Bound?');
    await page.goto(`${hub.url}/app/approvals/${bound}`);
    await page.getByText('Only the request with this hash runs.', { exact: true }).waitFor();
    await bobApi.call('decideAutomationApproval', { params: { id: bound }, body: { decision: 'rejected' } });
    await page.getByText('The hash covers the request that was not approved.').waitFor();
  });

  test('a second approver learns who decided first', async () => {
    const id = await question('late', 'Too late?');
    await using tab = await open(`/app/approvals/${id}`, { session: sessions.ann });
    const { page } = tab;
    // Without live events, the page still shows the buttons.
    await page.route('**/events', (route) => route.abort());
    await page.reload();
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await bobApi.call('decideAutomationApproval', {
      params: { id },
      body: { decision: 'rejected', note: 'Not today\nBut tomorrow' },
    });
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    const panel = page.getByRole('region', { name: 'Your decision' });
    await panel.getByText('Your decision was not recorded').waitFor();
    await panel.getByText('by bob@harbour.example').waitFor();
    await panel.getByText('Note: Not today').waitFor();
    expect((await read(id)).status).toBe('rejected');
    const { runId, workflowId } = await read(id);
    await page.goto(`${hub.url}/app/runs/${runId}`);
    await expect
      .poll(() => page.locator('dt:text-is("Rejected") + dd').innerText())
      .toBe('bob@harbour.example · Not today\nBut tomorrow');
    await page.goto(`${hub.url}/app/runs?workflow=${workflowId}`);
    await page.getByText('Rejected by bob@harbour.example: Not today But tomorrow').waitFor();
  });

  test('the list quotes arguments with spaces, and the page still names the step', async () => {
    const id = await askForProgram('quoted', ['ls', '-la', '/tmp', 'a b', '', '--force']);
    await using tab = await open('/app/approvals');
    const { page } = tab;
    const row = page.locator(`a[href="/app/approvals/${id}"]`);
    expect(await row.innerText()).toContain('Pack the logs: ls -la /tmp "a b" "" --force\n');
    await row.click();
    await page.getByRole('link', { name: 'Step 1: Pack the logs', exact: true }).waitFor();
  });

  test('the list shows what the user can decide first, and follows new approvals and decisions of others', async () => {
    const mine = await question('for-bob', 'A question for Bob', { approvers: [bob] });
    await question('for-ann', 'A question for Ann', { approvers: [ann, 'cara@harbour.example'], required: 2 });
    await using tab = await open('/app/approvals');
    const { page } = tab;
    const groupOf = (heading: string) =>
      page.locator(`h2:text-is("${heading}") + section`).getByRole('link').allInnerTexts();
    await page.getByRole('link', { name: /A question for Ann/ }).waitFor();
    expect((await groupOf('You can decide')).join()).toContain('A question for Bob');
    const others = (await groupOf('Others decide')).join();
    expect(others).toContain('A question for Ann');
    expect(others).toContain('0 of 2 approvals');
    await question('new', 'A new question');
    await page.getByRole('link', { name: /A new question/ }).waitFor();
    await bobApi.call('decideAutomationApproval', { params: { id: mine }, body: { decision: 'approved' } });
    await page.getByRole('link', { name: /A question for Bob/ }).waitFor({ state: 'detached' });
  });

  test('the history names who decided, also by a link that an admin created', async () => {
    const id = await bobQuestion();
    const { links } = await api.call('growthCreateApprovalLinks', { params: { id } });
    const decided = await fetch(links[0]?.url ?? '', {
      method: 'POST',
      headers: { origin: hub.url },
      body: new URLSearchParams({ decision: 'approved', note: 'By link' }),
    });
    expect(decided.status).toBe(200);
    await using tab = await open('/app/approvals?status=approved');
    const { page } = tab;
    const row = page.getByRole('link', { name: /A question with a link/ });
    await row.waitFor();
    const text = await row.innerText();
    expect(text).toContain(`Approved by cara@harbour.example, with a link that ${ann} created`);
    expect(text).toContain('Note: By link');
    expect(await page.getByRole('link', { name: 'Approved', exact: true }).getAttribute('aria-current')).toBe('page');
    await page.getByRole('link', { name: 'Expired', exact: true }).click();
    await row.waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('?status=expired');
    const { jwt } = await hub.workspace();
    await using empty = await open('/app/approvals?status=expired', { session: jwt });
    await empty.page.getByText('No approvals with this status').waitFor();
  });

  /** A question whose links Ann can create: Bob wrote and started it. */
  async function bobQuestion(): Promise<string> {
    const { id } = await bobApi.call('createAutomationWorkflow', {
      body: {
        name: 'with-link',
        stepsJson: [{ type: 'approval', title: 'A question with a link', approvers: ['cara@harbour.example'] }],
      },
    });
    const started = await bobApi.call('runAutomationWorkflow', { params: { id } });
    const runId = 'runId' in started ? started.runId : '';
    await api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 30 } });
    const { data } = await api.call('listAutomationApprovals', { query: { runId } });
    return data[0]?.id ?? '';
  }

  test.each([
    ['light', 1280],
    ['dark', 320],
  ] as const)('list and approval are accessible with the %s theme at %i pixels', async (colorScheme, width) => {
    const id = await askForProgram(`theme-${colorScheme}`, ['sh', '-c', `echo ${'long'.repeat(200)}`]);
    await using tab = await open('/app/approvals?status=all', { colorScheme, viewport: { width, height: 740 } });
    const { page } = tab;
    await page
      .getByRole('link', { name: /Run a program/ })
      .first()
      .waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await hasNoSidewaysScroll(page)).toBe(true);
    await page.goto(`${hub.url}/app/approvals/${id}`);
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await hasNoSidewaysScroll(page)).toBe(true);
  });
});
