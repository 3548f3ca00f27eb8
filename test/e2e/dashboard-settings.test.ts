import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { avoidPeriodEnd, dayMs } from '../fixtures/avoid-period-end.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import type { Receiver } from '../fixtures/receiver.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { makeRetriesDue } from '../fixtures/stage/webhooks.ts';

const sections = [
  'profile',
  'members',
  'entitlements',
  'chat',
  'chat-ai',
  'channels',
  'policy',
  'carriers',
  'models',
  'ai-usage',
  'tokens',
  'webhooks',
  'origins',
  'audit',
  'usage-events',
];
/** A name with HTML, an ANSI sequence and a character that reverses the text after it. */
const hostileName = '<img src=x onerror=alert(1)>\u001b[31mred\u202Egnp.exe';

describe.skipIf(!canOpenDashboard)('the settings of the dashboard (needs Chromium)', () => {
  let hub: TestHub;
  let browser: Browser;
  let receiver: Receiver;
  let model: ModelServer;
  let workspace: TestWorkspace;
  beforeAll(async () => {
    receiver = await startReceiver();
    model = await startModelServer();
    model.reply = () => 'OK';
    hub = await startHub({ EGRESS_ALLOW_HOSTS: `${new URL(receiver.url).host},${model.host}` });
    workspace = await hub.workspace('Harbour Café');
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
    await receiver?.[Symbol.asyncDispose]();
    await model?.[Symbol.asyncDispose]();
  });
  const open = (path: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
    openDashboard(browser, `/app/settings${path}`, { hubUrl: hub.url, session: workspace.jwt, ...options });
  const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name });
  const params = () => ({ tenantId: workspace.tenantId });

  test('a token is shown once with a curl line, works, and is refused after its deletion', async () => {
    await using tab = await open('/tokens');
    const { page } = tab;
    await page.getByRole('button', { name: 'Create a token' }).click();
    const form = dialog(page, 'Create a token');
    await form.getByLabel('Name').fill(hostileName.replace('\u001b', ''));
    expect(await form.getByRole('button', { name: 'Create a token' }).isDisabled()).toBe(true);
    await form.getByLabel('automations:run').check();
    await form.getByLabel('Environment').selectOption('test');
    await form.getByRole('button', { name: 'Create a token' }).click();
    const created = dialog(page, 'The token is ready');
    const key = (await created.getByLabel('Token', { exact: true }).textContent()) ?? '';
    expect(await created.getByLabel('Try it').textContent()).toBe(`curl ${hub.url}/v1/me -H 'X-API-Key: ${key}'`);
    const own = await hub.client(key).call('readToken');
    expect(own).toMatchObject({ environment: 'test', permissions: ['automations:run'] });
    await created.getByRole('button', { name: 'I stored it' }).click();

    const row = page.getByRole('row', { name: /red/ });
    await row.waitFor();
    // The name is text, and the character that reverses text is visible.
    expect(await row.textContent()).toContain('<img src=x onerror=alert(1)>');
    expect(await row.textContent()).not.toContain('\u202E');
    expect(await page.content()).not.toContain(key);

    await row.getByRole('button', { name: /Delete/ }).click();
    await dialog(page, /Delete the token/)
      .getByRole('button', { name: 'Delete the token' })
      .click();
    await row.waitFor({ state: 'detached' });
    await expect(hub.client(key).call('readToken')).rejects.toMatchObject({ status: 401 });
  });

  test('an admin adds a member with a first password, changes the role and removes the member', async () => {
    await using tab = await open('/members');
    const { page } = tab;
    const email = 'ben@harbour.example';
    await page.getByRole('button', { name: 'Add with a password' }).click();
    await dialog(page, 'Add with a password').getByLabel('Email').fill(workspace.email);
    await dialog(page, 'Add with a password').getByRole('button', { name: 'Add with a password' }).click();
    await dialog(page, 'Add with a password').getByRole('alert').waitFor();
    await dialog(page, 'Add with a password').getByLabel('Email').fill(email);
    await dialog(page, 'Add with a password').getByRole('button', { name: 'Add with a password' }).click();
    const added = dialog(page, `${email} is a member now`);
    const password = (await added.getByLabel('First password').textContent()) ?? '';
    const ben = await hub.client().call('logIn', { body: { email, password } });
    await added.getByRole('button', { name: 'I stored it' }).click();

    await page.getByLabel(`Role of ${email}`).selectOption('admin');
    await dialog(page, `Give ${email} the role admin?`).getByRole('button', { name: 'Change the role' }).click();
    await expect.poll(() => page.getByLabel(`Role of ${email}`).inputValue()).toBe('admin');
    expect((await hub.client(ben.token).call('readMe')).user.role).toBe('admin');
    const { id } = await hub.client(ben.token).call('createApiToken', {
      params: params(),
      body: { name: 'of Ben', product: 'chat', permissions: ['chat:read'] },
    });

    await page.getByRole('button', { name: `Remove ${email}` }).click();
    const confirm = dialog(page, `Remove ${email}?`);
    await confirm.getByLabel('Also delete the API tokens that this member created').check();
    await confirm.getByRole('button', { name: 'Remove', exact: true }).click();
    await dialog(page, `${email} was removed`).getByText('of Ben').waitFor();
    await dialog(page, `${email} was removed`).getByRole('button', { name: 'Done' }).click();
    await page.getByLabel(`Role of ${email}`).waitFor({ state: 'detached' });
    await expect(hub.client(ben.token).call('readMe')).rejects.toMatchObject({ status: 401 });
    const { data: tokens } = await workspace.session.call('listApiTokens', { params: params() });
    expect(tokens.some((token) => token.id === id)).toBe(false);
    // The last admin keeps the role, and the page says why.
    await page.getByLabel(`Role of ${workspace.email}`).selectOption('agent');
    const refused = dialog(page, `Give ${workspace.email} the role agent?`);
    await refused.getByRole('button', { name: 'Change the role' }).click();
    await refused.getByRole('alert').waitFor();
  });

  test('an admin invites by link; the invited person joins with a password, lands in the dashboard, and the link is used up', async () => {
    await using tab = await open('/members');
    const { page } = tab;
    const email = 'ida@harbour.example';
    await page.getByRole('button', { name: 'Invite a member' }).click();
    await dialog(page, 'Invite a member').getByLabel('Email').fill(email);
    await dialog(page, 'Invite a member').getByRole('button', { name: 'Create the link' }).click();
    const ready = dialog(page, `The link for ${email} is ready`);
    const link = (await ready.getByLabel('Invitation link').textContent()) ?? '';
    await ready.getByRole('button', { name: 'I stored it' }).click();
    await page.getByRole('row', { name: email }).waitFor();

    await using guest = await openDashboard(browser, link.replace(hub.url, ''), { hubUrl: hub.url, session: null });
    await guest.page.getByRole('heading', { name: 'Join Harbour Café' }).waitFor();
    await guest.page.getByLabel('Your name (optional)').fill('Ida');
    await guest.page.getByLabel('New password', { exact: true }).fill('an entirely new passphrase');
    await guest.page.getByLabel('New password again').fill('an entirely new passphrase');
    await guest.page.getByRole('button', { name: 'Join' }).click();
    await guest.page.waitForURL(`${hub.url}/app`);
    await guest.page.getByRole('heading', { level: 1 }).waitFor();

    await page.reload();
    await page.getByRole('row', { name: /Ida/ }).waitFor();
    expect(await page.getByRole('heading', { name: 'Open invitations' }).count()).toBe(0);
    await guest.page.goto(link);
    await guest.page.getByText('Ask an admin of the workspace for a new link.').waitFor();
  });

  test('the first invitations say who cannot decide a command', async () => {
    const own = await hub.workspace('Four Eyes');
    await using tab = await open('/members', { session: own.jwt });
    const { page } = tab;
    const invite = dialog(page, 'Invite a member');
    const openDialog = async () => {
      await page.getByRole('row', { name: own.email }).waitFor();
      await page.getByRole('button', { name: 'Invite a member' }).click();
    };
    await openDialog();
    await invite.getByText('whoever wrote or started a command cannot approve it').waitFor();
    await hub.database.query(`UPDATE users SET password_hash = '' WHERE email = $1`, [own.email]);
    await page.reload();
    await openDialog();
    await invite.getByText('whoever wrote or started a command cannot approve it').waitFor();
    await invite.getByLabel('Role').selectOption('admin');
    await invite.getByText(`The account ${own.email} has no password.`).waitFor();
    // With one other member, the first account can still be that of sign-in links, which does not count.
    for (const [email, notes] of [
      ['second@harbour.example', 1],
      ['third@harbour.example', 0],
    ] as const) {
      await own.session.call('addMember', {
        params: { tenantId: own.tenantId },
        body: { email, password: 'correct horse battery', role: 'agent' },
      });
      await page.reload();
      await page.getByRole('row', { name: email }).waitFor();
      await openDialog();
      await invite.getByLabel('Email').waitFor();
      expect(await invite.getByText('whoever wrote or started').count()).toBe(notes);
    }
  });

  test('a workspace is renamed in its settings, and every page shows the new name', async () => {
    const renamed = await hub.workspace('Old Mill');
    await using tab = await open('/entitlements', { session: renamed.jwt });
    const { page } = tab;
    await page.getByLabel('Name of the workspace').fill('Harbour Café');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('is taken').first().waitFor();
    await page.getByLabel('Name of the workspace').fill('New Mill');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'New Mill' }).waitFor();
    expect((await renamed.session.call('readMe')).workspaceName).toBe('New Mill');
  });

  test('a user ends the other sessions, and the language follows the account to another browser', async () => {
    const user = await hub.workspace();
    const signIn = async () =>
      (await hub.client().call('logIn', { body: { email: user.email, password: user.password } })).token;
    const [here, elsewhere] = [await signIn(), await signIn()];
    await using tab = await open('/profile', { session: here });
    const { page } = tab;
    const sessions = page.locator('section', { has: page.getByRole('heading', { name: 'Where you are signed in' }) });
    await sessions.getByText('This session').waitFor();
    expect(await sessions.getByRole('listitem').count()).toBe(3);
    await sessions.getByRole('button', { name: 'Sign out everywhere else' }).click();
    await page.getByText('Other sessions that ended: 2').waitFor();
    await expect.poll(() => sessions.getByRole('listitem').count()).toBe(1);
    await expect(hub.client(elsewhere).call('readMe')).rejects.toMatchObject({ status: 401 });

    await page.getByRole('main').getByLabel('Language').selectOption('de');
    await page.getByRole('heading', { name: 'Wo Sie angemeldet sind' }).waitFor();
    await using other = await open('/profile', { session: await signIn() });
    await other.page.getByRole('heading', { name: 'Wo Sie angemeldet sind' }).waitFor();
  });

  test('an agent reads what agents may read, and sees why the rest is closed', async () => {
    const body = { email: 'dora@harbour.example', password: 'correct horse battery', role: 'agent' } as const;
    await workspace.session.call('addMember', { params: params(), body });
    const { token } = await hub.client().call('logIn', { body: { email: body.email, password: body.password } });
    await using tab = await open('/members', { session: token });
    const { page } = tab;
    await page.getByText('Only admins can add and remove members or change roles.').waitFor();
    await page.getByRole('row', { name: /dora/ }).waitFor();
    expect(await page.getByRole('combobox', { name: /Role of/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Policy' }).click();
    await page.getByText('You can read this section. Only admins can change it.').waitFor();
    expect(await page.getByLabel('Runs per hour').isDisabled()).toBe(true);
    expect(await page.getByRole('switch', { name: 'Quiet hours' }).isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('Only admins can open this section').waitFor();
    expect(tab.requests.filter((url) => new URL(url).pathname.endsWith('/webhooks'))).toEqual([]);
  });

  test('a webhook shows its deliveries with attempts and responses, and delivers again', async () => {
    const hostile = `<b>${hostileName}</b>`;
    receiver.answer = (_received, response) => void response.writeHead(400).end(hostile);
    await using tab = await open('/webhooks');
    const { page } = tab;
    await page.getByRole('button', { name: 'Create a webhook' }).click();
    const form = dialog(page, 'Create a webhook');
    await form.getByLabel('Address').fill('https://10.0.0.1/private');
    await form.getByRole('button', { name: 'Create a webhook' }).click();
    // The hub refuses the address; the reason is at its field.
    await expect.poll(() => form.getByLabel('Address').getAttribute('aria-invalid')).toBe('true');
    expect(await form.locator('[role=alert]:not(.sr-only)').count()).toBe(0);
    await form.getByLabel('Address').fill(`${receiver.url}/events`);
    await form.getByRole('button', { name: 'Create a webhook' }).click();
    const created = dialog(page, 'The webhook is ready');
    expect(await created.getByLabel('Signing secret').textContent()).toMatch(/^whsec_/);
    await page.evaluate(
      "navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'))",
    );
    await created.getByRole('button', { name: 'Copy' }).click();
    await created.getByRole('button', { name: 'Not copied' }).waitFor();
    await created.getByRole('button', { name: 'I stored it' }).click();

    await page.getByRole('link', { name: `${receiver.url}/events` }).click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('cell').getByText('Failed, will be retried').waitFor();
    await page.getByRole('link', { name: 'message.created' }).click();
    const delivery = dialog(page, 'Delivery');
    await delivery.getByText('Attempt 1').waitFor();
    expect(await delivery.getByLabel('Request').textContent()).toContain('"test": true');
    const shown = (await delivery.getByLabel('Response').first().textContent()) ?? '';
    expect(shown).toContain('<b><img src=x onerror=alert(1)>');
    expect(shown).not.toContain('\u001b');
    expect(shown).not.toContain('\u202E');
    expect(page.url()).toContain('delivery=');

    receiver.answer = (_received, response) => void response.end('thanks');
    await delivery.getByRole('button', { name: 'Deliver again' }).click();
    await delivery.getByText('Delivered').waitFor();
    // The automatic retry may have had the same response.
    await delivery.getByText('thanks').first().waitFor();
    await delivery.getByRole('button', { name: 'Close' }).click();
    await page.getByLabel('Status', { exact: true }).selectOption('failed');
    await page.getByText('No delivery of the last 30 days matches the filters.').waitFor();
    expect(new URL(page.url()).searchParams.get('status')).toBe('failed');
    await page.getByLabel('Status', { exact: true }).selectOption('');

    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Rotate the secret' }).click();
    await dialog(page, 'Rotate the signing secret?').getByRole('button', { name: 'Rotate the secret' }).click();
    await dialog(page, 'The new secret').getByRole('button', { name: 'I stored it' }).click();
    await page.getByRole('switch', { name: 'Active' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Inactive').waitFor();
    const { data: webhooks } = await workspace.session.call('listWebhooks', { params: params() });
    expect(webhooks.map(({ active }) => active)).toEqual([false]);
  });

  test('"Deliver again" during an automatic retry shows the result of the retry', async () => {
    const finish = Promise.withResolvers<void>();
    let isHeld = false;
    let held = 0;
    receiver.answer = async (_received, response) => {
      if (!isHeld) return void response.writeHead(400).end('not yet');
      held += 1;
      await finish.promise;
      response.end('at last');
    };
    const { id } = await workspace.session.call('createWebhook', {
      params: params(),
      body: { url: `${receiver.url}/retries`, events: ['message.created'] },
    });
    const { id: deliveryId } = await workspace.session.call('testWebhook', { params: { ...params(), id } });
    await using tab = await open(`/webhooks?id=${id}&delivery=${deliveryId}`);
    const { page } = tab;
    const delivery = dialog(page, 'Delivery');
    await delivery.getByText('Failed, will be retried').waitFor();
    isHeld = true;
    await makeRetriesDue(hub.database, id);
    await expect.poll(() => held).toBe(1);
    const answered = page.waitForResponse(/\/redeliver$/);
    await delivery.getByRole('button', { name: 'Deliver again' }).click();
    await (await answered).finished();
    finish.resolve();
    await delivery.getByText('at last').first().waitFor();
    await delivery.getByText('Delivered').waitFor();
    await workspace.session.call('deleteWebhook', { params: { ...params(), id } });
  });

  test('a change by someone else is never overwritten unseen, and changes of other fields are kept', async () => {
    await workspace.api.call('putAutomationPolicy', { body: { maxRunsPerHour: 10, standingOrders: 'Be brief.' } });
    await using tab = await open('/policy');
    const { page } = tab;
    await page.getByLabel('Runs per hour').fill('20');
    await workspace.api.call('putAutomationPolicy', { body: { maxRunsPerHour: 30, standingOrders: 'Be kind.' } });
    // The page follows the change by its event.
    await page.getByText('Changed by someone else and by you: Runs per hour.').waitFor();
    expect((await workspace.api.call('getAutomationPolicy')).maxRunsPerHour).toBe(30);
    expect(await page.getByLabel('Standing orders').inputValue()).toBe('Be kind.');
    await page.getByRole('button', { name: 'Keep my values' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    const saved = await workspace.api.call('getAutomationPolicy');
    expect([saved.maxRunsPerHour, saved.standingOrders]).toEqual([20, 'Be kind.']);
    // Unsaved changes are not lost by a click.
    await page.getByLabel('Runs per hour').fill('40');
    await page.getByRole('link', { name: 'Members' }).click();
    await dialog(page, 'Leave without saving?').getByRole('button', { name: 'Stay' }).click();
    expect(await page.getByLabel('Runs per hour').inputValue()).toBe('40');
    await page.getByRole('button', { name: 'Discard changes' }).click();
    expect(await page.getByLabel('Runs per hour').inputValue()).toBe('20');
  });

  test('a change between the reading and the saving is merged, or a conflict if it is of the same field', async () => {
    await workspace.api.call('putAutomationPolicy', { body: { maxRunsPerHour: 10, standingOrders: 'Be brief.' } });
    await using tab = await open('/policy');
    const { page } = tab;
    /** What a colleague sets after the page has read the policy and before its request arrives. */
    let between: { maxRunsPerHour: number; standingOrders: string } | null = null;
    await page.route('**/v1/automations/policies', async (route) => {
      const body = between;
      between = null;
      if (route.request().method() === 'PUT' && body !== null)
        await workspace.api.call('putAutomationPolicy', { body });
      else between = body;
      await route.continue();
    });
    await page.getByLabel('Runs per hour').fill('20');
    between = { maxRunsPerHour: 10, standingOrders: 'Be kind.' };
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    const merged = await workspace.api.call('getAutomationPolicy');
    expect([merged.maxRunsPerHour, merged.standingOrders]).toEqual([20, 'Be kind.']);

    await page.getByLabel('Runs per hour').fill('25');
    between = { maxRunsPerHour: 50, standingOrders: 'Be kind.' };
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changed by someone else and by you: Runs per hour.').waitFor();
    expect((await workspace.api.call('getAutomationPolicy')).maxRunsPerHour).toBe(50);
    await page.getByRole('button', { name: 'Use their values' }).click();
    expect(await page.getByLabel('Runs per hour').inputValue()).toBe('50');
  });

  test('a model is tested as it is stored, and the words of its provider are text', async () => {
    await workspace.session.call('putAutomationModels', {
      body: {
        models: [{ id: 'tried', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'alpha', apiKey: 'k' }],
        order: ['tried'],
      },
    });
    await using tab = await open('/models');
    const { page } = tab;
    const button = page.getByRole('button', { name: 'Test tried' });
    await page.getByText('No answer in 24 hours').waitFor();
    expect(await page.getByText('Healthy', { exact: true }).count()).toBe(0);
    await button.click();
    await page.getByText(/^Answered in/).waitFor();
    await page.getByText('Healthy', { exact: true }).waitFor();
    model.reply = () => ({ status: 401, error: { message: 'No such key <img src=x onerror=alert(1)>' } });
    await button.click();
    await page.getByText('No answer: http_401').waitFor();
    await page.getByText('<img src=x onerror=alert(1)>').waitFor();
    await page.getByText('The last test failed').waitFor();
    expect(await page.getByText('Healthy', { exact: true }).count()).toBe(0);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Edit tried' }).click();
    await page.getByLabel('Model', { exact: true }).fill('beta');
    expect(await button.isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Discard changes' }).click();
    expect(await button.isDisabled()).toBe(false);
  });

  test('each model in use shows whether it is healthy, or since when the hub skips it and when it is tried again', async () => {
    const { api, jwt } = await hub.workspace();
    const ofKey = (id: string, apiKey: string) =>
      ({ id, provider: 'openai-compatible', baseUrl: model.baseUrl, model: id, apiKey }) as const;
    await api.call('putAutomationModels', {
      body: { models: [ofKey('wrong', 'no'), ofKey('right', 'k'), ofKey('spare', 'k')], order: ['wrong', 'right'] },
    });
    model.reply = ({ headers }) => (headers.authorization === 'Bearer no' ? { status: 401 } : 'OK');
    const stepsJson = [{ type: 'skill', skillId: 'ai.invoke', input: { input: 'Why?' } }] as never;
    const { id } = await api.call('createAutomationWorkflow', { body: { name: 'ask', stepsJson } });
    const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} }));
    await settledRun(api, runId);
    await using tab = await open('/models', { session: jwt, viewport: { width: 320, height: 760 } });
    const { page } = tab;
    const row = (name: string) => page.getByRole('listitem').filter({ hasText: name });
    await row('wrong').getByText('Paused', { exact: true }).waitFor();
    await row('wrong').getByText('Skipped since: ').waitFor();
    await row('wrong')
      .getByText(/Tried again: (in|just now|with the next call)/)
      .waitFor();
    await row('right').getByText('Healthy').waitFor();
    await row('spare').getByText('Not in use').waitFor();
    expect(await page.getByText('Healthy').count()).toBe(1);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  test("the health of the hub's own model is shown while it is in use", async () => {
    await using other = await startHub({ AI_BASE_URL: model.baseUrl, AI_MODEL: 'of-the-hub', AI_API_KEY: 'k' });
    const { jwt, keys } = await other.workspace();
    await using tab = await openDashboard(browser, '/app/settings/models', { hubUrl: other.url, session: jwt });
    const { page } = tab;
    await page.getByText('The hub uses its own model, of-the-hub.').waitFor();
    await page.getByText('No answer in 24 hours').waitFor();
    model.reply = () => 'OK';
    const ask = () => other.client(keys.ai).call('createAiRun', { body: { input: 'Why?' } });
    await ask();
    await page.getByText('Healthy', { exact: true }).waitFor();
    model.reply = () => ({ status: 401 });
    await expect(ask()).rejects.toMatchObject({ code: 'inference_failed' });
    await page.getByText('Paused', { exact: true }).waitFor();
    await page.getByText('Too many calls failed, so the hub skips this model for now.').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });

  test('models keep their keys when they are reordered as form or as JSON, and errors are at their field', async () => {
    await workspace.session.call('putAutomationModels', {
      body: {
        models: [
          { id: 'main', provider: 'openai', model: 'gpt-5', apiKey: 'sk-main' },
          { id: 'backup', provider: 'anthropic', model: 'claude', apiKey: 'sk-backup' },
        ],
        order: ['main', 'backup'],
      },
    });
    await using tab = await open('/models');
    const { page } = tab;
    const stored = () => workspace.api.call('getAutomationModels');
    await page.getByRole('button', { name: 'Move backup up' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await stored()).order).toEqual(['backup', 'main']);
    expect((await stored()).models.map(({ apiKeySet }) => apiKeySet)).toEqual([true, true]);

    await page.getByRole('button', { name: 'Edit main' }).click();
    await page.getByLabel('Your name for it').nth(1).fill('backup');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('is used by an earlier model').first().waitFor();
    expect(await page.getByLabel('Your name for it').nth(1).getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('button', { name: 'Discard changes' }).click();

    await page.getByRole('tab', { name: 'JSON' }).click();
    const json = page.getByRole('textbox', { name: 'Models' });
    const text = await json.inputValue();
    expect(text).not.toContain('sk-');
    await json.fill(text.slice(0, -5));
    await page.getByText('This is not JSON yet.').waitFor();
    await json.fill(text.replace(/"order": \[[^\]]*\]/, '"order": ["main"]'));
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await stored()).order).toEqual(['main']);
    await page.getByRole('tab', { name: 'Form' }).click();
    await page.getByText('Not in use').waitFor();
  });

  test('the chat settings save only what was changed and show the line for the site', async () => {
    await using tab = await open('/chat');
    const { page } = tab;
    await page.getByText(`<script async src="${hub.url}/widget.js"`).waitFor();
    await page.getByLabel('Sites that may show the chat').fill('https://www.harbour.example/shop');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.getByLabel('Sites that may show the chat').getAttribute('aria-invalid')).toBe('true');
    await workspace.session.call('putChatSettings', { params: params(), body: { title: 'Harbour' } });
    await page.getByLabel('Sites that may show the chat').fill('https://www.harbour.example\n');
    await page.getByRole('switch', { name: 'The chat has opening hours' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    const saved = await workspace.session.call('getChatSettings', { params: params() });
    expect(saved).toMatchObject({ title: 'Harbour', allowedOrigins: ['https://www.harbour.example'] });
    expect(saved.businessHours?.periods).toHaveLength(5);
    expect(await page.getByLabel('Title').inputValue()).toBe('Harbour');
  });

  test('a channel is created with its own secret, and an empty field keeps a stored one', async () => {
    await using tab = await open('/channels');
    const { page } = tab;
    await page.getByRole('button', { name: 'Create a channel' }).click();
    const form = dialog(page, 'Create a channel');
    await form.getByLabel('Service').selectOption('telegram');
    await form.getByLabel('Name', { exact: true }).fill('Harbour bot');
    await form.getByLabel('Bot token').fill('123:abc');
    const secret = await form.getByLabel('Inbound secret').inputValue();
    expect(secret).toMatch(/^[0-9a-f]{48}$/);
    await form.getByRole('button', { name: 'Create a channel' }).click();
    await page.getByRole('heading', { name: 'Harbour bot' }).waitFor();
    const id = new URL(page.url()).searchParams.get('id') ?? '';
    expect(await page.getByLabel('Address for received messages').textContent()).toBe(
      `${hub.url}/v1/automations/channels/${id}/inbound`,
    );
    await page.getByLabel('Name', { exact: true }).fill('Harbour bot 2');
    await page.getByLabel('Address of the API').fill('https://telegram.harbour.example');
    await page.getByRole('button', { name: 'Save' }).click();
    // A token is never sent to a new address unseen.
    await expect.poll(() => page.getByLabel('Bot token').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Bot token').fill('456:def');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Harbour bot 2' }).waitFor();
    const channel = await workspace.api.call('getAutomationChannel', { params: { id } });
    expect(channel.secretsSet.toSorted()).toEqual(['botToken', 'inboundSecret']);
    const received = await fetch(`${hub.url}${channel.inboundPath}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret },
      body: '{}',
    });
    expect(received.status).not.toBe(401);
  });

  test('a carrier connection shows its secret once and its address for reports, and is changed and deleted', async () => {
    await using tab = await open('/carriers');
    const { page } = tab;
    await page.getByText('No carrier connection yet').waitFor();
    await page.getByRole('button', { name: 'Add a connection' }).click();
    const form = dialog(page, 'Add a connection');
    await form.getByLabel('Name').fill('Main line');
    await form.getByLabel('Auth token').fill('short');
    await form.getByRole('button', { name: 'Add a connection' }).click();
    await form
      .getByText(/at least 16 characters/)
      .first()
      .waitFor();
    await form.getByLabel('Carrier').selectOption('kamailio');
    await form.getByRole('button', { name: 'Add a connection' }).click();
    const ready = dialog(page, 'The connection is ready');
    const secret = (await ready.getByLabel('Signing secret').textContent()) ?? '';
    expect(secret).toHaveLength(43);
    await ready.getByRole('button', { name: 'I stored it' }).click();

    const { data } = await workspace.session.call('listCallConnections', {});
    await expect.poll(() => page.getByLabel('Address for reports').textContent()).toBe(data[0]?.url);
    await page.getByLabel('Name').fill('Second line');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Second line' }).waitFor();
    await page.getByRole('button', { name: 'Replace the signing secret' }).click();
    await dialog(page, 'Replace the signing secret?')
      .getByRole('button', { name: 'Replace the signing secret' })
      .click();
    const replaced = dialog(page, 'The signing secret is replaced');
    expect(await replaced.getByLabel('Signing secret').textContent()).not.toBe(secret);
    await replaced.getByRole('button', { name: 'I stored it' }).click();
    await page.getByRole('button', { name: 'Delete the connection' }).click();
    await dialog(page, /Second line/)
      .getByRole('button', { name: 'Delete the connection' })
      .click();
    await page.getByText('No carrier connection yet').waitFor();
  });

  test('a SIP trunk says why it is not registered, and the SIP of the hub says what is missing', async () => {
    await using tab = await open('/carriers');
    const { page } = tab;
    await page.getByRole('button', { name: 'Set up the trunk' }).click();
    const form = dialog(page, 'Set up the trunk');
    await form.getByLabel('Host').fill('sip.invalid');
    await form.getByLabel('User name').fill('harbour');
    await form.getByLabel('Password').fill('correct horse battery');
    await form.getByRole('button', { name: 'Save and register' }).click();
    await page.getByText('Unreachable', { exact: true }).waitFor();
    await page.getByText('The host name was not found').waitFor();
    expect(await page.content()).not.toContain('correct horse battery');
    await page.getByRole('button', { name: 'Remove' }).click();
    await dialog(page, 'Remove the SIP trunk?').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Set up the trunk' }).waitFor();

    await page.getByRole('button', { name: 'Turn on' }).click();
    await dialog(page, 'Turn on the SIP of this hub?').getByRole('button', { name: 'Turn on' }).click();
    await page.getByText('The operator of this hub has set up no SIP server yet.').waitFor();
    await page.getByRole('button', { name: 'Turn off' }).click();
    await dialog(page, 'Turn off the SIP of this hub?').getByRole('button', { name: 'Turn off' }).click();
    await page.getByText('Off', { exact: true }).waitFor();
  });

  test('the profile changes the name, and a wrong password stays a field of its form', async () => {
    const { token } = await hub
      .client()
      .call('logIn', { body: { email: workspace.email, password: workspace.password } });
    await using tab = await open('', { session: token });
    const { page } = tab;
    await page.getByLabel('Display name').fill('Ann Petersen');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    await page.getByLabel('Current password').fill('wrong');
    await page.getByLabel('New password', { exact: true }).fill(workspace.password);
    await page.getByLabel('New password again').fill(workspace.password);
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText('The current password is wrong.').waitFor();
    expect(await dialog(page, 'Your session ended').count()).toBe(0);
    const { user } = await hub.client(token).call('readMe');
    expect(user.displayName).toBe('Ann Petersen');
  });

  test('after a change of the password, the list of sessions has only the present one', async () => {
    const { email, password } = await hub.workspace('Passwords');
    const signIn = async () => (await hub.client().call('logIn', { body: { email, password } })).token;
    await signIn();
    await using tab = await open('', { session: await signIn() });
    const { page } = tab;
    const sessions = page.locator('section', { has: page.getByRole('heading', { name: 'Where you are signed in' }) });
    await sessions.getByRole('listitem').nth(1).waitFor();
    await page.getByLabel('Current password').fill(password);
    await page.getByLabel('New password', { exact: true }).fill('an entirely new passphrase');
    await page.getByLabel('New password again').fill('an entirely new passphrase');
    await page.getByRole('button', { name: 'Change the password' }).click();
    await expect.poll(() => sessions.getByRole('listitem').count()).toBe(1);
    await sessions.getByText('This session').waitFor();
  });

  test.each(['light', 'dark'] as const)(
    'tables on a phone show every value and action without scrolling, with the %s theme',
    async (colorScheme) => {
      const { jwt, session, email, tenantId } = await hub.workspace();
      const toTenant = { tenantId };
      await session.call('createApiToken', {
        params: toTenant,
        body: { name: 'of the till', product: 'chat', permissions: ['chat:read'] },
      });
      await session.call('createWebhook', {
        params: toTenant,
        body: { url: `${receiver.url}/a/rather/long/path/of/a/receiver`, events: ['csat.submitted'] },
      });
      const actions = {
        members: { role: 'button', name: `Remove ${email}` },
        tokens: { role: 'button', name: 'Delete of the till' },
        webhooks: { role: 'switch', name: /receiver/ },
      } as const;
      for (const [section, { role, name }] of Object.entries(actions)) {
        await using tab = await open(`/${section}`, {
          session: jwt,
          colorScheme,
          viewport: { width: 390, height: 844 },
        });
        const { page } = tab;
        const action = page.getByRole(role, { name });
        await action.waitFor();
        const box = await action.boundingBox();
        expect((box?.x ?? 0) + (box?.width ?? 1_000), section).toBeLessThanOrEqual(390);
        expect(
          await page.evaluate(
            `[...document.querySelectorAll('main *')].filter((each) => each.scrollWidth > each.clientWidth && getComputedStyle(each).overflowX === 'auto' && each.querySelector('table') !== null).length`,
          ),
          section,
        ).toBe(0);
        expect(await accessibilityViolations(page)).toEqual([]);
      }
    },
  );

  test('the policy names the field that the hub refused, and the reason once', async () => {
    await using tab = await open('/policy');
    const { page } = tab;
    const field = page.getByLabel(/Skills that/);
    await field.fill('mail.send');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Not saved. Correct the marked field:').waitFor();
    expect(await page.getByText('"mail.send" matches no skill of this hub').count()).toBe(1);
    expect(await page.getByText('body.').count()).toBe(0);
    await field.fill('email.send');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
  });

  test('an account without a password learns how it signs in, also when its session ended', async () => {
    const own = await hub.workspace('Linked');
    await hub.database.query(`UPDATE users SET password_hash = '' WHERE email = $1`, [own.email]);
    await using tab = await open('', { session: own.jwt });
    const { page } = tab;
    await page.getByText('This account has no password.').waitFor();
    await page.getByText(`npx outrigger user password --workspace Linked --email ${own.email}`).waitFor();
    expect(await page.getByLabel('Current password').count()).toBe(0);
    await page.getByLabel('Display name').fill('Ann');
    const context = page.context();
    const cookies = await context.cookies();
    await context.clearCookies();
    await page.getByRole('button', { name: 'Save' }).click();
    await dialog(page, 'Your session ended').getByText('npx outrigger link').waitFor();
    // Another tab signs the browser in again.
    await context.addCookies(cookies);
    await page.evaluate('dispatchEvent(new Event("focus"))');
    await dialog(page, 'Your session ended').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Display name').inputValue()).toBe('Ann');
  });

  test('the audit log is filtered by its address, read page by page, and shows the JSON on demand', async () => {
    for (let index = 0; index < 30; index++)
      await workspace.session.call('putAllowedOrigins', {
        params: params(),
        body: { origins: [`https://inbox${index}.harbour.example`] },
      });
    await using tab = await open('/audit?targetType=workspace');
    const { page } = tab;
    const entries = page.getByRole('listitem').filter({ hasText: 'changed the browser origins' });
    const tokens = page.getByRole('listitem').filter({ hasText: 'created the API token' });
    await expect.poll(() => entries.count()).toBe(25);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => entries.count()).toBe(30);
    await entries.first().getByRole('button', { name: 'JSON' }).click();
    await entries.first().getByText('"allowed_origins.changed"').waitFor();
    await page.getByLabel('What').selectOption('token');
    await tokens.first().waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('Action').selectOption('allowed_origins.changed');
    await expect.poll(() => entries.count()).toBe(25);
    await page.getByLabel('To', { exact: true }).fill('2020-01-01T00:00');
    await page.getByText('No entry matches the filters.').waitFor();
    const { searchParams } = new URL(page.url());
    expect([searchParams.get('action'), searchParams.get('to')]).toEqual([
      'allowed_origins.changed',
      expect.stringMatching(/^20(19-12-31|20-01-01)T/),
    ]);
    await page.goBack();
    await expect.poll(() => entries.count()).toBe(25);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('What').selectOption('token');
    await tokens.first().waitFor();
    expect(new URL(page.url()).searchParams.get('targetType')).toBe('token');
  });

  test('entries of the audit log show what changed from which value to which, and names are text', async () => {
    const { api, session, jwt, tenantId } = await hub.workspace();
    const { nodeId } = await api.call('createAutomationNode', { body: { name: 'Kiosk' } });
    await api.call('updateAutomationNode', { params: { id: nodeId }, body: { name: '<b>Bar</b>', tags: ['a'] } });
    const policy = { maxRunsPerHour: 5, standingOrders: 'x'.repeat(200) };
    await session.call('putAutomationPolicy', { body: policy as never });
    await session.call('putAutomationPolicy', { body: { ...policy, maxRunsPerHour: 7 } as never });
    const models = [{ id: 'main', provider: 'openai', model: 'gpt-5', apiKey: 'sk-main' } as const];
    await api.call('putAutomationModels', { body: { models, order: ['main'] } });
    const { id: userId } = await session.call('addMember', {
      params: { tenantId },
      body: { email: 'ben@harbour.example', role: 'agent', password: 'correct horse battery' } as never,
    });
    await session.call('changeMember', { params: { tenantId, userId }, body: { role: 'admin' } });
    await using tab = await open('/audit', { session: jwt, viewport: { width: 320, height: 760 } });
    const { page } = tab;
    const changesIn = async (action: string) => {
      const entry = page.locator('main li', { has: page.getByText(action, { exact: true }) }).first();
      await entry.waitFor();
      return (await entry.locator('li').allInnerTexts()).map((text) => text.replaceAll('\n', ' '));
    };
    expect(await changesIn('changed the node')).toEqual([
      'name before: Kiosk after: <b>Bar</b>',
      'tags before: – after: a',
    ]);
    expect(await changesIn('changed the policy')).toEqual(['maxRunsPerHour before: 5 after: 7']);
    expect(await changesIn('changed the AI models')).toContain('main.model before: – after: gpt-5');
    expect(await changesIn('changed the role of the member')).toEqual(['before: agent after: admin']);
    expect(await page.getByText(`${'x'.repeat(120)}…`).count()).toBe(1);
    expect(await page.locator('main').innerText()).not.toContain('sk-main');
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  test('the audit log names the workflow and the node of an approval, shortens hashes, and tells tokens of one name apart', async () => {
    const own = await hub.workspace();
    const { session, jwt } = own;
    const keys = [await own.createKey(), await own.createKey()];
    for (const [index, { key }] of keys.entries())
      await hub.client(key).call('createAutomationAgent', { body: { name: `agent ${index}` } });
    const { nodeId } = await session.call('createAutomationNode', { body: { name: 'office-pc' } });
    const { id: workflowId } = await session.call('createAutomationWorkflow', {
      body: {
        name: 'harbour-report',
        stepsJson: [
          { type: 'approval', title: 'Send the <b>report</b>?' },
          { type: 'skill', skillId: 'node.ping', input: { nodeId } },
        ],
      },
    });
    const { runId } = startedRun(await session.call('runAutomationWorkflow', { params: { id: workflowId } }));
    await settledRun(session, runId);
    const [approval] = (await session.call('listAutomationApprovals', { query: { runId } })).data;
    const { id, requestHash } = approval as NonNullable<typeof approval>;
    await session.call('decideAutomationApproval', { params: { id }, body: { decision: 'rejected' } });
    await using tab = await open('/audit', { session: jwt });
    const { page } = tab;
    const entry = page.locator('main li', { has: page.getByText('rejected', { exact: true }) });
    for (const [name, href] of [
      [`…${id.slice(-12)}`, `/app/approvals/${id}`],
      ['harbour-report', `/app/workflows/${workflowId}`],
      ['office-pc', `/app/nodes/${nodeId}`],
      [`…${runId.slice(-12)}`, `/app/runs/${runId}`],
    ] as const)
      expect(await entry.getByRole('link', { name, exact: true }).getAttribute('href')).toBe(href);
    await entry.getByText(`requestHash: …${requestHash.slice(-12)}`, { exact: true }).waitFor();
    expect(await entry.innerText()).not.toContain(requestHash);
    await entry.getByRole('button', { name: 'JSON' }).click();
    await entry.getByText(requestHash).waitFor();
    const actors = page
      .locator('main li', { has: page.getByText('created the AI agent', { exact: true }) })
      .locator('button[title="Show only the entries of this actor"]');
    await expect
      .poll(() => actors.allInnerTexts())
      .toEqual(keys.toReversed().map((key) => `Token test …${key.id.slice(-12)}`));
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  test('the first load has no code of other sections', async () => {
    await using tab = await open('/webhooks');
    await tab.page.getByRole('button', { name: 'Create a webhook' }).waitFor();
    const scripts = () => tab.requests.filter((url) => url.endsWith('.js')).map((url) => new URL(url).pathname);
    expect(scripts().some((path) => path.includes('webhooks-section'))).toBe(true);
    expect(scripts().some((path) => path.includes('policy-section'))).toBe(false);
  });

  test.each([
    ['light', 1280, 'en-GB'],
    ['dark', 320, 'en-GB'],
    ['light', 320, 'ar'],
    ['dark', 1280, 'de'],
  ] as const)(
    'every section is accessible with the %s theme at %i pixels in %s',
    async (colorScheme, width, locale) => {
      await using tab = await open('', { colorScheme, viewport: { width, height: 700 }, locale });
      const { page } = tab;
      const problems: unknown[] = [];
      for (const section of ['', ...sections]) {
        await page.goto(`${hub.url}/app/settings/${section}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await expect.poll(() => page.locator('main [role=status]:not(:empty)').count()).toBe(0);
        problems.push(...(await accessibilityViolations(page)).map((problem) => `${section}: ${problem}`));
        if (!(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')))
          problems.push(`${section} scrolls sideways`);
        const elements = await page.locator('*').count();
        if (elements > 3_000) problems.push(`${section} has ${elements} elements`);
      }
      expect(problems).toEqual([]);
    },
  );

  test('usage events show the chat sessions of a month as numbers, as bars and as a table', async () => {
    await avoidPeriodEnd(dayMs);
    const other = await hub.workspace();
    const live = hub.client(other.keys.chat as string);
    const testing = hub.client((await other.createKey({ product: 'chat', environment: 'test' })).key);
    for (const externalId of ['one', 'two']) await live.call('createChatSession', { body: { externalId } });
    await testing.call('createChatSession', { body: { externalId: 'three' } });
    await using tab = await open('/usage-events', { session: other.jwt });
    const { page } = tab;
    const today = new Date().toISOString().slice(0, 10);
    await page.getByTitle(`${today}: 3`).waitFor();
    await page.getByText('Numbers by day').click();
    await page.getByRole('row', { name: `${today} 2 1` }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByLabel('Month (UTC)').selectOption({ index: 1 });
    await page.getByText('No chat session was created in this month.').waitFor();
    expect(await page.getByTitle(/^\d{4}-\d\d-\d\d: /).count()).toBe(0);
    expect(tab.complaints).toEqual([]);
  });
});
