import { setTimeout as sleep } from 'node:timers/promises';
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
  packets,
  phase,
  shownProblem,
  ready,
  talk,
  iceFragments,
} from '../fixtures/phone-page.ts';
import type { PhoneUser } from '../fixtures/phone-page.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { startProxy } from '../fixtures/proxy.ts';
import { rtpengineAvailable, startRtpengine } from '../fixtures/rtpengine.ts';
import type { Rtpengine } from '../fixtures/rtpengine.ts';
import { sippAvailable, startSipp } from '../fixtures/sipp.ts';
import { startTalkingBrowser } from '../fixtures/voice-tab.ts';

const executable = findPageBrowser()?.path;
const isAvailable = kamailioServerAvailable && rtpengineAvailable && executable !== undefined;

/** The ports at which a page reaches the other side. */
const remotePorts = (page: Page): Promise<string[]> =>
  page.evaluate(`(async () => {
    const all = [...(await connections.at(-1).getStats()).values()];
    const pairs = all.filter(({ type, nominated, state }) => type === 'candidate-pair' && nominated && state === 'succeeded');
    return [...new Set(pairs.map(({ remoteCandidateId }) => String(all.find(({ id }) => id === remoteCandidateId).port)))];
  })()`);

/** Whether any page receives packets within the time of several packets. */
async function receivesAudio(...pages: Page[]): Promise<boolean> {
  const counts = () => Promise.all(pages.map((page) => packets(page)));
  const before = await counts();
  await sleep(300);
  return (await counts()).some((count, at) => count !== before[at]);
}

describe.skipIf(!isAvailable)(
  'audio of softphones by rtpengine (skipped without Kamailio, rtpengine or Chromium)',
  () => {
    let rtpengine: Rtpengine;
    let database: TestDatabase;
    let server: KamailioServer;
    let hub: TestHub;
    let browser: Browser;
    beforeAll(async () => {
      rtpengine = await startRtpengine();
      database = await acquireDatabase();
      server = await startKamailioServer(database, rtpengine.url);
      hub = await startHub(server.env, database);
      browser = await startTalkingBrowser(executable as string);
    });
    afterAll(async () => {
      await browser.close();
      await hub[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
      await rtpengine[Symbol.asyncDispose]();
    });

    const open = ({ jwt }: PhoneUser, base = hub.url) => openPhonePage(browser, { base, session: jwt });

    test('is heard in both directions between two browsers, also over a new route after a lost connection, and the call record contains its quality', async () => {
      const { ann, ben } = await createPhoneUsers(hub);
      await using proxy = await startProxy(hub.url);
      proxy.sockets = 'pass';
      await using caller = await open(ann, proxy.url);
      await using callee = await open(ben, proxy.url);
      const [here, there] = [caller.page, callee.page];
      await Promise.all([ready(here), ready(there)]);
      await talk(here, there, ben.email);
      await expectAudioBothWays(here, there);
      // The audio goes through the relay, not directly between the browsers.
      for (const page of [here, there])
        await expect.poll(() => remotePorts(page)).toEqual([expect.stringMatching(/^42[0-9]{3}$/)]);
      const oldFragments = async () => [(await iceFragments(here))[0], (await iceFragments(there))[0]];
      const before = await oldFragments();
      proxy.sockets = 'refuse';
      proxy.cutSockets();
      await expect.poll(async () => [await shownProblem(here), await shownProblem(there)]).toEqual(['lost', 'lost']);
      await expectAudioBothWays(here, there);
      proxy.sockets = 'pass';
      await Promise.all([ready(here), ready(there)]);
      await expect.poll(async () => (await oldFragments()).filter((fragment) => before.includes(fragment))).toEqual([]);
      await expectAudioBothWays(here, there);
      await here.getByRole('button', { name: 'Hang up' }).click();
      await expect.poll(async () => [await phase(here), await phase(there)]).toEqual([null, null]);
      const record = async () => (await hub.client(ann.jwt).call('listCalls', { query: {} })).items[0];
      await expect.poll(record).toMatchObject({ result: 'answered', hangupBy: 'caller' });
      // The value depends on the packets that the machine lost. The scale is 1 to 5.
      expect((await record())?.mosScore).toBeGreaterThanOrEqual(1);
      expect((await record())?.mosScore).toBeLessThanOrEqual(5);

      // After a log-out on another process, no page receives audio, even if it keeps sending and playing.
      await using elsewhere = await startHub(server.env, database);
      await talk(there, here, ann.email);
      await expectAudioBothWays(here, there);
      for (const page of [here, there])
        await page.evaluate(`RTCPeerConnection.prototype.close = MediaStreamTrack.prototype.stop = () => {};`);
      await elsewhere.client(ann.jwt).call('logOut', {});
      await expect.poll(async () => [await phase(here), await phase(there)]).toEqual([null, null]);
      await expect.poll(async () => [await shownProblem(here), await shownProblem(there)]).toEqual(['ended', null]);
      await expect.poll(() => receivesAudio(here, there)).toBe(false);
    });

    test.skipIf(!sippAvailable)(
      'is heard in both directions between a browser and another phone (skipped without sipp)',
      async () => {
        const { ann } = await createPhoneUsers(hub);
        const session = hub.client(ann.jwt);
        await session.call('optOutOfHostedSip', {});
        const { credentials } = await session.call('optIntoHostedSip', {});
        const account = credentials as NonNullable<typeof credentials>;
        await using phone = await startSipp({ ...account, port: server.port, domain: 'sip.example.com' });
        await using tab = await open(ann);
        await ready(tab.page);
        await dial(tab.page, account.username);
        await expect.poll(async () => [await phase(tab.page), await shownProblem(tab.page)]).toEqual(['talking', null]);
        // The phone echoes the audio of the browser.
        await expectAudioBothWays(tab.page);
        await tab.page.getByRole('button', { name: 'Hang up' }).click();
        expect(await phone.done).toBe(0);
        const record = async () => (await session.call('listCalls', { query: {} })).items[0];
        await expect.poll(record).toMatchObject({ result: 'answered', hangupBy: 'caller' });
      },
    );

    test('continues while the SIP server is killed; once the server is back both sides end the call, and its record is closed', async () => {
      const { ann, ben, tenantId } = await createPhoneUsers(hub);
      await using caller = await open(ann);
      await using callee = await open(ben);
      const [here, there] = [caller.page, callee.page];
      await Promise.all([ready(here), ready(there)]);
      await talk(here, there, ben.email);
      await server.kill();
      await expect.poll(async () => [await shownProblem(here), await shownProblem(there)]).toEqual(['lost', 'lost']);
      await expectAudioBothWays(here, there);
      await server.restart();
      await Promise.all([ready(here), ready(there)]);
      await expect.poll(async () => [await phase(here), await phase(there)]).toEqual([null, null]);
      await database.query(`UPDATE sip_calls SET expires_at = now() - interval '1 minute' WHERE tenant_id = $1`, [
        tenantId,
      ]);
      await hub.app.sweep();
      const record = async () => (await hub.client(ann.jwt).call('listCalls', { query: {} })).items[0];
      await expect.poll(record).toMatchObject({ state: 'ended', reason: 'no_final_event' });
    });
  },
);
