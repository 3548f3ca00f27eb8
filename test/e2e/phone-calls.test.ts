import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { kamailioServerAvailable, startKamailioServer } from '../fixtures/kamailio-server.ts';
import type { KamailioServer } from '../fixtures/kamailio-server.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import {
  dial,
  expectAudioBothWays,
  createPhoneUsers,
  openPhonePage,
  phase,
  shownProblem,
  ready,
  talk,
  iceFragments,
} from '../fixtures/phone-page.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { startProxy } from '../fixtures/proxy.ts';
import { startTalkingBrowser } from '../fixtures/voice-tab.ts';

const executable = findPageBrowser()?.path;

describe.skipIf(!kamailioServerAvailable || executable === undefined)(
  'softphones at the SIP server of deploy/kamailio (skipped without Kamailio or Chromium)',
  () => {
    let database: TestDatabase;
    let server: KamailioServer;
    let hub: TestHub;
    let browser: Browser;
    beforeAll(async () => {
      database = await acquireDatabase();
      server = await startKamailioServer(database);
      hub = await startHub(server.env, database);
      browser = await startTalkingBrowser(executable as string);
    });
    afterAll(async () => {
      await browser.close();
      await hub[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    });

    test('hear each other, also after one or both lost their connection in the call, until the session of one ends', async () => {
      const { ann, ben } = await createPhoneUsers(hub);
      await using proxy = await startProxy(hub.url);
      proxy.sockets = 'pass';
      await using caller = await openPhonePage(browser, { base: proxy.url, session: ann.jwt });
      await using callee = await openPhonePage(browser, { base: proxy.url, session: ben.jwt });
      const [here, there] = [caller.page, callee.page];
      await Promise.all([ready(here), ready(there)]);
      await talk(here, there, ben.email);
      await expectAudioBothWays(here, there);
      const before = await iceFragments(there);
      proxy.sockets = 'refuse';
      proxy.cutSockets();
      await expect.poll(async () => [await shownProblem(here), await shownProblem(there)]).toEqual(['lost', 'lost']);
      await expectAudioBothWays(here, there);
      proxy.sockets = 'pass';
      await Promise.all([ready(here), ready(there)]);
      await expect.poll(async () => (await iceFragments(there)).filter((way) => before.includes(way))).toEqual([]);
      await expectAudioBothWays(here, there);
      await there.getByRole('button', { name: 'Hold' }).click();
      await expect.poll(() => here.locator('.phase').innerText()).toContain('put you on hold');
      await there.getByRole('button', { name: 'Hold' }).click();
      await expect.poll(() => here.locator('.phase').innerText()).toContain('Connected');

      await here.getByRole('button', { name: 'Hang up' }).click();
      await expect.poll(async () => [await phase(here), await phase(there)]).toEqual([null, null]);
      // The call is listed as incoming for one member and as outgoing for the other.
      const listed = async (page: Page) => {
        const row = page.getByRole('region', { name: 'Recent calls' }).locator('li').first();
        return [await row.getByRole('img').getAttribute('aria-label'), await row.locator('p').first().textContent()];
      };
      await expect.poll(() => there.locator('.way').count()).toBe(1);
      await expect.poll(() => here.locator('.way').count()).toBe(1);
      await expect.poll(() => listed(there)).toEqual(['Incoming', ann.email]);
      await expect.poll(() => listed(here)).toEqual(['Outgoing', ben.email]);

      // One of two pages answers or declines, and the other one says so.
      await using second = await openPhonePage(browser, { base: hub.url, session: ben.jwt });
      await ready(second.page);
      const outcome = () => second.page.locator('.last').getAttribute('data-outcome');
      await dial(here, ben.email);
      await expect.poll(() => phase(second.page)).toBe('incoming');
      await there.getByRole('button', { name: 'Answer' }).click();
      await expect.poll(outcome).toBe('answeredElsewhere');
      await there.getByRole('button', { name: 'Hang up' }).click();
      await expect.poll(() => phase(here)).toBe(null);
      await dial(here, ben.email);
      await expect.poll(() => phase(second.page)).toBe('incoming');
      await there.getByRole('button', { name: 'Reject' }).click();
      await expect.poll(outcome).toBe('youDeclined');
      expect(await second.page.locator('.missed').count()).toBe(0);
      await expect.poll(() => phase(here)).toBe(null);
      await second.page.close();

      await talk(there, here, ann.email);
      await hub.client(ann.jwt).call('logOut', {});
      await expect.poll(async () => [await phase(here), await phase(there)]).toEqual([null, null]);
      await expect.poll(() => shownProblem(here)).toBe('ended');
    });
  },
);
