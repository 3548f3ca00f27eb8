import { Client as PgClient } from 'pg';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { canOpenDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { addManyRuns } from '../fixtures/stage/many-runs.ts';
import { readBenchArguments } from './bench-arguments.ts';
import { loadedKilobytes, median, openPage, repeat, rounds, timePageLoad } from './dashboard-browser.ts';
import type { DashboardBench } from './dashboard-browser.ts';
import { measureElements } from './dashboard-elements.ts';
import { checkStillness, countRequests, measureInputs, p95, startLoad } from './dashboard-live.ts';
import type { Load } from './dashboard-live.ts';
import { measureN8nList } from './dashboard-n8n.ts';
import { row } from './dashboard-row.ts';
import type { Row } from './dashboard-row.ts';
import {
  childRuns,
  childSteps,
  createRuns,
  logLines,
  measureJumps,
  measureOutput,
  measureSteps,
  outputBytes,
} from './dashboard-run.ts';
import type { BenchRuns } from './dashboard-run.ts';
import { measureViewers } from './dashboard-viewers.ts';
import { signIn, startBenchHub } from './hub.ts';
import { findN8n } from './n8n.ts';
import { milliseconds, printTable } from './table.ts';

const parts = {
  runs: 'first load, first paint and the list of runs over a million runs (fills them in minutes)',
  live: 'inputs, scroll, selection and requests at 200 events per second',
  run: 'the page of a run: 100,000 log lines, an output of 4 MiB, 50 child runs of 200 steps',
  elements: 'elements of every page',
  viewers: 'the events of a run of 200 steps for 50 viewers',
};
const manyRuns = 1_000_000;
const workflows = 40;
/** How much slower the CPU of the page is made. */
const slowRate = 4;

/** The compressed scripts and styles of the list of runs. */
async function measureFirstLoad(bench: DashboardBench): Promise<number> {
  await using tab = await openPage(bench, '/app/runs');
  await tab.page.locator('[data-run]').first().waitFor();
  return await loadedKilobytes(tab.page);
}

/** The list of runs of the newest 100, and with filters that have an index or none. */
async function measureList(bench: DashboardBench, workflowId: string): Promise<Row[]> {
  const lists: [string, string][] = [
    ['all runs', ''],
    ['failed runs', '?status=failed'],
    ['runs of a rare workflow', `?workflow=${workflowId}`],
    ['failed runs with a code, without an index', '?code=timeout'],
    ['runs by event in the last 30 days, without an index', '?trigger=event&period=30d'],
    ['runs by a trigger that no run has', '?trigger=heartbeat'],
  ];
  const rows: Row[] = [];
  for (const [name, search] of lists) {
    // A list without runs is usable when it says so.
    const loads = await repeat(() =>
      timePageLoad(bench, `/app/runs${search}`, search.includes('heartbeat') ? 'main p.font-semibold' : '[data-run]'),
    );
    const [paint, usable] = [loads.map((load) => load.paint), loads.map((load) => load.usable)];
    rows.push(
      row(`${name}: first paint`, milliseconds(median(paint)), '800 ms'),
      row(`${name}: first rows`, milliseconds(median(usable)), '1,000 ms'),
    );
  }
  return rows;
}

async function measureLive(bench: DashboardBench, load: Load): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [rate, name] of [
    [1, 'normal CPU'],
    [slowRate, 'CPU slowed 4 times'],
  ] as const) {
    const taken = await measureInputs(bench, rate);
    rows.push(
      row(
        `input delay p95, ${name}`,
        milliseconds(median(taken.map((each) => p95(each.delay)))),
        rate === 1 ? '' : '100 ms',
      ),
      row(`input to the next frame p95, ${name}`, milliseconds(median(taken.map((each) => p95(each.drawn))))),
    );
  }
  const still = await checkStillness(bench, 20);
  rows.push(
    row('rows moved in 20 s, scrolled down with 3 selected', `${still.movedBy.toFixed(1)} px`, '0 px'),
    row('selected rows lost', String(still.lost), '0'),
    row('elements', String(still.elements), '3,000'),
  );
  return [...(await rateRows(load)), ...rows];
}

async function rateRows(load: Load): Promise<Row[]> {
  const { eventsPerSecond, refused } = await load.rate();
  return [
    row('events per second', eventsPerSecond.toFixed(0), '200'),
    row('starts that a busy hub refused', String(refused), '0'),
  ];
}

async function measureRequests(bench: DashboardBench, runs: BenchRuns): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, path] of [
    ['list of runs', '/app/runs'],
    ['home page', '/app'],
    ['list of workflows', '/app/workflows'],
    ['page of an ended run', `/app/runs/${runs.child}`],
  ] as const)
    rows.push(row(name, (await countRequests(bench, path, 30)).toFixed(0), '60'));
  return rows;
}

async function measureRun(bench: DashboardBench, runs: BenchRuns): Promise<Row[]> {
  const { loadSeconds, jumps, elements } = await measureJumps(bench, runs.withLog, [1, slowRate]);
  const rows = [
    row(`${logLines} lines read from the newest to the oldest`, `${loadSeconds.toFixed(1)} s`),
    row('jump in these lines, normal CPU', milliseconds(jumps[0] ?? Number.NaN), '100 ms'),
    row('jump in these lines, CPU slowed 4 times', milliseconds(jumps[1] ?? Number.NaN), '400 ms'),
    row('elements of the log', String(elements), '3,000'),
  ];
  const size = `an output of ${outputBytes / 1024 / 1024} MiB`;
  rows.push(
    row(`${size} opens, normal CPU`, milliseconds(await measureOutput(bench, runs.withOutput, 1)), '300 ms'),
    row(`${size} opens, CPU slowed 4 times`, milliseconds(await measureOutput(bench, runs.withOutput, slowRate))),
  );
  const related = await repeat(() => timePageLoad(bench, `/app/runs/${runs.parent}?view=related`, 'main li a'));
  const child = await repeat(() => timePageLoad(bench, `/app/runs/${runs.child}`, '[data-step]'));
  rows.push(
    row(
      `a run with ${childRuns} child runs opens on these`,
      milliseconds(median(related.map(({ usable }) => usable))),
      '1,000 ms',
    ),
    row(
      `a child run of ${childSteps} steps opens`,
      milliseconds(median(child.map(({ usable }) => usable))),
      '1,000 ms',
    ),
  );
  for (const [rate, name] of [
    [1, 'normal CPU'],
    [slowRate, 'CPU slowed 4 times'],
  ] as const) {
    const { taken, elements: count } = await measureSteps(bench, runs.child, rate);
    rows.push(
      row(
        `next of ${childSteps} steps by key, delay p95, ${name}`,
        milliseconds(median(taken.map((each) => p95(each.delay)))),
        rate === 1 ? '' : '100 ms',
      ),
      row(
        `next of ${childSteps} steps by key, to the next frame p95, ${name}`,
        milliseconds(median(taken.map((each) => p95(each.drawn)))),
      ),
    );
    if (rate === 1) rows.push(row(`elements of a run of ${childSteps} steps`, String(count), '3,000'));
  }
  return rows;
}

/** Measures the pages of the dashboard in Chromium, with a hub on the same machine. */
export async function benchDashboard(args: string[]): Promise<void> {
  const wanted = readBenchArguments('dashboard', args, parts, {
    runs: `number of runs instead of ${manyRuns}`,
    against: 'n8n: measure its list of executions, too, where it is installed',
  });
  if (wanted === null) return;
  const { against } = wanted.values;
  const n8n = against === undefined ? null : findN8n();
  if (against !== undefined && (against !== 'n8n' || n8n === null))
    throw new Error(
      '--against takes n8n, which must be on the PATH or named by N8N_BIN; docs/internals/measurements.md says how it installs.',
    );
  if (!canOpenDashboard) throw new Error('This benchmark needs Chromium.');
  const has = (part: keyof typeof parts) => wanted.parts.has(part);
  const count = Number(wanted.values['runs'] ?? manyRuns);
  await using hub = await startBenchHub({ DATABASE_POOL_SIZE: '20' });
  const serverUrl = readPostgresUrl(hub.home) as string;
  const database = new PgClient({ connectionString: serverUrl });
  // This connection ends with its server. The failure that ended the server is reported elsewhere.
  database.on('error', () => undefined);
  await database.connect();
  const session = await signIn(hub);
  const browser = await startDashboardBrowser();
  try {
    const bench: DashboardBench = { browser, hubUrl: hub.url, session };
    const query = async <Found>(text: string, values: unknown[] = []) =>
      (await database.query(text, values)).rows as Found[];
    if (has('viewers'))
      printTable('Processor time of a run of 200 steps with viewers, medians of 5', await measureViewers(hub));
    const workflowIds: string[] = [];
    for (let index = 0; index < workflows; index += 1)
      workflowIds.push(
        (
          await hub.api.call('createAutomationWorkflow', {
            body: { name: `Workflow ${index + 1}`, stepsJson: [{ type: 'log', message: 'x' }] },
          })
        ).id,
      );
    const [tenant] = await query<{ id: string }>('SELECT tenant_id AS id FROM workflows LIMIT 1');
    if (has('runs') || has('live') || has('elements')) {
      process.stdout.write(`  adding ${count} runs\r`);
      await addManyRuns(database, tenant?.id as string, workflowIds, count);
    }
    // Compiles the code of the hub and fills the caches of PostgreSQL.
    await timePageLoad(bench, '/app/runs', '[data-run], main p.font-semibold');
    if (has('runs')) {
      printTable(`The list of ${count} runs in a new browser profile, medians of ${rounds}`, [
        row('scripts and styles, gzip', `${(await measureFirstLoad(bench)).toFixed(1)} KB`, '170 KB'),
        ...(await measureList(bench, workflowIds.at(-1) as string)),
      ]);
      if (n8n !== null)
        printTable(
          `The list of ${count} executions of n8n in a new browser profile, medians of ${rounds}`,
          await measureN8nList(n8n, serverUrl, browser, count),
        );
    }
    if (has('live') || has('run') || has('elements')) {
      process.stdout.write('  adding the runs of the other parts\r');
      const runs = await createRuns(hub, { query });
      if (has('run')) printTable(`The page of a run, medians of ${rounds}`, await measureRun(bench, runs));
      if (has('elements'))
        printTable('Elements, the pages with the most', await measureElements(bench, runs, workflowIds[0] as string));
      if (has('live')) {
        await using load = await startLoad(hub, database);
        printTable(`The dashboard during live events, medians of ${rounds}`, await measureLive(bench, load));
        printTable('Requests per minute of a tab during live events', await measureRequests(bench, runs));
      }
    }
  } finally {
    await browser.close();
    await database.end();
  }
}
