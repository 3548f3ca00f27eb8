import { countSettledElements, openPage } from './dashboard-browser.ts';
import type { DashboardBench } from './dashboard-browser.ts';
import { row } from './dashboard-row.ts';
import type { Row } from './dashboard-row.ts';
import type { BenchRuns } from './dashboard-run.ts';

/** Counts the elements of every page. @returns the pages with the most. */
export async function measureElements(bench: DashboardBench, runs: BenchRuns, workflowId: string): Promise<Row[]> {
  const sections = [
    'profile',
    'members',
    'entitlements',
    'chat',
    'chat-ai',
    'channels',
    'policy',
    'models',
    'ai-usage',
    'tokens',
    'webhooks',
    'origins',
    'audit',
    'usage-events',
  ];
  const paths = [
    '/app',
    '/app/runs',
    `/app/runs/${runs.child}`,
    `/app/runs/${runs.parent}`,
    `/app/runs/${runs.parent}?view=related`,
    `/app/runs/${runs.withLog}?view=logs`,
    '/app/approvals',
    '/app/nodes',
    '/app/inbox',
    '/app/workflows',
    `/app/workflows/${workflowId}`,
    `/app/workflows/${workflowId}/steps`,
    `/app/workflows/${workflowId}/versions`,
    `/app/workflows/${workflowId}/runs`,
    '/app/sequences',
    '/app/agents',
    '/app/sessions',
    '/app/schedules',
    '/app/packs',
    '/app/knowledge',
    '/app/calls',
    ...sections.map((section) => `/app/settings/${section}`),
  ];
  const counts: { path: string; count: number }[] = [];
  for (const path of paths) {
    await using tab = await openPage(bench, path);
    await tab.page.locator('main').waitFor();
    const found = await countSettledElements(tab.page);
    counts.push({
      path: path
        .replace(runs.child, 'CHILD')
        .replace(runs.parent, 'PARENT')
        .replace(runs.withLog, 'LOG')
        .replace(workflowId, 'ID'),
      count: found,
    });
  }
  return counts
    .toSorted((one, two) => two.count - one.count)
    .slice(0, 8)
    .map(({ path, count }) => row(path, String(count), '3,000'));
}
