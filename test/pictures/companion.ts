import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { findBrowser } from '../../node-agent/runtime/commands/browser/find-browser.ts';
import { CompanionStandIn, makePrompt, makeHistoryEntry } from '../fixtures/companion-stand-in.ts';
import { startWindowHost } from '../fixtures/companion-window.ts';
import type { WindowHost } from '../fixtures/companion-window.ts';

/**
 * Draws the pictures of docs/reference/companion-app.md (`node test/pictures/companion.ts`): the built window with a
 * fake companion.
 */

const minuteMs = 60_000;
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * minuteMs).toISOString();

const orders = [
  ['20418', 'Harbour Café', '412.00'],
  ['20419', 'Northside Clinic', '1,280.50'],
  ['20420', 'Lindqvist & Sons', '96.20'],
  ['20421', 'Museum of Boats', '740.00'],
  ['20422', 'Tern Bakery', '58.90'],
];
const desktop = `<!doctype html><style>
  body { margin: 0; height: 800px; background: #1d4a66; font: 20px sans-serif; color: #1c2530 }
  nav { background: #0b1723; color: #cfe0ee; padding: 8px 18px; font-size: 15px }
  main { position: absolute; left: 90px; top: 90px; width: 820px; background: #fff; border-radius: 10px; overflow: hidden }
  h1 { margin: 0; padding: 14px 20px; background: #e6eaee; font-size: 18px }
  td { padding: 15px 20px; border-bottom: 1px solid #e2e6ea } table { width: 100%; border-collapse: collapse }
  aside { position: absolute; right: 70px; bottom: 70px; width: 420px; height: 300px; padding: 20px; box-sizing: border-box;
    background: #fff; border-radius: 10px; display: flex; align-items: end; gap: 16px }
  i { flex: 1; background: #3f8fc4 }</style>
  <nav>Sunday, 10:41</nav><main><h1>Orders, November</h1><table>${orders
    .map((order) => `<tr>${order.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
    .join('')}</table></main>
  <aside>${[40, 65, 52, 88, 74].map((height) => `<i style="height:${height}%"></i>`).join('')}</aside>`;
const shop = `<!doctype html><style>
  body { margin: 0; font: 22px sans-serif; color: #1c2530 } header { background: #12344d; color: #fff; padding: 26px 50px }
  main { padding: 40px 50px; display: grid; grid-template-columns: 1fr 1fr 1fr; gap: 26px }
  div { border: 1px solid #d8dee4; border-radius: 10px; padding: 22px } i { display: block; height: 170px; background: #cfe3f0; margin-bottom: 16px }</style>
  <header>Chandlery</header><main>${['Anchor rope, 38.00', 'Brass cleat, 14.50', 'Deck paint, 52.90'].map((item) => `<div><i></i>${item}</div>`).join('')}</main>`;

async function drawn(host: WindowHost, html: string) {
  const page = await host.browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.setContent(html);
  const bytes = await page.screenshot();
  await page.close();
  return { contentType: 'image/png', base64: bytes.toString('base64') };
}

async function companionAtWork(host: WindowHost): Promise<CompanionStandIn> {
  const companion = new CompanionStandIn();
  const { settings } = companion.state;
  settings.capture.screen = true;
  settings.system.allowed = true;
  settings.system.ask = true;
  settings.browser.allowed = true;
  settings.until.browser = inMinutes(47);
  settings.sharedFolders = ['/home/ann/Documents/Invoices', '/home/ann/Pictures/Scans'];
  companion.hubAllows.set('system', true);
  companion.system.set('screen', { state: 'granted', detail: 'one display, 1920x1080', remedy: null });
  companion.system.set('camera', {
    state: 'missing',
    detail: 'ffmpeg is not installed',
    remedy: {
      text: 'Install ffmpeg, which takes the pictures.',
      action: { kind: 'copy', command: 'sudo apt install ffmpeg' },
    },
  });
  companion.state.running = [
    {
      id: randomUUID(),
      type: 'browser.navigate',
      summary: 'url=https://shop.example.org/orders',
      startedAt: inMinutes(-0.05),
    },
  ];
  companion.history = [
    makeHistoryEntry({ time: inMinutes(-2), summary: 'display=0 format=png', hasPicture: true }),
    makeHistoryEntry({
      time: inMinutes(-6),
      type: 'browser.screenshot',
      summary: 'format=png',
      hasPicture: true,
      durationMs: 233,
    }),
    makeHistoryEntry({
      time: inMinutes(-9),
      type: 'system.run',
      summary: 'argv=["tar","--create","--file","backup.tar","."] cwd=/home/ann/Documents',
      approvedBy: 'ben@example.org',
      durationMs: 3_411,
    }),
    makeHistoryEntry({
      time: inMinutes(-31),
      type: 'node.files_read',
      summary: 'path=/home/ann/Private/notes.txt',
      outcome: 'outside_shared_folders',
      message: 'It is in no shared folder.',
      durationMs: 2,
    }),
  ];
  companion.pictures.set(companion.history[0]?.commandId as string, await drawn(host, desktop));
  companion.pictures.set(companion.history[1]?.commandId as string, await drawn(host, shop));
  return companion;
}

async function main(): Promise<void> {
  const browser = findBrowser(undefined);
  if (browser === null) throw new Error('The pictures need Chrome or Chromium.');
  await using host = await startWindowHost(browser.path);
  const take = async (
    name: string,
    height: number,
    companion: CompanionStandIn,
    go: (page: Page) => Promise<unknown>,
  ) => {
    const options = { viewport: { width: 1000, height }, locale: 'en-GB', reducedMotion: 'reduce' } as const;
    await using opened = await host.open(companion, options);
    await go(opened.page);
    await opened.page.waitForLoadState('networkidle');
    writeFileSync(`docs/pictures/companion-${name}.png`, await opened.page.screenshot());
  };
  const armed = (name: string) => (page: Page) =>
    page.locator('button[aria-disabled=false]', { hasText: name }).waitFor();

  const atWork = await companionAtWork(host);
  await take('overview', 860, atWork, (page) => page.locator('.thumbnail img').nth(1).waitFor());
  await take('permissions', 860, atWork, (page) => page.getByRole('tab', { name: 'Permissions' }).click());
  atWork.state.prompts = [makePrompt()];
  await take('prompt', 700, atWork, armed('Allow once'));

  const unpaired = new CompanionStandIn();
  unpaired.state.paired = null;
  unpaired.app.pairingLink = {
    code: 'ABCD-EFGH',
    hub: 'https://xn--utrigger-kif.example.org',
    looksLike: '\u043Eutrigger.example.org',
    isEncrypted: true,
    isLocal: false,
    problem: null,
  };
  await take('pairing', 700, unpaired, armed('Connect'));
}

await main();
