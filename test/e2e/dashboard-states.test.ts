import { readFileSync } from 'node:fs';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { kamailioStandIn } from '../fixtures/carriers.ts';
import { violationsInBothThemes } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';

/** Objects of the workspace, by the parameter of the route that shows one. */
type Scene = Record<
  'runId' | 'approvalId' | 'nodeId' | 'conversation' | 'workflowId' | 'sequenceId' | 'agentId' | 'sessionId' | 'packId',
  string
>;

interface PageStates {
  /** The route in `router.tsx`, or an address of it. */
  route: string;
  /** A text that the page has in a workspace with one object of each kind. */
  loaded: string;
  /** A text that the page has in a new workspace. Pages of objects have no such state, and packs come with the hub. */
  empty?: string;
  /** Whether the test of the page itself runs axe in its loaded state, in both themes. */
  hasTest?: false;
}

const pages: PageStates[] = [
  { route: '/', loaded: 'Send it?', empty: 'Your first minutes' },
  { route: '/runs', loaded: 'Morning report', empty: 'No runs yet' },
  { route: '/runs/$runId', loaded: 'Send it?' },
  { route: '/approvals', loaded: 'Send it?', empty: 'Nothing waits for a decision' },
  { route: '/approvals/$approvalId', loaded: 'Send it?' },
  { route: '/nodes', loaded: 'front-desk', empty: 'No machine is paired yet' },
  { route: '/nodes/$nodeId/{-$tab}', loaded: 'front-desk' },
  { route: '/inbox', loaded: 'Maria', empty: 'No conversations here' },
  { route: '/inbox?conversation=$conversation', loaded: 'Is the ferry running?' },
  { route: '/workflows', loaded: 'Morning report', empty: 'No workflows yet' },
  { route: '/workflows/$workflowId/{-$tab}', loaded: 'Read the orders' },
  { route: '/sequences', loaded: 'Welcome', empty: 'No sequences yet', hasTest: false },
  { route: '/sequences/$sequenceId', loaded: 'Say welcome' },
  { route: '/agents', loaded: 'Order desk', empty: 'No AI agents yet', hasTest: false },
  { route: '/agents/$agentId', loaded: 'Be kind.' },
  { route: '/sessions', loaded: 'Maria Okafor', empty: 'No sessions yet', hasTest: false },
  { route: '/sessions/$sessionId', loaded: 'Has it left?' },
  { route: '/schedules', loaded: 'Morning report', empty: 'No scheduled workflows' },
  { route: '/schedules/$workflowId', loaded: 'Last runs' },
  { route: '/packs', loaded: 'Daily screen report' },
  { route: '/packs/$packId', loaded: 'Daily screen report' },
  { route: '/knowledge', loaded: 'When do you open?', empty: 'No entries yet' },
  { route: '/calls', loaded: 'sip:desk@example.org', empty: 'No calls yet', hasTest: false },
  { route: '/settings/{-$section}', loaded: 'Display name' },
];

const states: { name: string; isIn: (page: PageStates) => boolean; shows: (page: PageStates) => string }[] = [
  { name: 'loaded', isIn: () => true, shows: ({ loaded }) => loaded },
  { name: 'empty', isIn: ({ empty }) => empty !== undefined, shows: ({ empty = '' }) => empty },
];

/** Fills a workspace with one object of each kind. `nameOf` changes their names. */
async function fill(
  hub: TestHub,
  { api, session, tenantId, keys }: TestWorkspace,
  nameOf = (name: string) => name,
): Promise<Scene> {
  const { id: workflowId } = await api.call('createAutomationWorkflow', {
    body: {
      name: nameOf('Morning report'),
      triggerJson: { type: 'schedule', schedule: { kind: 'interval', everySeconds: 86_400 } },
      stepsJson: [
        { type: 'log', name: nameOf('Read the orders'), message: 'Five orders' },
        { type: 'approval', title: nameOf('Send it?') },
      ],
    },
  });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id: workflowId }, body: {} }));
  await settledRun(api, runId);
  const { data: approvals } = await api.call('listAutomationApprovals', { query: { runId } });
  const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: { name: nameOf('front-desk') } });
  const device = {
    name: nameOf('pc'),
    platform: 'linux',
    arch: 'x64',
    osVersion: '1',
    appVersion: '1.0.0',
    capabilities: [],
  };
  await hub.client('').call('claimAutomationNode', { body: { pairingCode, device } });
  const { id: sequenceId } = await api.call('createAutomationSequence', {
    body: { name: nameOf('Welcome'), steps: [{ type: 'log', name: nameOf('Say welcome'), message: 'Hello' }] },
  });
  const { id: agentId } = await api.call('createAutomationAgent', {
    body: { name: nameOf('Order desk'), systemPrompt: 'Be kind.' },
  });
  const { id: sessionId } = await api.call('createAutomationSession', {
    body: { scope: 'dm', key: nameOf('maria'), title: nameOf('Maria Okafor') },
  });
  await api.call('appendAutomationSessionMessage', {
    params: { id: sessionId },
    body: { role: 'user', content: 'Has it left?' },
  });
  const { visitorToken, conversationId, siteKey } = await hub
    .client(keys.chat)
    .call('createChatSession', { body: { externalId: 'maria', displayName: nameOf('Maria') } });
  const { token } = await hub.client().call('openVisitorSession', { body: { siteKey, token: visitorToken } });
  await hub
    .client(token)
    .call('sendVisitorMessage', { body: { content: 'Is the ferry running?', clientId: 'message 1' } });
  const params = { tenantId };
  await session.call('putKnowledge', {
    params,
    body: { entries: [{ id: 'hours', question: 'When do you open?', answer: 'At nine.' }], terms: '' },
  });
  const connection = await session.call('createCallConnection', {
    body: { provider: 'kamailio', name: nameOf('Main line') },
  });
  const call = { callId: 'call-1', direction: 'inbound', from: '+15005550006', to: 'sip:desk@example.org' };
  await kamailioStandIn(connection.secret as string).send(hub.url, connection.url, {
    ...call,
    event: 'ringing',
    at: Math.floor(Date.now() / 1000),
  });
  return {
    runId,
    approvalId: approvals[0]?.id as string,
    nodeId,
    conversation: conversationId,
    workflowId,
    sequenceId,
    agentId,
    sessionId,
    packId: 'daily-screen-report',
  };
}

const addressOf = (hub: TestHub, scene: Scene, { route }: PageStates) => {
  const path = route.replace(/\/\{-\$\w+\}$/, '').replaceAll(/\$(\w+)/g, (_whole, name: keyof Scene) => scene[name]);
  return `${hub.url}/app${path}`;
};

/** Requests of data, except that of the session, without which there is no page. */
const isData = ({ pathname }: URL) => !/^\/(app|widget|auth\/me)\b/.test(pathname);

interface Failure {
  name: string;
  answer: (route: Route) => Promise<void>;
  /** The reason that the page shows. */
  reason: string;
}

const failures: Failure[] = [
  {
    name: 'answers with an error',
    answer: (route) =>
      route.fulfill({
        status: 500,
        // Without a delay before the page repeats the request.
        headers: { 'retry-after': '0' },
        json: { code: 'internal_error', message: 'The database is full.', requestId: 'request-1' },
      }),
    reason: 'The database is full.',
  },
  {
    name: 'does not answer',
    answer: (route) => route.abort('connectionrefused'),
    reason: 'The hub does not respond. Check your connection.',
  },
];

/** What is wrong with a page: its heading, its landmark, or, if `runsAxe`, its accessibility in one of the themes. */
async function problemsOf(page: Page, runsAxe = true): Promise<string[]> {
  const headings = await page.getByRole('heading', { level: 1 }).allInnerTexts();
  const mains = await page.getByRole('main').count();
  return [
    ...(headings.length === 1 ? [] : [`headings of level 1: ${headings.join(', ')}`]),
    ...(mains === 1 ? [] : [`main landmarks: ${mains}`]),
    ...(runsAxe ? await violationsInBothThemes(page) : []),
  ];
}

test('the table has every route of the dashboard', () => {
  const router = readFileSync('hub/web/dashboard/app/router.tsx', 'utf8');
  const routes = [...router.matchAll(/^ {2}path: '([^']+)',$/gm)].map(([, path]) => path);
  expect(routes.length).toBeGreaterThan(20);
  const known = pages.map(({ route }) => route);
  expect(routes.filter((route) => !known.includes(route as string))).toEqual([]);
});

describe.skipIf(!canOpenDashboard)('the pages of the dashboard (needs Chromium)', () => {
  let hub: TestHub;
  let browser: Browser;
  let full: TestWorkspace;
  let scene: Scene;
  let newSession: string;
  beforeAll(async () => {
    hub = await startHub({ SESSION_RATE_LIMIT_PER_MINUTE: '100000' });
    full = await hub.workspace('Harbour');
    scene = await fill(hub, full);
    const { token } = await hub.client().call('signUp', {
      body: { email: 'ann@harbour.example', password: 'correct horse battery', workspaceName: 'New' },
    });
    newSession = token;
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
  });

  test.each(states)('are accessible in both themes, with one heading and one main part: $name', async (state) => {
    const session = state.name === 'empty' ? newSession : full.jwt;
    // Without transitions, the colours of the theme change immediately.
    await using tab = await openDashboard(browser, '/app', { hubUrl: hub.url, session, reducedMotion: 'reduce' });
    const { page } = tab;
    const problems: string[] = [];
    for (const each of pages.filter(state.isIn)) {
      await page.goto(addressOf(hub, scene, each));
      await page.getByRole('main').getByText(state.shows(each)).first().waitFor();
      await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
      const isChecked = state.name === 'loaded' && each.hasTest !== false;
      problems.push(...(await problemsOf(page, !isChecked)).map((problem) => `${each.route}: ${problem}`));
    }
    expect(problems).toEqual([]);
  });

  test.each(['agents', 'sequences'])('say how to create the first object without a form: %s', async (name) => {
    await using tab = await openDashboard(browser, `/app/${name}`, { hubUrl: hub.url, session: newSession });
    const main = tab.page.getByRole('main');
    await main.getByText(`POST /v1/automations/${name}`).waitFor();
    expect(await main.getByRole('link', { name: 'API reference' }).getAttribute('href')).toBe('/docs');
  });

  test('so are the pages that lead to the dashboard', async () => {
    const { url: invitation } = await full.session.call('inviteMember', {
      params: { tenantId: full.tenantId },
      body: { email: 'ida@harbour.example', role: 'agent' },
    });
    await using tab = await openDashboard(browser, '/sign-in', { hubUrl: hub.url, session: null });
    const { page } = tab;
    const problems: string[] = [];
    const check = async (path: string) =>
      problems.push(...(await problemsOf(page)).map((problem) => `${path}: ${problem}`));
    for (const path of [
      '/',
      '/sign-in',
      '/sign-in?code=used',
      '/forgot-password',
      '/reset-password?token=used',
      '/join?code=used',
      invitation.replace(hub.url, ''),
    ]) {
      await page.goto(hub.url + path);
      await check(path);
    }
    await page.goto(`${hub.url}/sign-in`);
    await page.getByLabel('Email').fill(full.email);
    await page.getByLabel('Password', { exact: true }).fill('a wrong password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await check('a refused sign-in');
    expect(problems).toEqual([]);
  });

  test('keep long names inside the window of a phone', async () => {
    const workspace = await hub.workspace();
    const { session, jwt } = workspace;
    await session.call('updateMe', { body: { displayName: `Ann${'w'.repeat(80)}` } });
    const long = await fill(hub, workspace, (name) => name + 'w'.repeat(80));
    await using tab = await openDashboard(browser, '/app', {
      hubUrl: hub.url,
      session: jwt,
      viewport: { width: 390, height: 800 },
    });
    const { page } = tab;
    const problems: string[] = [];
    for (const { route, loaded } of [
      ...pages,
      { route: '/nodes/$nodeId/console', loaded: 'Run on' },
      { route: '/settings/audit', loaded: 'JSON' },
      { route: '/settings/members', loaded: 'Annwww' },
    ]) {
      const path = route.replace('/{-$section}', '/profile');
      await page.goto(addressOf(hub, long, { route: path, loaded }));
      await page.getByRole('main').getByText(loaded).first().waitFor();
      await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
      const tooWide = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      if (tooWide !== 0) problems.push(`${path}: ${String(tooWide)} px`);
    }
    expect(problems).toEqual([]);
  });

  test.each(failures)(
    'say why they show nothing when the hub $name, and load when the user tries again',
    async ({ answer, reason }) => {
      await using tab = await openDashboard(browser, '/app', {
        hubUrl: hub.url,
        session: full.jwt,
        reducedMotion: 'reduce',
      });
      const { page } = tab;
      const main = page.getByRole('main');
      const loading = page.getByText('Loading…');
      const again = main.getByRole('button', { name: 'Try again' });
      await page.clock.install();
      const problems: string[] = [];
      for (const each of pages) {
        await page.route(isData, answer);
        await page.goto(addressOf(hub, scene, each));
        // The page repeats requests for some seconds.
        await expect
          .poll(
            async () => {
              await page.clock.fastForward(1_000);
              return [(await main.getByRole('alert').getByText(reason).count()) > 0, await loading.count()];
            },
            { message: each.route },
          )
          .toEqual([true, 0]);
        problems.push(...(await problemsOf(page)).map((problem) => `${each.route}: ${problem}`));
        await page.unroute(isData);
        // A part can fail after another part, so all buttons are clicked until no error is left.
        await expect
          .poll(
            async () => {
              await again.evaluateAll((buttons: { click: () => void }[]) =>
                buttons.forEach((button) => button.click()),
              );
              return main.getByRole('alert').allInnerTexts();
            },
            { message: each.route },
          )
          .toEqual([]);
        await main.getByText(each.loaded).first().waitFor();
      }
      expect(problems).toEqual([]);
    },
  );
});
