import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from './db/database.ts';

/** What this process counts, for Prometheus; cleared when it is disposed. */
export function createMetrics(db: Database) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const connections = new Gauge({
    name: 'outrigger_database_connections',
    help: 'Connections of this process to the database',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { total, idle, waiting } = db.load;
      connections.set({ state: 'used' }, total - idle);
      connections.set({ state: 'idle' }, idle);
      connections.set({ state: 'waited_for' }, waiting);
    },
  });
  const finished = new Counter({
    name: 'outrigger_runs_finished_total',
    help: 'Runs that ended on this process',
    labelNames: ['status'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'outrigger_run_seconds',
    help: 'From the acceptance of a run to its end',
    labelNames: ['status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 300],
    registers: [registry],
  });
  return {
    registry,
    [Symbol.dispose]: () => registry.clear(),
    requests: new Histogram({
      name: 'outrigger_http_request_seconds',
      help: 'Duration of requests by operation',
      labelNames: ['operation', 'status'],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
      registers: [registry],
    }),
    runs: {
      observe(labels: { status: string }, value: number) {
        finished.inc(labels);
        seconds.observe(labels, value);
      },
    },
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
