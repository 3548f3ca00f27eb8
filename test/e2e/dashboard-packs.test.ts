import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';

describe.skipIf(!canOpenDashboard)('packs in the dashboard (needs Chromium)', () => {
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

  test.each(['light', 'dark'] as const)(
    'a pack shows what it may do before it is installed, and makes a workflow from its inputs, in the %s theme',
    async (colorScheme) => {
      const { jwt, api } = await hub.workspace();
      await api.call('createAutomationNode', { body: { name: 'Kiosk' } });
      const name = 'Daily screen report';
      await using tab = await openDashboard(browser, '/app/packs', {
        hubUrl: hub.url,
        session: jwt,
        colorScheme,
        viewport: { width: 320, height: 760 },
      });
      const { page } = tab;
      const card = page.locator('section', { has: page.getByRole('heading', { name }) });
      await card.getByRole('button', { name: 'Install…' }).click();
      const dialog = page.getByRole('dialog', { name: `Install ${name}?` });
      await dialog.getByText('Skills').waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
      const isInstalled = () =>
        api
          .call('listAutomationSkills', {})
          .then(({ data }) => data.some(({ installedVersion }) => installedVersion !== null));
      expect(await isInstalled(), 'the preview installs nothing').toBe(false);
      await dialog.getByRole('button', { name: 'Install', exact: true }).click();
      await dialog.waitFor({ state: 'hidden' });
      expect(await isInstalled()).toBe(true);

      await card.getByRole('button', { name: 'Create workflow…' }).click();
      const creating = page.getByRole('dialog', { name: `Workflow from ${name}` });
      expect(await accessibilityViolations(page)).toEqual([]);
      await creating.getByRole('button', { name: 'Create workflow', exact: true }).click();
      await creating.getByRole('alert').waitFor();
      await creating.getByLabel('Node').selectOption('Kiosk');
      await creating.getByRole('button', { name: 'Create workflow', exact: true }).click();
      await page.waitForURL(/\/app\/workflows\/[\da-f-]{36}/);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(tab.complaints).toEqual([]);
    },
  );
});
