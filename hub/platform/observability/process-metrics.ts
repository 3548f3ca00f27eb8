import { readdirSync, readFileSync } from 'node:fs';
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import type { PerformanceEntry } from 'node:perf_hooks';
import { getHeapSpaceStatistics } from 'node:v8';
import type { Attributes, Meter, ObservableResult } from '@opentelemetry/api';

/** Sampling interval of the event loop delay, in milliseconds. */
const lagResolutionMs = 10;

const collectionKinds = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

/**
 * Measures CPU, memory, event loop, garbage collection and files of this process, with the metric names of the
 * Prometheus client libraries. Disposal stops the background measurements.
 */
export function measureProcess(meter: Meter): Disposable {
  measureProcessor(meter);
  measureMemory(meter);
  measureResources(meter);
  const collections = measureCollections(meter);
  // Last, so that the lag does not include the other measurements.
  const lag = measureLag(meter);
  return {
    [Symbol.dispose]() {
      lag.disable();
      collections.disconnect();
    },
  };
}

function gauge(meter: Meter, name: string, description: string, observe: (result: ObservableResult) => void): void {
  meter.createObservableGauge(name, { description }).addCallback(observe);
}

const labelled =
  (read: () => Iterable<readonly [Attributes, number]>) =>
  (result: ObservableResult): void => {
    for (const [labels, value] of read()) result.observe(value, labels);
  };

function measureProcessor(meter: Meter): void {
  const seconds = (name: string, description: string, read: () => number) =>
    meter.createObservableCounter(name, { description }).addCallback((result) => result.observe(read() / 1e6));
  seconds('process_cpu_user_seconds_total', 'Total user CPU time spent in seconds.', () => process.cpuUsage().user);
  seconds(
    'process_cpu_system_seconds_total',
    'Total system CPU time spent in seconds.',
    () => process.cpuUsage().system,
  );
  seconds('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.', () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  });
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  gauge(meter, 'process_start_time_seconds', 'Start time of the process since unix epoch in seconds.', (result) =>
    result.observe(startedAt),
  );
  const [major = '', minor = '', patch = ''] = process.version.slice(1).split('.');
  gauge(meter, 'nodejs_version_info', 'Node.js version info.', (result) =>
    result.observe(1, { version: process.version, major, minor, patch }),
  );
}

function measureMemory(meter: Meter): void {
  const bytes = (name: string, description: string, key: 'heapTotal' | 'heapUsed' | 'external' | 'rss') =>
    gauge(meter, name, description, (result) => result.observe(process.memoryUsage()[key]));
  bytes('nodejs_heap_size_total_bytes', 'Process heap size from Node.js in bytes.', 'heapTotal');
  bytes('nodejs_heap_size_used_bytes', 'Process heap size used from Node.js in bytes.', 'heapUsed');
  bytes('nodejs_external_memory_bytes', 'Node.js external memory size in bytes.', 'external');
  bytes('process_resident_memory_bytes', 'Resident memory size in bytes.', 'rss');
  for (const [kind, key] of [
    ['total', 'space_size'],
    ['used', 'space_used_size'],
    ['available', 'space_available_size'],
  ] as const) {
    gauge(
      meter,
      `nodejs_heap_space_size_${kind}_bytes`,
      `Process heap space size ${kind} from Node.js in bytes.`,
      labelled(() =>
        getHeapSpaceStatistics().map((space) => [{ space: space.space_name.replace(/_space$/, '') }, space[key]]),
      ),
    );
  }
  if (process.platform !== 'linux') return;
  for (const [name, description, key] of [
    ['process_virtual_memory_bytes', 'Virtual memory size in bytes.', 'VmSize'],
    ['process_heap_bytes', 'Process heap size in bytes.', 'VmData'],
  ] as const) {
    const pattern = new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm');
    gauge(meter, name, description, (result) => {
      const kibibytes = pattern.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
      if (kibibytes !== undefined) result.observe(Number(kibibytes) * 1024);
    });
  }
}

function measureResources(meter: Meter): void {
  // A gauge keeps its last value, so types that are no longer present must be reported as 0.
  const kinds = new Set<string>();
  gauge(
    meter,
    'nodejs_active_resources',
    'Number of active resources that are currently keeping the event loop alive, grouped by async resource type.',
    labelled(() => {
      const active = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
      for (const kind of active.keys()) kinds.add(kind);
      return [...kinds].map((type) => [{ type }, active.get(type)?.length ?? 0]);
    }),
  );
  gauge(meter, 'nodejs_active_resources_total', 'Total number of active resources.', (result) =>
    result.observe(process.getActiveResourcesInfo().length),
  );
  if (process.platform !== 'linux') return;
  // Reading the folder opens one descriptor itself.
  gauge(meter, 'process_open_fds', 'Number of open file descriptors.', (result) =>
    result.observe(readdirSync('/proc/self/fd').length - 1),
  );
  const limit = Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
  if (Number.isInteger(limit))
    gauge(meter, 'process_max_fds', 'Maximum number of open file descriptors.', (result) => result.observe(limit));
}

/** Measures the event loop delay. Each reading covers the time since the previous one. */
function measureLag(meter: Meter) {
  const delays = monitorEventLoopDelay({ resolution: lagResolutionMs });
  delays.enable();
  meter
    .createObservableGauge('nodejs_eventloop_lag_seconds', { description: 'Lag of event loop in seconds.' })
    .addCallback(async (result) => {
      const before = performance.now();
      await new Promise((resolve) => setImmediate(resolve));
      result.observe((performance.now() - before) / 1000);
    });
  const gauges = (
    [
      ['min', 'The minimum recorded event loop delay.', () => delays.min],
      ['max', 'The maximum recorded event loop delay.', () => delays.max],
      ['mean', 'The mean of the recorded event loop delays.', () => delays.mean],
      ['stddev', 'The standard deviation of the recorded event loop delays.', () => delays.stddev],
      ['p50', 'The 50th percentile of the recorded event loop delays.', () => delays.percentile(50)],
      ['p90', 'The 90th percentile of the recorded event loop delays.', () => delays.percentile(90)],
      ['p99', 'The 99th percentile of the recorded event loop delays.', () => delays.percentile(99)],
    ] as const
  ).map(([name, description, read]) => ({
    instrument: meter.createObservableGauge(`nodejs_eventloop_lag_${name}_seconds`, { description }),
    read,
  }));
  meter.addBatchObservableCallback(
    (result) => {
      for (const { instrument, read } of gauges) result.observe(instrument, read() / 1e9);
      delays.reset();
    },
    gauges.map(({ instrument }) => instrument),
  );
  return delays;
}

function measureCollections(meter: Meter): PerformanceObserver {
  const durations = meter.createHistogram('nodejs_gc_duration_seconds', {
    description: 'Garbage collection duration by kind, one of major, minor, incremental or weakcb.',
    advice: { explicitBucketBoundaries: [0.001, 0.01, 0.1, 1, 2, 5] },
  });
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { detail } = entry as PerformanceEntry & { detail: { kind: number } };
      durations.record(entry.duration / 1000, { kind: collectionKinds.get(detail.kind) ?? 'other' });
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return observer;
}
