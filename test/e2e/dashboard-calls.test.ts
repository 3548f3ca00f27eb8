import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kamailioStandIn } from '../fixtures/carriers.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';

describe.skipIf(!canOpenDashboard)('calls in the dashboard (needs Chromium)', () => {
  let hub: TestHub;
  let browser: Browser;
  beforeAll(async () => {
    hub = await startHub();
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
  });

  test('a call appears when its carrier reports it, changes live, and is found by its result', async () => {
    const { jwt, session } = await hub.workspace();
    const connection = await session.call('createCallConnection', { body: { provider: 'kamailio', name: 'K' } });
    const carrier = kamailioStandIn(connection.secret as string);
    const startedAt = Math.floor(Date.now() / 1000) - 60;
    const report = async (event: string, seconds: number, more: object = {}) => {
      const call = { callId: 'call-1', direction: 'inbound', from: '+15005550006', to: 'sip:<b>@example.org' };
      const message = { ...call, event, at: startedAt + seconds, ...more };
      expect((await carrier.send(hub.url, connection.url, message)).status).toBe(200);
    };
    await using tab = await openDashboard(browser, '/app/calls', { hubUrl: hub.url, session: jwt });
    const { page } = tab;
    await page.getByText('No calls yet').waitFor();
    await report('ringing', 0);
    await page.getByRole('cell', { name: /Ringing/ }).waitFor();
    await page.getByText('sip:<b>@example.org').waitFor();
    await report('answered', 5);
    await page.getByRole('cell', { name: /In progress/ }).waitFor();
    await report('ended', 47, { sipCode: 200 });
    await page.getByRole('cell', { name: /Answered/ }).waitFor();
    await page.getByText('42.0 sec').or(page.getByText('42 sec')).waitFor();
    await page.getByLabel('Result').selectOption('missed');
    await page.getByText('No call matches these filters.').waitFor();
    expect(new URL(page.url()).search).toBe('?result=missed');
    await page.reload();
    await page.getByText('No call matches these filters.').waitFor();
  });

  test.each(['light', 'dark'] as const)('the page is accessible at 320 pixels in the %s theme', async (colorScheme) => {
    const { jwt } = await hub.workspace();
    await using tab = await openDashboard(browser, '/app/calls', {
      hubUrl: hub.url,
      session: jwt,
      colorScheme,
      viewport: { width: 320, height: 700 },
    });
    await tab.page.getByText('No calls yet').waitFor();
    expect(await accessibilityViolations(tab.page)).toEqual([]);
    expect(await tab.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });
});
