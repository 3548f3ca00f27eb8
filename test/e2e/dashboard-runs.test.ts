import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';

const hostileName = '<img src=x onerror=alert(1)> \u202Egnp.exe \u001B[31mred';
/** The hostile name as the page shows it. */
const shownHostileName = '<img src=x onerror=alert(1)> ⟨U+202E⟩gnp.exe ⟨U+001B⟩[31mred';

describe.skipIf(!canOpenDashboard)('the list of runs (needs Chromium)', () => {
  let hub: TestHub;
  let browser: Browser;
  let workspace: TestWorkspace;
  let session: string;
  const workflows = new Map<string, string>();
  beforeAll(async () => {
    hub = await startHub();
    workspace = await hub.workspace('Harbour');
    const { email, password } = workspace;
    ({ token: session } = await hub.client().call('logIn', { body: { email, password } }));
    browser = await startDashboardBrowser();
    const create = async (name: string, body: object) => {
      const made = await workspace.session.call('createAutomationWorkflow', { body: { name, stepsJson: [], ...body } });
      workflows.set(name, made.id);
    };
    await create('greet', { stepsJson: [{ type: 'log', message: 'Hello' }] });
    await create('ask', { stepsJson: [{ type: 'approval', title: 'Send it?' }] });
    await create('pause', { stepsJson: [{ type: 'log', message: 'late', delaySeconds: 3600 }] });
    await create('break', {
      stepsJson: [{ type: 'skill', skillId: 'memory.read', input: { key: '{{payload.missing.deeply}}' } }],
    });
    await create(hostileName, { stepsJson: [{ type: 'log', message: 'x' }] });
    await create('report', {
      inputs: {
        type: 'object',
        required: ['city', 'guests'],
        properties: {
          city: { type: 'string', title: 'City', enum: ['Kiel', 'Hamburg'] },
          guests: { type: 'integer', title: 'Guests', maximum: 50 },
        },
      },
      stepsJson: [{ type: 'log', message: '{{payload.guests}} guests in {{payload.city}}' }],
    });
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
  });
  const start = async (name: string, count = 1) => {
    const ids: string[] = [];
    for (let started = 0; started < count; started += 1) {
      const params = { id: workflows.get(name) as string };
      ids.push(startedRun(await workspace.api.call('runAutomationWorkflow', { params, body: {} })).runId);
    }
    return ids;
  };
  const ended = async (id: string) => {
    await expect
      .poll(async () => (await workspace.api.call('getAutomationRun', { params: { id } })).status)
      .toMatch(/succeeded|failed|waiting/);
  };
  const open = (path: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
    openDashboard(browser, path, { hubUrl: hub.url, session, ...options });
  const row = (page: Page, id: string) => page.locator('tr').filter({ has: page.locator(`[data-run="${id}"]`) });

  test('a workspace without runs says how to start one', async () => {
    await using tab = await open('/app/runs');
    await tab.page.getByText('No runs yet').waitFor();
    expect(await tab.page.getByRole('button', { name: 'Run a workflow…' }).count()).toBe(2);
  });

  test('a new workspace says that it has no workflow, and its inbox links to the settings of the chat', async () => {
    const { jwt } = await hub.workspace();
    await using tab = await open('/app/runs', { session: jwt });
    const { page } = tab;
    await page.getByRole('button', { name: 'Run a workflow…' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Run a workflow' });
    await dialog.getByText('This workspace has no workflows.').waitFor();
    await dialog.getByRole('link', { name: 'Create a workflow' }).click();
    await page.getByRole('heading', { level: 1, name: 'New workflow' }).waitFor();
    await page.goto(`${hub.url}/app/inbox`);
    await page.getByRole('link', { name: 'Set up the chat of your site' }).click();
    await expect.poll(() => new URL(page.url()).pathname).toBe('/app/settings/chat');
  });

  test('rows show status and reason, and change by live events without a reload', async () => {
    const [waiting = '', broken = ''] = [...(await start('ask')), ...(await start('break'))];
    await ended(broken);
    await using tab = await open('/app/runs');
    const { page } = tab;
    await page.evaluate('window.isSameDocument = true');
    await row(page, waiting).getByText('Waiting for approval').waitFor();
    await row(page, waiting).getByRole('link', { name: 'Waits for a decision' }).waitFor();
    await row(page, broken).getByText('Failed', { exact: true }).waitFor();
    await row(page, broken).locator('code').nth(1).waitFor();
    const { data } = await workspace.api.call('listAutomationApprovals', { query: { status: 'pending' } });
    await workspace.session.call('decideAutomationApproval', {
      params: { id: data[0]?.id as string },
      body: { decision: 'approved' },
    });
    await row(page, waiting).getByText('Succeeded').waitFor();
    // At the top, new runs appear by themselves.
    const [next = ''] = await start('greet');
    await row(page, next).getByText('Succeeded').waitFor();
    expect(await page.evaluate('window.isSameDocument')).toBe(true);
  });

  test('filters are in the address, and a saved filter comes back', async () => {
    await using tab = await open('/app/runs?status=failed');
    const { page } = tab;
    await page.getByRole('link', { name: 'break' }).waitFor();
    expect(await page.getByRole('link', { name: 'greet', exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Workflow', exact: true }).click();
    await page.getByRole('dialog').getByRole('searchbox').fill('gre');
    await page.getByRole('dialog').getByRole('button', { name: 'greet' }).click();
    await page.getByText('No run matches these filters').waitFor();
    expect(new URL(page.url()).searchParams.get('workflow')).toBe(workflows.get('greet'));
    await page.getByRole('button', { name: 'Succeeded' }).click();
    await page.getByRole('link', { name: 'greet', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Save filter…' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Good greetings');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('link', { name: 'break' }).waitFor();
    await page.goBack();
    await page.goBack();
    await page.getByText('No run matches these filters').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Good greetings', exact: true }).click();
    await page.getByRole('link', { name: 'greet', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Whole id or its start, or error code' }).fill('01');
    await page.getByRole('searchbox', { name: 'Whole id or its start, or error code' }).fill('no_such_code');
    await page.getByText('No run matches these filters').waitFor();
    expect(new URL(page.url()).searchParams.get('code')).toBe('no_such_code');
  });

  test('a click on the shortened id of a run copies the whole id, which the filter of the list finds', async () => {
    const [, wanted] = (await start('greet', 2)) as [string, string];
    await using tab = await open(`/app/runs/${wanted}`);
    const { page } = tab;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: hub.url });
    const shown = `…${wanted.slice(-12)}`;
    // The label is shown for 2 s only.
    await Promise.all([
      page.getByRole('button', { name: `Copied ${shown}` }).waitFor(),
      page.getByRole('button', { name: `Copy ${shown}` }).click(),
    ]);
    await page.getByRole('navigation', { name: 'Main menu' }).getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('searchbox', { name: 'Whole id or its start, or error code' }).focus();
    await page.keyboard.press('Control+V');
    await expect.poll(() => new URL(page.url()).searchParams.get('id')).toBe(wanted);
    await expect.poll(() => page.locator('[data-run]').count()).toBe(1);
    expect(await page.locator('[data-run]').getAttribute('data-run')).toBe(wanted);
  });

  test('saved filters belong to the account: another browser has them, and they are replaced and deleted', async () => {
    await workspace.session.call('readSavedFilters', {}).then(async ({ filters }) => {
      for (const { id } of filters) await workspace.session.call('deleteSavedFilter', { params: { id } });
    });
    const saveAs = async (page: Page, name: string) => {
      await page.getByRole('button', { name: 'Save filter…' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill(name);
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
    };
    const saved = (page: Page) => page.getByRole('list', { name: 'Saved filters' }).getByRole('listitem');
    await using first = await open('/app/runs?status=failed');
    await using second = await open('/app/runs?status=cancelled');
    await saveAs(first.page, hostileName);
    await saveAs(second.page, 'Mine');
    await second.page.goto(`${hub.url}/app/runs`);
    // Two tabs saved their filters, and both are there. A name is only text.
    await expect.poll(() => saved(second.page).allTextContents()).toEqual([shownHostileName, 'Mine']);
    await saved(second.page).getByRole('button', { name: shownHostileName, exact: true }).click();
    await expect.poll(() => new URL(second.page.url()).searchParams.get('status')).toBe('failed');
    await second.page.goto(`${hub.url}/app/runs?status=succeeded&period=24h`);
    await saveAs(second.page, 'Mine');
    await expect.poll(() => saved(second.page).count()).toBe(2);
    await first.page.reload();
    await saved(first.page).getByRole('button', { name: 'Mine', exact: true }).click();
    await expect.poll(() => new URL(first.page.url()).search).toBe('?status=succeeded&period=24h');
    await first.page.getByRole('button', { name: `Delete the filter ${shownHostileName}` }).click();
    await expect.poll(() => saved(first.page).allTextContents()).toEqual(['Mine']);
    await second.page.reload();
    await expect.poll(() => saved(second.page).allTextContents()).toEqual(['Mine']);
    expect([...first.complaints, ...second.complaints]).toEqual([]);
  });

  test('filters that a browser stored earlier move into the account once, and replace none there', async () => {
    const { filters } = await workspace.session.call('readSavedFilters', {});
    for (const { id } of filters) await workspace.session.call('deleteSavedFilter', { params: { id } });
    const kept = { path: '/app/runs', name: 'Known', query: 'status=running' };
    await workspace.session.call('saveFilter', { body: kept });
    const key = `outrigger.runs.filters.${workspace.tenantId}`;
    const stored = [
      { name: 'Known', filters: { status: 'failed' } },
      { name: 'Known', filters: { status: 'running' } },
      null,
      { name: 'Old', filters: { status: 'failed', period: '24h' } },
      { name: 'Empty', filters: { status: 'no such status' } },
    ];
    await using tab = await open('/app/runs');
    const { page } = tab;
    await page.getByRole('link', { name: 'break' }).first().waitFor();
    await page.evaluate(([name, value]) => localStorage.setItem(name, value), [key, JSON.stringify(stored)] as const);
    await page.reload();
    await page.getByRole('button', { name: 'Old', exact: true }).waitFor();
    await expect.poll(() => page.evaluate((name) => localStorage.getItem(name), key)).toBeNull();
    expect((await workspace.session.call('readSavedFilters', {})).filters).toMatchObject([
      kept,
      { path: '/app/runs', name: 'Known (2)', query: 'status=failed' },
      { path: '/app/runs', name: 'Old', query: 'status=failed&period=24h' },
    ]);
    // A filter that was deleted does not come back.
    await page.getByRole('button', { name: 'Delete the filter Old' }).click();
    await page.getByRole('button', { name: 'Old', exact: true }).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('button', { name: 'Known', exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Old', exact: true }).count()).toBe(0);
  });

  test('filters for which the account has no place stay in the browser until there is one', async () => {
    const { session: account, tenantId } = workspace;
    const read = async () => (await account.call('readSavedFilters', {})).filters;
    for (const { id } of await read()) await account.call('deleteSavedFilter', { params: { id } });
    for (let number = 1; number <= 49; number += 1)
      await account.call('saveFilter', { body: { path: '/app/runs', name: `n${number}`, query: 'status=running' } });
    const key = `outrigger.runs.filters.${tenantId}`;
    const stored = ['failed', 'queued', 'cancelled'].map((status) => ({ name: 'x'.repeat(60), filters: { status } }));
    await using tab = await open('/app/runs');
    const { page } = tab;
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.evaluate(([name, value]) => localStorage.setItem(name, value), [key, JSON.stringify(stored)] as const);
    const inBrowser = () => page.evaluate((name) => JSON.parse(localStorage.getItem(name) ?? '[]') as unknown, key);
    await page.reload();
    await page.getByText('Filters that only this browser has: 2.').waitFor();
    expect(await inBrowser()).toEqual(stored.slice(1));
    // A long name does not widen the page.
    await page.setViewportSize({ width: 390, height: 800 });
    const box = await page.getByRole('button', { name: `Delete the filter ${'x'.repeat(60)}` }).boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const { id } of (await read()).slice(0, 2)) await account.call('deleteSavedFilter', { params: { id } });
    // Two tabs that move the filters at the same time save each once.
    const other = await page.context().newPage();
    await Promise.all([page.reload(), other.goto(`${hub.url}/app/runs`)]);
    for (const each of [page, other])
      await each.getByRole('button', { name: `${'x'.repeat(56)} (3)`, exact: true }).waitFor();
    expect(await inBrowser()).toEqual([]);
    expect((await read()).slice(47).map(({ name, query }) => [name, query])).toEqual([
      ['x'.repeat(60), 'status=failed'],
      [`${'x'.repeat(56)} (2)`, 'status=queued'],
      [`${'x'.repeat(56)} (3)`, 'status=cancelled'],
    ]);
    for (const { id } of await read()) await account.call('deleteSavedFilter', { params: { id } });
  });

  test('selected runs are cancelled together, with a result for each', async () => {
    const [paused = '', done = ''] = [...(await start('pause')), ...(await start('greet'))];
    await ended(done);
    await using tab = await open('/app/runs');
    const { page } = tab;
    await row(page, paused).getByText('Continues at').waitFor();
    // Runs of the same second differ only at the end of their ids.
    await row(page, paused)
      .getByText(`…${paused.slice(-12)}`, { exact: true })
      .waitFor();
    await row(page, paused).getByRole('checkbox').check();
    await page.getByRole('toolbar').getByRole('button', { name: 'Cancel runs' }).click();
    const one = page.getByRole('dialog', { name: 'Cancel this run?' });
    await one.getByRole('button', { name: 'Cancel run', exact: true }).waitFor();
    await one.getByRole('button', { name: 'Keep the run', exact: true }).click();
    await row(page, done).getByRole('checkbox').check();
    await page.getByRole('toolbar').getByRole('button', { name: 'Cancel runs' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel runs' }).click();
    const result = page.getByRole('dialog', { name: 'Result' });
    await result.getByText('1 run was cancelled. 1 refused.').waitFor();
    await result.getByRole('button', { name: 'Close' }).last().click();
    await row(page, paused).getByText('Cancelled').waitFor();
    expect(await page.getByRole('toolbar').count()).toBe(0);
  });

  test('all failed runs that match the filter are retried', async () => {
    await using tab = await open('/app/runs?status=failed');
    const { page } = tab;
    await page.getByRole('checkbox', { name: /Select all/ }).check();
    await page.getByRole('button', { name: 'All runs that match the filter…' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Cancel runs in progress' }).isDisabled()).toBe(true);
    await dialog.getByRole('group', { name: 'Cancel runs in progress' }).getByText('Runs in progress stop.').waitFor();
    await dialog
      .getByRole('group', { name: 'Retry failed and cancelled runs' })
      .getByText('Each failed or cancelled run starts again')
      .waitFor();
    await dialog.getByRole('button', { name: 'Retry failed and cancelled runs' }).click();
    const result = page.getByRole('dialog', { name: 'Result' });
    await result.getByText('1 run was started again.').waitFor();
    // The new run may fail as well.
    await result.getByText('Started again', { exact: true }).waitFor();
    expect(await result.getByText(/succeeded|Done/).count()).toBe(0);
    const attempts = async () => {
      const { data } = await workspace.api.call('listAutomationRuns', { query: { status: 'failed' } });
      return data.map(({ attempt }) => attempt);
    };
    await expect.poll(attempts).toContain(2);
    const { data: failed } = await workspace.api.call('listAutomationRuns', { query: { status: 'failed' } });
    const href = await result.getByRole('link').getAttribute('href');
    expect(href).toContain(failed.find(({ attempt }) => attempt === 2)?.id);
    await page.goto(`${hub.url}/app/runs?status=failed&trigger=manual&environment=live`);
    await page.getByRole('checkbox', { name: /Select all/ }).check();
    await page.getByRole('button', { name: 'All runs that match the filter…' }).click();
    await dialog.getByRole('button', { name: 'Retry failed and cancelled runs' }).click();
    await page.getByRole('dialog', { name: 'Result' }).getByText('1 run was started again.').waitFor();
    await expect.poll(attempts).toContain(3);
  });

  test('j and k move, x selects, Enter opens', async () => {
    await using tab = await open('/app/runs');
    const { page } = tab;
    await page.locator('[data-run]').first().waitFor();
    const ids = await page
      .locator('[data-run]')
      .evaluateAll((links) => links.map((link) => link.getAttribute('data-run')));
    for (const key of ['j', 'j', 'k', 'j', 'x']) await page.keyboard.press(key);
    await page.getByRole('toolbar', { name: '1 selected' }).waitFor();
    const second = page.locator(`[data-run="${ids[1]}"]`);
    await expect.poll(() => second.evaluate((link) => link === link.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/app/runs/${ids[1]}`);
  });

  test('the dialog asks for the declared inputs, shows the problems of the hub, and a double click starts one run', async () => {
    await using tab = await open('/app/runs');
    const { page } = tab;
    const count = async () =>
      (await workspace.api.call('listAutomationRuns', { query: { workflowId: workflows.get('report') } })).data.length;
    await page.getByRole('button', { name: 'Run a workflow…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('searchbox').fill('repo');
    await dialog.getByRole('button', { name: 'report' }).click();
    await dialog.getByLabel('City').selectOption({ label: 'Kiel' });
    await dialog.getByRole('button', { name: 'Run now' }).click();
    await dialog.getByText('is required').waitFor();
    expect(await count()).toBe(0);
    await dialog.getByLabel('Guests').fill('3');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('No problem is known.').waitFor();
    expect(await count()).toBe(0);
    await dialog.getByRole('button', { name: 'Run now' }).dblclick();
    await page.waitForURL(/\/app\/runs\/[0-9a-f-]{36}/);
    expect(await count()).toBe(1);
    const { data } = await workspace.api.call('listAutomationRuns', {
      query: { workflowId: workflows.get('report') },
    });
    const made = await workspace.api.call('getAutomationRun', { params: { id: data[0]?.id as string } });
    expect(made.payload).toEqual({ city: 'Kiel', guests: 3 });
  });

  test('the preview names the node of each step, and a node that does not exist', async () => {
    const { id } = await workspace.session.call('createAutomationWorkflow', {
      body: {
        name: 'ping',
        stepsJson: [
          { type: 'skill', skillId: 'node.ping', input: { node: 'my-machne' } },
          { type: 'skill', skillId: 'node.ping', input: { node: '{{payload.node}}' } },
          { type: 'skill', skillId: 'node.ping', input: { nodeTag: 'ofice' } },
        ],
      },
    });
    await using tab = await open(`/app/workflows/${id}`);
    const { page } = tab;
    await page.getByRole('link', { name: 'on a node with the tag ofice' }).waitFor();
    await page.getByRole('button', { name: 'Run…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('There is no node with the name "my-machne"').waitFor();
    expect(await dialog.getByText('No problem is known.').count()).toBe(0);
    const steps = await dialog.getByRole('listitem').allInnerTexts();
    expect(steps[0]).toContain('on my-machne');
    expect(steps[1]).not.toContain('no node');
    expect(steps[2]).toContain('on a node with the tag ofice');
    expect(steps[2]).toContain('There is no paired node with the tag "ofice"');
  });

  test('hostile names stay text', async () => {
    const [id = ''] = await start(hostileName);
    await using tab = await open('/app/runs');
    await row(tab.page, id).getByText(shownHostileName).waitFor();
    expect(await tab.page.locator('main img').count()).toBe(0);
  });

  test('the times in reasons and in the period of the filter show UTC on hover', async () => {
    const [late = ''] = await start('pause');
    const [from, to] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString()) as [
      string,
      string,
    ];
    await using tab = await open(`/app/runs?from=${from}&to=${to}`);
    const { page } = tab;
    const reason = row(page, late).locator('div', { hasText: /^Continues at/ });
    expect(await reason.locator('time').getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$/);
    const period = page.locator('time[datetime]', { hasText: /\d/ });
    const titles = await period.evaluateAll((times: { title: string }[]) => times.map(({ title }) => title));
    for (const at of [from, to]) expect(titles).toContain(`${at.replace('T', ' ').replace('Z', '')} UTC`);
  });

  test('a burst of new runs moves neither scroll nor selection, and waits in a bar', async () => {
    await start('greet', 130);
    await using tab = await open('/app/runs');
    const { page } = tab;
    await page
      .getByText(/of 1\d\d shown|of 1\d\d runs/)
      .or(page.locator('[data-run]'))
      .first()
      .waitFor();
    await page.mouse.move(700, 500);
    await page.mouse.wheel(0, 5200);
    // The second page is loaded when its rows come near.
    await expect.poll(() => page.locator('table').getAttribute('aria-rowcount').then(Number)).toBeGreaterThan(120);
    const boxes = page.locator('tr[aria-rowindex] input[type=checkbox]');
    const label = (await boxes.nth(12).getAttribute('aria-label')) as string;
    await page.getByLabel(label).check();
    const topOf = () => page.getByLabel(label).evaluate((element) => Math.round(element.getBoundingClientRect().top));
    const scroll = () => page.evaluate<number>('scrollY');
    await expect.poll(scroll).toBeGreaterThan(500);
    const before = [await scroll(), await topOf()];
    const lists = () => tab.requests.filter((url) => /\/automations\/runs\?/.test(url)).length;
    const listsBefore = lists();
    const startedAt = Date.now();
    await Promise.all(Array.from({ length: 6 }, () => start('greet', 20)));
    await page.getByRole('button', { name: 'More than 100 new runs' }).waitFor();
    const [seconds, reads] = [(Date.now() - startedAt) / 1000, lists() - listsBefore];
    expect([await scroll(), await topOf()]).toEqual(before);
    expect(await page.getByLabel(label).isChecked()).toBe(true);
    expect(reads).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
    expect(await page.evaluate<number>("document.querySelectorAll('*').length")).toBeLessThan(3000);
    await page.getByRole('button', { name: 'More than 100 new runs' }).click();
    await expect.poll(scroll).toBe(0);
    await expect.poll(() => page.getByRole('button', { name: /new runs/ }).count()).toBe(0);
  });

  test('closing the dialog stops the cancellation of many runs, and shows what was done', async () => {
    const query = { workflowId: workflows.get('greet'), statuses: 'queued,running' };
    await expect.poll(async () => (await workspace.api.call('listAutomationRuns', { query })).data).toEqual([]);
    await using tab = await open('/app/runs');
    const { page } = tab;
    await page.locator('[data-run]').first().waitFor();
    await page.mouse.move(700, 500);
    await page.mouse.wheel(0, 5200);
    await expect.poll(() => page.locator('table').getAttribute('aria-rowcount').then(Number)).toBeGreaterThan(120);
    await page.getByRole('checkbox', { name: /Select all/ }).check();
    const isStopped = Promise.withResolvers<void>();
    const isSent = Promise.withResolvers<void>();
    await page.route('**/automations/runs/cancel', async (route) => {
      isSent.resolve();
      await isStopped.promise;
      await route.continue();
    });
    await page.getByRole('toolbar').getByRole('button', { name: 'Cancel runs' }).click();
    const dialog = page.getByRole('dialog', { name: /^Cancel \d+ runs/ });
    await dialog.getByRole('button', { name: 'Keep the runs' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel runs' }).click();
    await isSent.promise;
    await dialog.getByRole('button', { name: 'Stop' }).click();
    expect(await dialog.isVisible()).toBe(true);
    isStopped.resolve();
    const result = page.getByRole('dialog', { name: 'Result' });
    await result.getByText('0 runs were cancelled. 100 refused.').waitFor();
    expect(tab.requests.filter((url) => url.endsWith('/automations/runs/cancel'))).toHaveLength(1);
    await result.getByRole('button', { name: 'Close' }).last().click();
    expect(await page.getByRole('toolbar').count()).toBe(0);
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 320],
    ['dark', 320],
  ] as const)('the list is accessible with the %s theme at %i pixels', async (colorScheme, width) => {
    await using tab = await open('/app/runs?trigger=manual', { colorScheme, viewport: { width, height: 700 } });
    const { page } = tab;
    await page.locator('[data-run]').first().waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.getByRole('button', { name: 'Run a workflow…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'report' }).click();
    await page.getByRole('dialog').getByLabel('City').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
  });
});
