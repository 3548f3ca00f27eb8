import { setTimeout as delay } from 'node:timers/promises';
import type { Client as PgClient } from 'pg';
import { request } from 'undici';
import {
  countElements,
  openPage,
  recordInputs,
  repeat,
  requestsPerMinute,
  slowDown,
  takeInputs,
} from './dashboard-browser.ts';
import type { DashboardBench } from './dashboard-browser.ts';
import type { BenchHub } from './hub.ts';
import { percentile } from './table.ts';

/** Runs per second of the load, each with one step. Each run has four events. */
const runsPerSecond = 50;
const tickMs = 100;
/** A hub that is too busy gets no further starts meanwhile. */
const maxPending = 100;
const token = 'benchmark-webhook-token';

export interface Load extends AsyncDisposable {
  /** Events per second since the start, and the number of starts that the hub refused. */
  rate: () => Promise<{ eventsPerSecond: number; refused: number }>;
}

/** Starts runs at a constant rate. */
export async function startLoad(hub: BenchHub, database: PgClient): Promise<Load> {
  const { data } = await hub.api.call('listAutomationWorkflows', { query: {} });
  if (!data.some(({ name }) => name === 'Load'))
    await hub.api.call('createAutomationWorkflow', {
      body: {
        name: 'Load',
        triggerJson: { type: 'webhook', webhook: { token } },
        stepsJson: [{ type: 'log', message: 'A line of the load' }],
      },
    });
  const startedAt = Date.now();
  const pending = new Set<Promise<unknown>>();
  let refused = 0;
  const start = () =>
    request(`${hub.url}/v1/automations/hooks/inbound`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-automation-token': token },
      body: '{"event":"load"}',
    }).then(async ({ body, statusCode }) => {
      await body.dump();
      // A hub that is too busy answers 503.
      if (statusCode !== 200) refused += 1;
    });
  let started = 0;
  const timer = setInterval(() => {
    // A late timer makes up for what it missed.
    const due = Math.floor(((Date.now() - startedAt) / 1_000) * runsPerSecond);
    for (; started < due; started += 1) {
      if (pending.size >= maxPending) {
        refused += 1;
        continue;
      }
      const run: Promise<unknown> = start()
        .catch(() => (refused += 1))
        .finally(() => pending.delete(run));
      pending.add(run);
    }
  }, tickMs);
  return {
    rate: async () => {
      const { rows } = await database.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM workspace_events WHERE at > $1',
        [new Date(startedAt)],
      );
      return { eventsPerSecond: (rows[0]?.count ?? 0) / ((Date.now() - startedAt) / 1_000), refused };
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await Promise.all(pending);
    },
  };
}

/** Input delays on the list of runs during the load: keys that move and select, clicks that select, and the wheel. */
export async function measureInputs(
  bench: DashboardBench,
  rate: number,
): Promise<{ delay: number[]; drawn: number[] }[]> {
  await using tab = await openPage(bench, '/app/runs');
  const { page } = tab;
  await page.locator('[data-run]').first().waitFor();
  await slowDown(page, rate);
  await delay(2_000);
  await recordInputs(page);
  return await repeat(async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      for (const key of ['j', 'j', 'x', 'k']) {
        await page.keyboard.press(key);
        await delay(60);
      }
      const box = await page.locator('main input[type=checkbox]').nth(3).boundingBox();
      if (box !== null) await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      await page.mouse.wheel(0, turn % 2 === 0 ? 300 : -300);
      await delay(60);
    }
    return takeInputs(page);
  });
}

export const p95 = (samples: number[]) => percentile(samples, 0.95);

/** Whether the rows in view and the selection stay where they are during the load. */
export async function checkStillness(
  bench: DashboardBench,
  seconds: number,
): Promise<{ movedBy: number; lost: number; elements: number }> {
  await using tab = await openPage(bench, '/app/runs');
  const { page } = tab;
  await page.locator('[data-run]').first().waitFor();
  await page.evaluate('scrollTo(0, 1_500)');
  await delay(1_000);
  const boxes = page.locator('main tbody input[type=checkbox]');
  for (const index of [9, 11, 12]) await boxes.nth(index).check();
  const read = () =>
    page.evaluate<{ tops: Record<string, number>; selected: number }>(
      `({ tops: Object.fromEntries([...document.querySelectorAll('[data-run]')].map((link) => [link.dataset.run, link.getBoundingClientRect().top])), selected: document.querySelectorAll('main tbody input:checked').length })`,
    );
  const before = await read();
  await delay(seconds * 1_000);
  const after = await read();
  const moves = Object.entries(before.tops)
    .filter(([id]) => id in after.tops)
    .map(([id, top]) => Math.abs((after.tops[id] as number) - top));
  return {
    movedBy: moves.length === 0 ? Number.NaN : Math.max(...moves),
    lost: before.selected - after.selected,
    elements: await countElements(page),
  };
}

/** Requests per minute of a page during the load. */
export async function countRequests(bench: DashboardBench, path: string, seconds: number): Promise<number> {
  await using tab = await openPage(bench, path);
  await tab.page.locator('main').waitFor();
  // The requests that open the page do not count.
  await delay(3_000);
  return await requestsPerMinute(tab, seconds);
}
