import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { addNumberedLogLines, storeLargeOutput } from '../fixtures/stage/automations.ts';
import {
  countElements,
  median,
  openPage,
  recordInputs,
  repeat,
  slowDown,
  takeInputs,
  timeUntil,
} from './dashboard-browser.ts';
import type { DashboardBench } from './dashboard-browser.ts';
import type { BenchHub } from './hub.ts';

export const logLines = 100_000;
export const outputBytes = 4 * 1024 * 1024;
export const childRuns = 50;
export const childSteps = 200;

/** The runs that the benchmark opens. */
export interface BenchRuns {
  withLog: string;
  withOutput: string;
  parent: string;
  child: string;
}

/** Creates a workflow and runs it to its end. */
async function runOnce(
  { api }: BenchHub,
  name: string,
  stepsJson: object[],
): Promise<{ runId: string; workflowId: string }> {
  const { id: workflowId } = await api.call('createAutomationWorkflow', { body: { name, stepsJson } as never });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id: workflowId } }));
  for (;;) {
    const { status, error } = await api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 20 } });
    if (status === 'succeeded') return { runId, workflowId };
    if (status === 'failed' || status === 'cancelled') throw new Error(`${name} ${status}: ${error?.message ?? ''}`);
  }
}

export async function createRuns(hub: BenchHub, database: Pick<TestDatabase, 'query'>): Promise<BenchRuns> {
  const log = (name: string) => ({ type: 'log', name, message: 'A line' });
  const { runId: withLog } = await runOnce(hub, 'Long log', [log('Write')]);
  await addNumberedLogLines(database as TestDatabase, withLog, logLines);
  const write = { type: 'skill', skillId: 'memory.write', input: { key: 'k', value: 1 }, name: 'Read the chart' };
  const { runId: withOutput } = await runOnce(hub, 'Large output', [write]);
  await storeLargeOutput(database as TestDatabase, withOutput, 0, outputBytes);
  const steps = Array.from({ length: childSteps }, (_, index) => log(`Step ${index + 1}`));
  const { runId: child, workflowId } = await runOnce(hub, 'Child', steps);
  const spawn = { type: 'skill', skillId: 'subagent.spawn', input: { workflowId } };
  const { runId: parent } = await runOnce(
    hub,
    'Parent',
    Array.from({ length: childRuns }, (_, index) => ({ ...spawn, name: `Child ${index + 1}` })),
  );
  return { withLog, withOutput, parent, child };
}

const logRegion = `document.querySelector('[role=region][aria-label=Logs]')`;

/** Scrolls to the oldest lines until all are loaded. @returns seconds. */
async function loadAllLines(page: Page): Promise<number> {
  const startedAt = performance.now();
  await page.evaluate(`new Promise((done) => {
    const region = ${logRegion};
    let frame = 0;
    const look = () => {
      // Every other time a bit below the upper end, so that each step is a scroll event.
      frame += 1;
      region.scrollTop = frame % 6 === 0 ? 0 : frame % 6 === 3 ? 2_000 : region.scrollTop;
      if (region.firstElementChild.getBoundingClientRect().height >= ${logLines} * 24) done();
      else requestAnimationFrame(look);
    };
    look();
  })`);
  return (performance.now() - startedAt) / 1_000;
}

/** Jumps in a log whose lines are all loaded. @returns medians in milliseconds, and seconds until all were loaded. */
export async function measureJumps(bench: DashboardBench, runId: string, rates: number[]) {
  await using tab = await openPage(bench, `/app/runs/${runId}?view=logs`);
  const { page } = tab;
  await page.getByText(`line ${logLines}`, { exact: true }).waitFor();
  const loadSeconds = await loadAllLines(page);
  const jumps: number[] = [];
  for (const rate of rates) {
    await slowDown(page, rate);
    await delay(500);
    jumps.push(
      median(
        await repeat((round) => {
          // Places far from each other.
          const line = ((round * 37_013) % (logLines - 1_000)) + 500;
          return timeUntil(
            page,
            `const region = ${logRegion}; region.scrollTop = ${line} * 24`,
            `[...region.querySelectorAll('button')].some((row) => row.textContent.endsWith('line ${line + 10}'))`,
          );
        }),
      ),
    );
  }
  return { loadSeconds, jumps, elements: await countElements(page) };
}

/** Time from the click on a large output until its first lines are drawn. */
export const measureOutput = async (bench: DashboardBench, runId: string, rate: number): Promise<number> =>
  median(
    await repeat(async () => {
      await using tab = await openPage(bench, `/app/runs/${runId}`);
      const { page } = tab;
      await page.getByRole('button', { name: /Show the whole value/ }).waitFor();
      await slowDown(page, rate);
      await delay(300);
      return await timeUntil(
        page,
        `[...document.querySelectorAll('aside button')].find((button) => button.textContent.startsWith('Show the whole value')).click()`,
        `document.querySelector('[role=region][aria-label=Output]')?.textContent.includes('"begin"')`,
      );
    }),
  );

/** Moves through the steps of a long run with the keyboard. */
export async function measureSteps(bench: DashboardBench, runId: string, rate: number) {
  await using tab = await openPage(bench, `/app/runs/${runId}?step=10`);
  const { page } = tab;
  await page.locator('[data-step="10"]').focus();
  await slowDown(page, rate);
  await delay(500);
  await recordInputs(page);
  const taken = await repeat(async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      await page.keyboard.press('ArrowDown');
      await delay(60);
    }
    return takeInputs(page);
  });
  return { taken, elements: await countElements(page) };
}
