import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';

describe.skipIf(!canOpenDashboard)(
  'knowledge, sequences, agents and sessions in the dashboard (needs Chromium)',
  () => {
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
    const open = (path: string, session: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
      openDashboard(browser, path, { hubUrl: hub.url, session, ...options });

    test('an entry is added, found by a question, edited and deleted; the change of a colleague at the same time is kept', async () => {
      const { jwt, session, tenantId } = await hub.workspace();
      await using tab = await open('/app/knowledge', jwt, { keepsUndo: true });
      const { page } = tab;
      await page.getByText('No entries yet').waitFor();
      await page.getByRole('button', { name: 'Add entry' }).click();
      const dialog = page.getByRole('dialog', { name: 'Add entry' });
      await dialog.getByRole('button', { name: 'Save' }).click();
      await expect.poll(() => dialog.getByText('Fill in this field.').count()).toBe(2);
      await dialog.getByLabel('Question').fill('When do you open?');
      await dialog.getByLabel('Answer').fill('At nine.\n<img src=x onerror=alert(1)>');
      // A colleague stores an entry while the dialog is open.
      const input = { params: { tenantId } };
      const colleague = { id: 'parking', question: 'Where can I park?', answer: 'Behind the house.' };
      await session.call('putKnowledge', { ...input, body: { entries: [colleague], terms: '' } });
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'hidden' });
      await page.getByText('Where can I park?').waitFor();
      const stored = () => session.call('getKnowledge', input).then(({ entries }) => entries.map(({ id }) => id));
      expect(await stored()).toEqual(['parking', 'when-do-you-open']);

      await page.getByRole('textbox', { name: 'Question' }).fill('At what time do you open?');
      await page.getByRole('button', { name: 'Ask' }).click();
      await page.getByText('Entries that an AI agent would see').waitFor();

      await page.getByRole('button', { name: 'Delete: Where can I park?' }).click();
      await page.getByText('The entry is deleted').waitFor();
      expect(await stored()).toEqual(['when-do-you-open']);
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('Where can I park?').waitFor();
      expect(await stored()).toEqual(['parking', 'when-do-you-open']);
      // A refused deletion leaves the entry in the list.
      await page.route('**/ai/knowledge', (route) =>
        route.request().method() === 'PUT'
          ? route.fulfill({ status: 400, contentType: 'application/json', body: '{"message":"Not now."}' })
          : route.continue(),
      );
      await page.getByRole('button', { name: 'Delete: Where can I park?' }).click();
      await page.getByRole('alert').getByText('Not now.').waitFor();
      expect(await page.getByText('Where can I park?').count()).toBe(1);
    });

    test('terms that are being written stay when a colleague changes them', async () => {
      const { jwt, session, tenantId } = await hub.workspace();
      const input = { params: { tenantId } };
      const entries = [{ id: 'parking', question: 'Where can I park?', answer: 'Behind the house.' }];
      await session.call('putKnowledge', { ...input, body: { entries, terms: 'Old' } });
      await using tab = await open('/app/knowledge', jwt);
      const { page } = tab;
      const terms = page.getByLabel('Terms in every prompt');
      await terms.fill('Mine');
      await session.call('putKnowledge', { ...input, body: { entries, terms: 'Theirs' } });
      // The response to another change brings the terms of the colleague.
      await page.getByRole('button', { name: 'Delete: Where can I park?' }).click();
      await page.getByRole('button', { name: 'Keep my values' }).click();
      expect(await terms.inputValue()).toBe('Mine');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await expect.poll(() => session.call('getKnowledge', input).then((knowledge) => knowledge.terms)).toBe('Mine');
    });

    test.each(['light', 'dark'] as const)(
      'names are text, and pages are accessible at 320 pixels in the %s theme',
      async (colorScheme) => {
        const { jwt, api, session, tenantId } = await hub.workspace();
        const name = '<b>Late\u202e reminders</b>';
        const shown = '<b>Late⟨U+202E⟩ reminders</b>';
        const steps = [{ type: 'log' as const, message: 'one', delaySeconds: 86_400 }];
        const sequence = await api.call('createAutomationSequence', { body: { name, steps } });
        const agent = await api.call('createAutomationAgent', { body: { name, systemPrompt: 'Be kind.' } });
        const talk = await api.call('createAutomationSession', { body: { scope: 'dm', key: 'ann', title: name } });
        await api.call('appendAutomationSessionMessage', {
          params: { id: talk.id },
          body: { role: 'user', content: 'Hello <script>alert(1)</script>' },
        });
        await session.call('putKnowledge', {
          params: { tenantId },
          body: { entries: [{ id: 'a', question: name, answer: 'Yes' }], terms: '' },
        });
        await using tab = await open('/app/knowledge', jwt, { colorScheme, viewport: { width: 320, height: 700 } });
        const { page } = tab;
        const check = async () => {
          expect(await accessibilityViolations(page)).toEqual([]);
          expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
        };
        await page.getByText(shown).waitFor();
        await check();
        for (const [list, path] of [
          ['sequences', `sequences/${sequence.id}`],
          ['agents', `agents/${agent.id}`],
          ['sessions', `sessions/${talk.id}`],
        ] as const) {
          await page.goto(`${hub.url}/app/${list}`);
          await page.getByRole('link', { name: shown }).click();
          await page.getByRole('heading', { level: 1, name: shown }).waitFor();
          expect(page.url()).toBe(`${hub.url}/app/${path}`);
          await check();
        }
        await page.getByText('Hello <script>alert(1)</script>').waitFor();
        await page.getByRole('tab', { name: 'JSON' }).click();
        const json = page.getByLabel('JSON', { exact: true });
        await json.getByText('"content": "Hello <script>alert(1)</script>"').waitFor();
        await json.getByText('<b>Late⟨U+202E⟩ reminders</b>').waitFor();
        await check();
      },
    );

    test('a sequence runs from its page, after an invalid payload was refused', async () => {
      const { jwt, api } = await hub.workspace();
      const steps = [{ type: 'log' as const, message: 'Hello {{payload.name}}' }];
      const { id } = await api.call('createAutomationSequence', { body: { name: 'Greet', steps } });
      await using tab = await open(`/app/sequences/${id}`, jwt);
      const { page } = tab;
      await page.getByRole('button', { name: 'Run…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Run Greet' });
      await dialog.getByLabel('Payload as JSON').fill('[1]');
      await dialog.getByRole('button', { name: 'Run…' }).click();
      await dialog.getByText('The payload must be a JSON object').waitFor();
      await dialog.getByLabel('Payload as JSON').fill('{ "name": "Ann" }');
      await dialog.getByRole('button', { name: 'Run…' }).click();
      await page.waitForURL(/\/app\/runs\/[\da-f-]{36}/);
      const { data } = await api.call('listAutomationRuns', {});
      expect(data.map((run) => run.id)).toEqual([page.url().split('/').at(-1)?.split('?')[0]]);
    });
  },
);
