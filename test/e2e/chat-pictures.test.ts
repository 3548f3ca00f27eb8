import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTab, startHostSite } from '../fixtures/chat-tab.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import { send } from '../fixtures/requests.ts';
import { chatScene } from '../fixtures/visitor.ts';

const executable = findPageBrowser()?.path;
let hub: TestHub;
let browser: Browser;

beforeAll(async () => {
  hub = await startHub();
  if (executable !== undefined)
    browser = await chromium.launch({
      executablePath: executable,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
    });
});
afterAll(async () => {
  await browser?.close();
  await hub[Symbol.asyncDispose]();
});

/** A picture encoded by the browser. */
async function drawPortrait(type: string): Promise<Buffer> {
  await using context = await browser.newContext();
  const page = await context.newPage();
  const url = await page.evaluate<string>(`(() => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 128, height: 128 });
    const draw = canvas.getContext('2d');
    draw.fillStyle = '#7fb7be'; draw.fillRect(0, 0, 128, 128);
    draw.fillStyle = '#f2d0a9'; draw.beginPath(); draw.arc(64, 54, 26, 0, 7); draw.fill();
    draw.fillStyle = '#99582a'; draw.beginPath(); draw.arc(64, 134, 46, 0, 7); draw.fill();
    return canvas.toDataURL('${type}', 0.9);
  })()`);
  expect(url).toContain(type);
  return Buffer.from(url.split(',')[1] as string, 'base64');
}

describe.skipIf(executable === undefined)('pictures of agents in the chat (needs Chromium)', () => {
  test.each([
    ['light', 'image/webp'],
    ['dark', 'image/jpeg'],
  ] as const)(
    'are shown under a strict content security policy, in %s mode, and agents without a picture have initials',
    async (scheme, type) => {
      const scene = await chatScene(hub);
      const { session, jwt } = scene.workspace;
      await using site = await startHostSite(hub.url, scene.siteKey);
      await scene.set({ allowedOrigins: [site.origin] });
      const { token, conversationId } = await scene.mint();
      const userId = await scene.agent();
      const put = (raw: Buffer) =>
        send(hub.url, 'PUT', '/auth/me/picture', { headers: { authorization: `Bearer ${jwt}` }, raw });
      const sent = await put(await drawPortrait(type));
      expect([sent.status, sent.body]).toMatchObject([200, { contentType: type, width: 128, height: 128 }]);
      await session.call('updateMe', { body: { displayName: 'Ann Bö' } });
      const params = { tenantId: scene.tenantId, id: conversationId };
      await session.call('assignInboxConversation', { params, body: { userId } });
      for (const content of ['Hello', 'How can I help?'])
        await session.call('sendInboxMessage', { params, body: { content } });

      await using tab = await openTab(browser, { viewport: { width: 640, height: 760 }, colorScheme: scheme });
      const { page, complaints } = tab;
      await page.goto(`${site.origin}/?token=${encodeURIComponent(token)}`);
      await page.locator('outrigger-chat button').first().click();
      const frame = page.frameLocator('outrigger-chat iframe');
      const pictures = frame.locator('.avatar img');
      // One picture in the header, and one for two grouped messages.
      await expect.poll(() => pictures.count()).toBe(2);
      const drawn = () =>
        pictures.evaluateAll((images) =>
          images.map((image) => (image as unknown as { naturalWidth: number }).naturalWidth),
        );
      await expect.poll(drawn).toEqual([128, 128]);
      await expect.poll(() => pictures.first().getAttribute('src')).toBe(`${hub.url}${sent.body['picture'] as string}`);
      const folder = process.env['PICTURES_FOLDER'];
      if (folder !== undefined) await page.screenshot({ path: `${folder}/pictures-${scheme}.png` });

      // Shows the initials after the picture was deleted, also where the page still has its address.
      await session.call('deleteMyPicture');
      await page.reload();
      await page.locator('outrigger-chat button').first().click();
      const avatars = frame.locator('.avatar');
      await expect.poll(() => avatars.allTextContents()).toEqual(['AB', 'AB']);
      await expect.poll(() => pictures.count()).toBe(0);
      if (folder !== undefined) await page.screenshot({ path: `${folder}/initials-${scheme}.png` });
      expect(complaints).toEqual([]);
    },
  );

  test('are replaced by initials when they can no longer be loaded', async () => {
    const scene = await chatScene(hub);
    const { session, jwt } = scene.workspace;
    await send(hub.url, 'PUT', '/auth/me/picture', {
      headers: { authorization: `Bearer ${jwt}` },
      raw: await drawPortrait('image/png'),
    });
    await session.call('updateMe', { body: { displayName: 'Ann Bö' } });
    const { token, conversationId } = await scene.mint();
    const params = { tenantId: scene.tenantId, id: conversationId };
    await session.call('assignInboxConversation', { params, body: { userId: await scene.agent() } });
    await session.call('sendInboxMessage', { params, body: { content: 'Hello' } });
    await using tab = await openTab(browser);
    await tab.page.route('**/widget/v1/pictures/*', (route) => route.fulfill({ status: 404 }));
    await tab.page.goto(`${hub.url}/chat?siteKey=${scene.siteKey}&token=${encodeURIComponent(token)}`);
    await expect.poll(() => tab.page.locator('.avatar').allTextContents()).toEqual(['AB', 'AB']);
  });
});
