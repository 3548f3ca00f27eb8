import { readdirSync, readFileSync } from 'node:fs';
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import type { PerformanceEntry } from 'node:perf_hooks';
import { getHeapSpaceStatistics } from 'node:v8';
import type { Meter } from '@opentelemetry/api';

/** Sampling interval of the event loop delay, in milliseconds. */
const lagResolutionMs = 10;

const collectionKinds = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

type Read = () => number | Promise<number>;

/**
 * Measures CPU, memory, event loop, garbage collection and files of this process. The names are those of the Prometheus
 * client libraries, so that existing dashboards and alerts for Node.js work. Disposal stops the background measurements.
 *
 * The library `prom-client` has the same metrics, but cannot stop measuring, and misses garbage collections: of those
 * that Node.js reports together, it counts one.
 */
export function measureProcess(meter: Meter): Disposable {
  const gauge = (name: string, description: string, read: Read) =>
    meter.createObservableGauge(name, { description }).addCallback(async (result) => result.observe(await read()));
  const seconds = (name: string, description: string, readMicroseconds: () => number) =>
    meter
      .createObservableCounter(name, { description })
      .addCallback((result) => result.observe(readMicroseconds() / 1e6));

  seconds('process_cpu_user_seconds_total', 'User CPU time.', () => process.cpuUsage().user);
  seconds('process_cpu_system_seconds_total', 'System CPU time.', () => process.cpuUsage().system);
  seconds('process_cpu_seconds_total', 'User and system CPU time.', () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  });
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  gauge('process_start_time_seconds', 'Start time of the process in seconds since 1970.', () => startedAt);
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge('nodejs_heap_size_total_bytes', 'Size of the heap.', () => process.memoryUsage().heapTotal);
  gauge('nodejs_heap_size_used_bytes', 'Used part of the heap.', () => process.memoryUsage().heapUsed);
  gauge('nodejs_external_memory_bytes', 'Memory outside the heap.', () => process.memoryUsage().external);
  if (process.platform === 'linux') {
    // Reading the folder opens one descriptor itself.
    gauge('process_open_fds', 'Open file descriptors.', () => readdirSync('/proc/self/fd').length - 1);
    const limit = Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
    if (Number.isInteger(limit)) gauge('process_max_fds', 'Maximum of open file descriptors.', () => limit);
  }
  measureLabelled(meter);
  const collections = measureCollections(meter);
  gauge('nodejs_eventloop_lag_seconds', 'Lag of the event loop now.', async () => {
    const before = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    return (performance.now() - before) / 1000;
  });
  const lag = measureLag(meter);
  return {
    [Symbol.dispose]() {
      lag.disable();
      collections.disconnect();
    },
  };
}

/** Measures the version of Node.js and the spaces of the heap. */
function measureLabelled(meter: Meter): void {
  const [major = '', minor = '', patch = ''] = process.version.slice(1).split('.');
  meter
    .createObservableGauge('nodejs_version_info', { description: 'Version of Node.js.' })
    .addCallback((result) => result.observe(1, { version: process.version, major, minor, patch }));
  for (const [kind, key] of [
    ['total', 'space_size'],
    ['used', 'space_used_size'],
    ['available', 'space_available_size'],
  ] as const)
    meter
      .createObservableGauge(`nodejs_heap_space_size_${kind}_bytes`, { description: `Spaces of the heap: ${kind}.` })
      .addCallback((result) => {
        for (const space of getHeapSpaceStatistics())
          result.observe(space[key], { space: space.space_name.replace(/_space$/, '') });
      });
}

/** Measures the event loop delay. Each reading covers the time since the previous one. */
function measureLag(meter: Meter) {
  const delays = monitorEventLoopDelay({ resolution: lagResolutionMs });
  delays.enable();
  const gauges = (
    [
      ['min', () => delays.min],
      ['max', () => delays.max],
      ['mean', () => delays.mean],
      ['stddev', () => delays.stddev],
      ['p50', () => delays.percentile(50)],
      ['p90', () => delays.percentile(90)],
      ['p99', () => delays.percentile(99)],
    ] as const
  ).map(([name, read]) => ({
    instrument: meter.createObservableGauge(`nodejs_eventloop_lag_${name}_seconds`, {
      description: `Delay of the event loop since the last reading: ${name}.`,
    }),
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
    description: 'Duration of garbage collections by kind: major, minor, incremental or weakcb.',
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
