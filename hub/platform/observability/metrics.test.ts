import { expect, test } from 'vitest';
import { createMetrics } from './metrics.ts';

const load = { total: 5, idle: 2, waiting: 1 };
const open = () => createMetrics({ load } as Parameters<typeof createMetrics>[0]);

const linesOf = (text: string, name: string) => text.split('\n').filter((line) => line.startsWith(name));

test('requests and runs are counted by label, in buckets that include their upper bound', async () => {
  await using metrics = open();
  metrics.requests.observe({ operation: 'listRuns', status: '200' }, 0.005);
  metrics.requests.observe({ operation: 'listRuns', status: '200' }, 0.04);
  metrics.runs.observe({ status: 'failed' }, 2);
  const text = await metrics.text();
  expect(linesOf(text, 'outrigger_http_request_seconds_')).toEqual([
    'outrigger_http_request_seconds_count{operation="listRuns",status="200"} 2',
    'outrigger_http_request_seconds_sum{operation="listRuns",status="200"} 0.045',
    ...[
      ['0.001', 0],
      ['0.005', 1],
      ['0.01', 1],
      ['0.05', 2],
      ['0.1', 2],
      ['0.5', 2],
      ['1', 2],
      ['5', 2],
      ['30', 2],
      ['+Inf', 2],
    ].map(
      ([bound, count]) =>
        `outrigger_http_request_seconds_bucket{operation="listRuns",status="200",le="${bound}"} ${count}`,
    ),
  ]);
  expect(text).toContain('# TYPE outrigger_http_request_seconds histogram\n');
  expect(text).toContain(
    '# TYPE outrigger_runs_finished_total counter\noutrigger_runs_finished_total{status="failed"} 1\n',
  );
  expect(text).toContain('outrigger_run_seconds_bucket{status="failed",le="1"} 0\n');
  expect(text).toContain('outrigger_run_seconds_bucket{status="failed",le="5"} 1\n');
  expect(linesOf(text, 'outrigger_database_connections')).toEqual([
    'outrigger_database_connections{state="used"} 3',
    'outrigger_database_connections{state="idle"} 2',
    'outrigger_database_connections{state="waited_for"} 1',
  ]);
});

test('counters keep their value between scrapes', async () => {
  await using metrics = open();
  metrics.runs.observe({ status: 'succeeded' }, 1);
  await metrics.text();
  metrics.runs.observe({ status: 'succeeded' }, 1);
  expect(await metrics.text()).toContain('outrigger_runs_finished_total{status="succeeded"} 2\n');
});

test('process metrics cover CPU, memory, event loop, garbage collection and files', async () => {
  await using metrics = open();
  const first = await metrics.text();
  const names = new Set(first.split('\n').flatMap((line) => /^# TYPE (\S+ \S+)$/.exec(line)?.[1] ?? []));
  for (const name of ['cpu_user_seconds_total', 'cpu_system_seconds_total', 'cpu_seconds_total'])
    expect(names).toContain(`process_${name} counter`);
  for (const name of [
    'process_start_time_seconds',
    'process_resident_memory_bytes',
    'nodejs_version_info',
    'nodejs_heap_size_total_bytes',
    'nodejs_heap_size_used_bytes',
    'nodejs_external_memory_bytes',
    ...['total', 'used', 'available'].map((kind) => `nodejs_heap_space_size_${kind}_bytes`),
    'nodejs_eventloop_lag_seconds',
    ...['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map((kind) => `nodejs_eventloop_lag_${kind}_seconds`),
    ...(process.platform === 'linux' ? ['process_open_fds', 'process_max_fds'] : []),
  ])
    expect(names).toContain(`${name} gauge`);
  await expect
    .poll(async () => {
      // Creates garbage, so that the collector runs.
      Array.from({ length: 200_000 }, (_, index) => ({ index }));
      return metrics.text();
    })
    .toMatch(/^nodejs_gc_duration_seconds_count\{kind="minor"\} [1-9]/m);
});

test('two hubs of one process count separately', async () => {
  await using one = open();
  await using other = open();
  one.runs.observe({ status: 'succeeded' }, 1);
  expect(await one.text()).toContain('outrigger_runs_finished_total{status="succeeded"} 1\n');
  expect(await other.text()).not.toContain('outrigger_runs_finished_total');
});
