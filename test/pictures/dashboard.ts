import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { migrateDatabase } from '../../hub/platform/db/migrate.ts';
import { startPostgresServer } from '../../hub/platform/postgres-server/server.ts';
import { openSignedIn } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { pagesOf } from './dashboard-pages.ts';
import { fillWorkspace } from './dashboard-scene.ts';
import type { Scene } from './dashboard-scene.ts';

/**
 * Draws pages of the dashboard in light and dark at 1440 and 390 pixels (`node test/pictures/dashboard.ts [FOLDER
 * [PAGE…]]`): a real hub with a workspace at work. Without a page, it draws all of them; without a folder, it draws only
 * the pictures of README and docs.
 */

/** The pictures of README and docs: page, theme, width. */
const published = [
  ['home', 'light', 1440],
  ['run', 'light', 1440],
  ['run-turns', 'dark', 1440],
  ['inbox', 'light', 1440],
  ['approval', 'dark', 390],
] as const;

type Theme = 'light' | 'dark';

async function draw(
  browser: Browser,
  hub: TestHub,
  { session }: Scene,
  { path, theme, width }: { path: string; theme: Theme; width: number },
): Promise<Buffer> {
  await using tab = await openSignedIn(browser, path, {
    hubUrl: hub.url,
    session,
    viewport: { width, height: width === 390 ? 844 : 900 },
    colorScheme: theme,
    reducedMotion: 'reduce',
  });
  const { page } = tab;
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  // Live pages keep a stream open, so that their network is never idle.
  await page.waitForFunction(`document.querySelectorAll('[aria-busy=true]').length === 0`);
  await page.waitForTimeout(1_500);
  const isTooWide = await page.evaluate(`document.documentElement.scrollWidth > innerWidth`);
  if (isTooWide === true) process.stdout.write(`${path} scrolls sideways at ${width} pixels\n`);
  for (const complaint of tab.complaints) process.stdout.write(`${path}: ${complaint}\n`);
  return await page.screenshot();
}

async function main(): Promise<void> {
  const [folder, ...names] = process.argv.slice(2);
  const found = findPageBrowser();
  if (found === null) throw new Error('The pictures need Chrome or Chromium.');
  const home = mkdtempSync(join(tmpdir(), 'outrigger-pictures-'));
  const noNotice = () => undefined;
  await using server = await startPostgresServer({ home, onNotice: noNotice });
  await migrateDatabase(server.url);
  await using model = await startModelServer();
  const database: TestDatabase = {
    url: server.url,
    query: () => Promise.reject(new Error('The scene is made through the API.')),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  await using hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', EGRESS_ALLOW_HOSTS: model.host }, database);
  const browser = await chromium.launch({ executablePath: found.path, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    await using scene = await fillWorkspace(hub, model, browser);
    const pages = pagesOf(scene);
    if (folder !== undefined) mkdirSync(folder, { recursive: true });
    const wanted =
      folder === undefined
        ? published
        : (names.length === 0 ? Object.keys(pages) : names).flatMap((name) =>
            (['light', 'dark'] as const).flatMap((theme) => [1440, 390].map((width) => [name, theme, width] as const)),
          );
    for (const [name, theme, width] of wanted) {
      const bytes = await draw(browser, hub, scene, { path: pages[name] as string, theme, width });
      const file =
        folder === undefined ? `docs/pictures/dashboard-${name}.png` : resolve(folder, `${name}-${theme}-${width}.png`);
      writeFileSync(file, bytes);
      process.stdout.write(`${file}\n`);
    }
  } finally {
    await browser.close();
    rmSync(home, { recursive: true, force: true });
  }
}

await main();
