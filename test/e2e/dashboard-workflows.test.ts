import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';

describe.skipIf(!canOpenDashboard)('workflows and schedules (needs Chromium)', () => {
  let hub: TestHub;
  let browser: Browser;
  let workspace: TestWorkspace;
  let session: string;
  beforeAll(async () => {
    hub = await startHub();
    workspace = await hub.workspace('Harbour');
    const { email, password } = workspace;
    ({ token: session } = await hub.client().call('logIn', { body: { email, password } }));
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
  });
  const open = (path: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
    openDashboard(browser, path, { hubUrl: hub.url, session, ...options });
  const create = async (name: string, body: object = {}) => {
    const stepsJson = [{ type: 'log' as const, message: 'Hello' }];
    return (await workspace.session.call('createAutomationWorkflow', { body: { name, stepsJson, ...body } })).id;
  };
  const read = (id: string) => workspace.session.call('getAutomationWorkflow', { params: { id } });

  test('a workflow is created as JSON, once, and its problems lead to their lines', async () => {
    await using tab = await open('/app/workflows');
    const { page } = tab;
    await page.getByText('No workflows yet').waitFor();
    await page.getByRole('link', { name: 'New workflow' }).first().click();
    const field = page.getByRole('textbox', { name: 'Workflow as JSON' });
    await field.fill('{\n  "name": "x",\n  steps: []\n}');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Line 3 is not valid JSON').waitFor();
    const steps = [
      { type: 'log', message: 'one' },
      { type: 'skill', skillId: 'no.such.skill' },
    ];
    await field.fill(JSON.stringify({ name: 'From text', stepsJson: steps }, null, 2));
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const problem = page.getByRole('alert').getByRole('listitem').first();
    await problem.getByText('stepsJson[1]').waitFor();
    await problem.getByRole('button').click();
    const selected = await field.evaluate((area: { value: string; selectionStart: number; selectionEnd: number }) =>
      area.value.slice(area.selectionStart, area.selectionEnd),
    );
    expect(selected).toContain('no.such.skill');
    await field.fill(JSON.stringify({ name: 'From text', stepsJson: steps.slice(0, 1) }));
    await page.getByRole('button', { name: 'Create', exact: true }).dblclick();
    await page.getByRole('heading', { level: 1, name: 'From text' }).waitFor();
    const { data } = await workspace.session.call('listAutomationWorkflowSummaries', { query: { q: 'From text' } });
    expect(data).toHaveLength(1);
  });

  test('a save over a newer version is refused, and the text is not lost', async () => {
    const id = await create('Shared');
    await using tab = await open(`/app/workflows/${id}/edit`);
    const { page } = tab;
    const field = page.getByRole('textbox', { name: 'Workflow as JSON' });
    const text = (await field.inputValue()).replace('Hello', 'Mine');
    await field.fill(text);
    await workspace.session.call('updateAutomationWorkflow', {
      params: { id },
      body: { stepsJson: [{ type: 'log', message: 'Theirs' }] },
    });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Version 2 was saved meanwhile.').waitFor();
    expect(await field.inputValue()).toBe(text);
    expect(JSON.stringify((await read(id)).stepsJson)).toContain('Theirs');
    await page.getByRole('button', { name: 'Show the newest version' }).click();
    await page.getByRole('dialog').getByText('Theirs').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Save my text as the newest version' }).click();
    await page.getByText('Saved as version 3').waitFor();
    expect(JSON.stringify((await read(id)).stepsJson)).toContain('Mine');
    // Unsaved text is not left by mistake.
    await field.fill(`${text} `);
    await page.getByRole('link', { name: 'Settings' }).last().click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Stay' }).click();
    expect(await field.inputValue()).toBe(`${text} `);
  });

  test('text that is typed while the hub saves stays, and belongs to the next version', async () => {
    const id = await create('Slow');
    await using tab = await open(`/app/workflows/${id}/edit`);
    const { page } = tab;
    const field = page.getByRole('textbox', { name: 'Workflow as JSON' });
    const first = (await field.inputValue()).replace('Hello', 'First');
    const second = first.replace('First', 'Second');
    const isTyped = Promise.withResolvers<void>();
    const isSent = Promise.withResolvers<void>();
    await page.route(`**/automations/workflows/${id}`, async (route) => {
      if (route.request().method() === 'PATCH') {
        isSent.resolve();
        await isTyped.promise;
      }
      await route.continue();
    });
    await field.fill(first);
    await field.press('Control+s');
    await isSent.promise;
    await field.fill(second);
    isTyped.resolve();
    await page.getByText('Saved as version 2').waitFor();
    expect(await field.inputValue()).toBe(second);
    expect(JSON.stringify((await read(id)).stepsJson)).toContain('First');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved as version 3').waitFor();
    expect(JSON.stringify((await read(id)).stepsJson)).toContain('Second');
  });

  test('a workflow is deleted although the page is left before the time to undo is over', async () => {
    const id = await create('Left behind');
    await using tab = await open(`/app/workflows/${id}/settings`, { keepsUndo: true });
    const { page } = tab;
    await page.getByRole('button', { name: 'Delete workflow' }).click();
    await page.getByText('Left behind will be deleted').waitFor();
    await page.goto('about:blank');
    await expect
      .poll(() =>
        read(id).then(
          () => 'stored',
          ({ status }: { status: number }) => status,
        ),
      )
      .toBe(404);
  });

  test('the overview shows trigger and steps, hides the token, and keeps hostile text as text', async () => {
    const token = 'a-token-that-no-page-shows';
    const id = await create('Orders', {
      triggerJson: { type: 'webhook', webhook: { token, events: ['order.paid'] } },
      stepsJson: [
        { type: 'log', id: 'first', message: '<b>bold</b> \u202Egnp', when: '{{payload.paid}}' },
        { type: 'approval', title: 'Ship it?', approvers: ['ann@harbour.example'] },
      ],
    });
    await using tab = await open(`/app/workflows/${id}`);
    const { page } = tab;
    await page.getByText('calls the inbound hook with the event order.paid').waitFor();
    await page.getByText('<b>bold</b> ⟨U+202E⟩gnp').waitFor();
    await page.getByText('{{payload.paid}}').waitFor();
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByText('The token of the webhook is not shown here.').waitFor();
    expect(await page.content()).not.toContain(token);
    expect(new URL(page.url()).searchParams.get('view')).toBe('json');
    await page.getByRole('link', { name: 'Edit' }).click();
    const field = page.getByRole('textbox', { name: 'Workflow as JSON' });
    expect(await field.inputValue()).not.toContain(token);
    await field.fill((await field.inputValue()).replace('Ship it?', 'Send it?'));
    await field.press('Control+s');
    await page.getByText('Saved as version 2').waitFor();
    expect((await read(id)).triggerJson).toMatchObject({ webhook: { token } });
  });

  test('a version is restored as a new one', async () => {
    const id = await create('Old name');
    await workspace.session.call('updateAutomationWorkflow', { params: { id }, body: { name: 'New name' } });
    await workspace.session.call('updateAutomationWorkflow', {
      params: { id },
      body: { stepsJson: [{ type: 'log', message: 'changed' }] },
    });
    await using tab = await open(`/app/workflows/${id}/versions`);
    const { page } = tab;
    await page.getByRole('link', { name: /Version 1.*Saved by/ }).click();
    await page.getByRole('button', { name: 'Restore this version' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore this version' }).click();
    await page.getByText(/Version 1 is restored as version/).waitFor();
    expect(JSON.stringify((await read(id)).stepsJson)).toContain('Hello');
    await page.getByRole('list', { name: 'Versions, newest first' }).getByText('Current').waitFor();
  });

  test('a workflow is turned off, then cannot be run, and a deletion can be undone', async () => {
    const id = await create('Switched');
    await using tab = await open(`/app/workflows/${id}/settings`, { keepsUndo: true });
    const { page } = tab;
    await page.getByRole('switch', { name: 'Workflow is on' }).click();
    await page.getByText('Switched is off').waitFor();
    expect((await read(id)).active).toBe(false);
    expect(await page.getByRole('button', { name: 'Run…' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Delete workflow' }).click();
    await page.getByRole('heading', { level: 1, name: 'Workflows' }).waitFor();
    await page.getByRole('link', { name: 'Shared' }).waitFor();
    expect(await page.getByRole('link', { name: 'Switched' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { level: 1, name: 'Switched' }).waitFor();
    await page.getByRole('button', { name: 'Delete workflow' }).click();
    await page.getByRole('button', { name: 'Close' }).last().click();
    await expect
      .poll(() =>
        workspace.session
          .call('listAutomationWorkflowSummaries', { query: { q: 'Switched' } })
          .then(({ data }) => data.length),
      )
      .toBe(0);
  });

  test('a deleted workflow is restored from the list, and changes of colleagues appear without a reload', async () => {
    const hostile = '<b>Gone</b> \u202Egnp';
    const id = await create(hostile);
    await using tab = await open('/app/workflows');
    const { page } = tab;
    await page.getByText('<b>Gone</b>').waitFor();
    await workspace.api.call('deleteAutomationWorkflow', { params: { id } });
    await page.getByText('<b>Gone</b>').waitFor({ state: 'detached' });
    await page.getByLabel('State', { exact: true }).selectOption('deleted');
    expect(new URL(page.url()).searchParams.get('deleted')).toBe('true');
    const row = page.getByRole('list', { name: 'Deleted workflows' }).getByRole('listitem').first();
    await row.getByText('<b>Gone</b>').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
    await row.getByRole('button', { name: /^Restore/ }).click();
    await page.getByText(/is restored and off/).waitFor();
    expect(await read(id)).toMatchObject({ name: hostile, active: false });
    await page.getByLabel('State', { exact: true }).selectOption('');
    // The name is also in the message that says that the workflow is restored.
    await page.getByRole('link', { name: '<b>Gone</b>' }).waitFor();
    await workspace.api.call('updateAutomationWorkflow', { params: { id }, body: { name: 'Back again' } });
    await page.getByRole('link', { name: 'Back again' }).waitFor();
  });

  test('the list finds, sorts, and shows the last run live', async () => {
    const id = await create('Zebra crossing');
    await using tab = await open('/app/workflows');
    const { page } = tab;
    await page.getByRole('searchbox', { name: 'Find by name' }).fill('zebra');
    const row = page.getByRole('row').filter({ hasText: 'Zebra crossing' });
    await row.getByText('Never ran').waitFor();
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    expect(new URL(page.url()).searchParams.get('q')).toBe('zebra');
    startedRun(await workspace.session.call('runAutomationWorkflow', { params: { id }, body: {} }));
    await row.getByText('Succeeded').waitFor();
    await row.getByRole('link', { name: 'Zebra crossing' }).click();
    // Until then, the only link of this name is the one of the main menu.
    await page.getByRole('heading', { level: 1, name: 'Zebra crossing' }).waitFor();
    await page.getByRole('link', { name: 'Runs' }).last().click();
    await page.getByText('This is the only run.').waitFor();
  });

  test('schedules show their next times in both zones, and mark changes of the clocks', async () => {
    await create('Nightly', {
      triggerJson: {
        type: 'schedule',
        schedule: { kind: 'cron', cron: '30 3 1 3,4 *', timezone: 'Europe/Berlin', overlap: 'skip' },
      },
    });
    await using tab = await open('/app/schedules', { timezoneId: 'America/New_York' });
    const { page } = tab;
    await page.getByRole('link', { name: 'Nightly' }).waitFor();
    await page.getByRole('columnheader', { name: 'Time there (Europe/Berlin)' }).waitFor();
    const march = page.getByRole('row').filter({ hasText: '1 Mar' }).first();
    await march.getByText(/03:30/).waitFor();
    await march.getByText(/21:30/).waitFor();
    await page.getByRole('row').filter({ hasText: '1 Apr' }).first().getByText('clock change').waitFor();
    await page.getByText('the time is skipped').waitFor();
    const time = march.getByText(/03:30/);
    expect(await time.getAttribute('title')).toMatch(/-03-01 02:30:00.000 UTC$/);
    await page.goto(`${hub.url}/app/workflows?q=Nightly`);
    const next = page
      .getByRole('row')
      .filter({ hasText: 'Nightly' })
      .getByText(/03:30|21:30|22:30/);
    expect(await next.getAttribute('title')).toMatch(/-01 0[12]:30:00.000 UTC$/);
  });

  test('the page of a schedule shows its rule, its next times, its runs when they start, and its JSON', async () => {
    const name = '<b>Once\u202e</b>';
    const startIn = (ms: number) => ({
      type: 'schedule' as const,
      schedule: { kind: 'at' as const, at: new Date(Date.now() + ms).toISOString() },
    });
    const id = await create(name, {
      triggerJson: startIn(86_400_000),
    });
    await using tab = await open('/app/schedules', { viewport: { width: 320, height: 700 } });
    const { page } = tab;
    await page.getByRole('link', { name: '<b>Once⟨U+202E⟩</b>' }).click();
    await page.waitForURL(`**/app/schedules/${id}`);
    await page.getByRole('heading', { level: 1, name: '<b>Once⟨U+202E⟩</b>' }).waitFor();
    await page.getByLabel('JSON', { exact: true }).getByText('"kind": "at"').waitFor();
    const runs = page.locator('section', { has: page.getByRole('heading', { name: 'Last runs' }) });
    await runs.getByText('The schedule has not started a run yet.').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    // Only now, so that a slow page is opened before the run.
    await workspace.session.call('updateAutomationWorkflow', {
      params: { id },
      body: { triggerJson: startIn(15_000) },
    });
    await runs.getByText('Succeeded').waitFor();
    await page.getByText('It has no further times.').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.getByRole('main').getByRole('link', { name: 'Workflow', exact: true }).click();
    await page.waitForURL(`**/app/workflows/${id}`);
    await page.goto(`${hub.url}/app/schedules/${await create('Manual')}`);
    await page.getByText('This workflow has no schedule').waitFor();
    expect(await page.getByRole('heading', { level: 1 }).allInnerTexts()).toEqual(['Manual']);
  });

  test.each([
    ['light', 1280],
    ['dark', 320],
  ] as const)('the pages are accessible with the %s theme at %i pixels', async (colorScheme, width) => {
    const id = await create('Accessible', {
      inputs: { type: 'object', properties: { city: { type: 'string' } } },
      limits: { maxConcurrentRuns: 1 },
      triggerJson: { type: 'schedule', schedule: { kind: 'interval', everySeconds: 86_400 } },
    });
    await using tab = await open('/app/workflows', { colorScheme, viewport: { width, height: 700 } });
    const { page } = tab;
    const paths = ['', `/${id}`, `/${id}/edit`, `/${id}/runs`, `/${id}/versions?version=1`, `/${id}/settings`, '/new'];
    for (const path of [...paths.map((one) => `/app/workflows${one}`), '/app/schedules', `/app/schedules/${id}`]) {
      await page.goto(hub.url + path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
      expect(await accessibilityViolations(page), path).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), path).toBe(true);
    }
  });
});
