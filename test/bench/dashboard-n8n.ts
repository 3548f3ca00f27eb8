import type { Browser } from 'playwright-core';
import { openTab } from '../fixtures/chat-tab.ts';
import { loadedKilobytes, median, repeat, timeNavigation } from './dashboard-browser.ts';
import { startBenchN8n } from './n8n.ts';
import { milliseconds } from './table.ts';

const owner = { email: 'bench@example.org', firstName: 'Ann', lastName: 'Bench', password: 'Correct-horse-7' };

/** Opens the list of executions of n8n over many executions on the same PostgreSQL server. */
export async function measureN8nList(
  bin: string,
  serverUrl: string,
  browser: Browser,
  count: number,
): Promise<Record<string, string>[]> {
  await using n8n = await startBenchN8n(bin, serverUrl);
  const url = new URL(n8n.webhookUrl).origin;
  const setup = await fetch(`${url}/rest/owner/setup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(owner),
  });
  if (!setup.ok) throw new Error(`n8n answered ${setup.status} to the owner's sign-up: ${await setup.text()}`);
  const cookie = setup.headers.getSetCookie().find((each) => each.startsWith('n8n-auth='));
  const value = cookie?.split(';')[0]?.slice('n8n-auth='.length);
  if (value === undefined) throw new Error('n8n set no cookie');
  await n8n.database.query(
    `INSERT INTO execution_entity (finished, mode, status, "createdAt", "startedAt", "stoppedAt", "workflowId")
     SELECT n % 100 >= 6, 'webhook', CASE WHEN n % 100 < 6 THEN 'error' ELSE 'success' END, t, t, t + interval '1 second', (SELECT id FROM workflow_entity LIMIT 1)
     FROM (SELECT n, now() - ($1::int - n) * (interval '120 days' / $1) AS t FROM generate_series(1, $1::int) n) series`,
    [count],
  );
  await n8n.database.query('VACUUM ANALYZE execution_entity');
  let kilobytes = Number.NaN;
  const loads = await repeat(async () => {
    await using tab = await openTab(browser, { viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
    await tab.page.context().addCookies([{ name: 'n8n-auth', value, url, httpOnly: true }]);
    const times = await timeNavigation(
      tab.page,
      `${url}/home/executions`,
      '[data-test-id="global-execution-list-item"]',
    );
    kilobytes = await loadedKilobytes(tab.page);
    return times;
  });
  return [
    { what: 'scripts and styles, gzip', value: `${kilobytes.toFixed(0)} KB` },
    { what: 'first paint', value: milliseconds(median(loads.map(({ paint }) => paint))) },
    { what: 'first rows', value: milliseconds(median(loads.map(({ usable }) => usable))) },
  ];
}
