import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import type { ChatTab } from '../fixtures/chat-tab.ts';
import { openSignedIn } from '../fixtures/dashboard.ts';
import { percentile } from './table.ts';

/** The signed-in browser of the benchmark. */
export interface DashboardBench {
  browser: Browser;
  hubUrl: string;
  session: string;
}

/** How often each value is measured; the tables have the medians. */
export const rounds = 5;

export const median = (samples: number[]) => percentile(samples, 0.5);

/** Opens a page in a new browser profile, without anything in its cache. */
export const openPage = ({ browser, hubUrl, session }: DashboardBench, path: string): Promise<ChatTab> =>
  openSignedIn(browser, path, { hubUrl, session });

/** Measures `rounds` times. */
export async function repeat<Sample>(measure: (round: number) => Promise<Sample>): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let round = 0; round < rounds; round += 1) samples.push(await measure(round));
  return samples;
}

/** Makes the CPU of a page slower. */
export async function slowDown(page: Page, rate: number): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate });
}

/**
 * Times in a page until a condition holds and the browser has drawn it.
 * @param start a JavaScript expression that is evaluated at the start.
 * @param condition a JavaScript expression, tested once in each frame.
 * @returns milliseconds.
 */
export const timeUntil = (page: Page, start: string, condition: string): Promise<number> =>
  page.evaluate<number>(`new Promise((done, fail) => {
    const startedAt = performance.now();
    const drawn = () => {
      // The task after a frame runs when the frame is drawn.
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => done(performance.now() - startedAt);
      port2.postMessage(null);
    };
    const look = () => {
      if (${condition}) requestAnimationFrame(drawn);
      else if (performance.now() - startedAt > 60_000) fail(new Error('not within 60 s'));
      else requestAnimationFrame(look);
    };
    ${start};
    look();
  })`);

/** First paint of a page, and the time of the first frame that has an element, since the start of the navigation. */
export async function timePageLoad(
  bench: DashboardBench,
  path: string,
  selector: string,
): Promise<{ paint: number; usable: number }> {
  // A small page of the hub: the profile has the session, and nothing of the dashboard in its cache.
  await using tab = await openPage(bench, '/readyz');
  return await timeNavigation(tab.page, bench.hubUrl + path, selector);
}

/** @see timePageLoad */
export async function timeNavigation(
  page: Page,
  url: string,
  selector: string,
): Promise<{ paint: number; usable: number }> {
  await page.addInitScript(`{
    const look = () => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) return requestAnimationFrame(look);
      requestAnimationFrame(() => { window.usableAt = performance.now(); });
    };
    requestAnimationFrame(look);
  }`);
  await page.goto(url);
  await page.locator(selector).first().waitFor();
  return page.evaluate<{ paint: number; usable: number }>(
    `new Promise((done) => {
      const look = () => window.usableAt === undefined
        ? requestAnimationFrame(look)
        : done({ usable: window.usableAt, paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN });
      look();
    })`,
  );
}

/** Starts to record, in a page, how long each input waits for its handler and until the next frame is drawn. */
export const recordInputs = (page: Page): Promise<void> =>
  page.evaluate(`{
    window.inputs = { delay: [], drawn: [] };
    for (const type of ['keydown', 'pointerdown', 'wheel'])
      addEventListener(type, ({ timeStamp }) => {
        window.inputs.delay.push(performance.now() - timeStamp);
        requestAnimationFrame(() => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => window.inputs.drawn.push(performance.now() - timeStamp);
          port2.postMessage(null);
        });
      }, { capture: true, passive: true });
  }`);

/** The recorded inputs, which are then forgotten. */
export const takeInputs = (page: Page) =>
  page.evaluate<{ delay: number[]; drawn: number[] }>(
    `(() => { const found = window.inputs; window.inputs = { delay: [], drawn: [] }; return found; })()`,
  );

export const countElements = (page: Page) => page.evaluate<number>(`document.querySelectorAll('*').length`);

/** The number of elements when it has not changed for a second: lists arrive after their page. */
export async function countSettledElements(page: Page): Promise<number> {
  for (let last = await countElements(page); ;) {
    await delay(1_000);
    const count = await countElements(page);
    if (count === last) return count;
    last = count;
  }
}

/** Bytes of the scripts and styles that a page has loaded, in gzip. */
export async function loadedKilobytes(page: Page): Promise<number> {
  const addresses = await page.evaluate<string[]>(
    `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('/assets/'))`,
  );
  let bytes = 0;
  for (const address of new Set(addresses)) {
    const { body } = await request(address, { headers: { 'accept-encoding': 'gzip' } });
    bytes += (await body.arrayBuffer()).byteLength;
  }
  return bytes / 1024;
}

/** Number of requests of a tab in some time, per minute. The stream of events is one request and counts when it opens. */
export async function requestsPerMinute(tab: ChatTab, seconds: number): Promise<number> {
  const before = tab.requests.length;
  await delay(seconds * 1_000);
  return ((tab.requests.length - before) * 60) / seconds;
}
