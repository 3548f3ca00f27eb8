import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';

/** A pack whose texts contain markup and characters that reverse the direction of text. */
const hostileManifest = {
  id: 'hostile-pack',
  name: '<img src=x onerror=alert(1)> \u202Epack',
  version: '1.0.0',
  publisher: '<b>Us</b>',
  summary: 'Says <script>alert(1)</script>.',
  inputsSchema: { properties: { who: { type: 'string', title: '<i>Who</i>' } }, required: ['who'] },
  skills: ['log.write'],
  graph: { trigger: { type: 'manual' }, steps: [{ type: 'log', name: '<u>Hello</u>', message: '{{inputs.who}}' }] },
};

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
    },
  );

  test.each(['light', 'dark'] as const)(
    'the page of a pack shows its steps, powers, inputs, versions, workflows and JSON, and texts of the pack stay texts, in the %s theme',
    async (colorScheme) => {
      const { jwt, api } = await hub.workspace();
      for (const version of ['1.0.0', '1.1.0'])
        await api.call('postAutomationSkillSdk', {
          body: { manifest: { ...hostileManifest, version } as never, publish: true },
        });
      await api.call('installAutomationSkill', { body: { packId: 'hostile-pack', version: '1.0.0' } });
      await api.call('createAutomationSkillWorkflow', {
        params: { packId: 'hostile-pack' },
        body: { name: 'Greeter', inputs: { who: 'Ann' } },
      });
      await using tab = await openDashboard(browser, '/app/packs', {
        hubUrl: hub.url,
        session: jwt,
        colorScheme,
        viewport: { width: 320, height: 760 },
      });
      const { page } = tab;
      await page.getByRole('link', { name: /^<img src=x/ }).click();
      await page.waitForURL('**/app/packs/hostile-pack');
      await page.getByRole('heading', { level: 1, name: /^<img src=x/ }).waitFor();
      const section = (title: string) => page.locator('section', { has: page.getByRole('heading', { name: title }) });
      await section('What its workflows may do').getByText('Runs start without an approval.').waitFor();
      await section('Steps').getByText('<u>Hello</u>').waitFor();
      await section('Inputs').getByText('<i>Who</i>').waitFor();
      expect(await section('Versions').getByRole('listitem').allInnerTexts()).toEqual([
        '1.1.0\nnewest',
        '1.0.0\ninstalled',
      ]);
      await section('Workflows from this pack').getByRole('link', { name: 'Greeter' }).waitFor();
      await page.getByLabel('JSON', { exact: true }).getByText('"installedVersion": "1.0.0"').waitFor();
      expect(await page.locator('main h1').count()).toBe(1);
      expect(await page.locator('main').innerText(), 'marks of direction are visible').not.toContain('\u202E');
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      await page.getByRole('button', { name: 'Update…' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Install', exact: true }).click();
      await section('Versions').getByText('newest, installed').waitFor();
    },
  );

  test('the page of a pack that does not exist says so', async () => {
    const { jwt } = await hub.workspace();
    await using tab = await openDashboard(browser, '/app/packs/no-such-pack', { hubUrl: hub.url, session: jwt });
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: 'There is no pack with this id' }).waitFor();
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  });
});
