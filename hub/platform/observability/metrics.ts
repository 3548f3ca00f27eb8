import { setTimeout as sleep } from 'node:timers/promises';
import { ValueType } from '@opentelemetry/api';
import type { Meter } from '@opentelemetry/api';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import type { Database } from '../db/database.ts';
import { measureProcess } from './process-metrics.ts';

/** Label sets per metric. Further ones are counted together. */
const maxLabelSets = 10_000;
const breakerCountTimeoutMs = 1_000;

/** Collects metrics on demand, for the `/metrics` route of the hub. */
class ScrapeReader extends MetricReader {
  constructor() {
    super({ cardinalitySelector: () => maxLabelSets });
  }

  protected override async onShutdown() {}

  protected override async onForceFlush() {}
}

/** Creates the metrics of one hub for Prometheus. Several hubs in one process count separately. */
export function createMetrics(db: Database) {
  const reader = new ScrapeReader();
  const provider = new MeterProvider({ readers: [reader] });
  const meter = provider.getMeter('outrigger');
  measureConnections(meter, db);
  const processMetrics = measureProcess(meter);
  const requests = histogram(
    meter,
    'outrigger_http_request_seconds',
    'Duration of HTTP requests by operation',
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
  );
  const finished = counter(meter, 'outrigger_runs_finished_total', 'Runs that finished on this process');
  const webhookAttempts = counter(
    meter,
    'outrigger_webhook_attempts_total',
    'Webhook delivery attempts of this process',
  );
  const trunkAttempts = counter(
    meter,
    'outrigger_sip_registrations_total',
    'SIP trunk registration attempts of this process',
  );
  const modelCalls = counter(meter, 'outrigger_model_calls_total', 'Model calls of this process, counting each retry');
  const modelTokens = counter(
    meter,
    'outrigger_model_tokens_total',
    'Tokens of model calls, as counted by the provider or else estimated by the hub',
  );
  const modelCost = counter(
    meter,
    'outrigger_model_cost_micros_total',
    'Cost of calls of models with prices, in millionths of the currency',
  );
  const modelSeconds = histogram(
    meter,
    'outrigger_model_call_seconds',
    'Duration of successful model calls',
    [0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30],
  );
  const breakerChanges = counter(
    meter,
    'outrigger_model_breaker_changes_total',
    'State changes of model circuit breakers by this process',
  );
  const speechCalls = counter(
    meter,
    'outrigger_speech_calls_total',
    'Speech-to-text and text-to-speech calls of this process, counting each retry',
  );
  const speechSeconds = histogram(
    meter,
    'outrigger_speech_seconds',
    'Duration of speech-to-text and text-to-speech calls',
    [0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30],
  );
  const voiceTurns = counter(meter, 'outrigger_voice_turns_total', 'Voice turns of this process, by outcome');
  const voiceSeconds = histogram(
    meter,
    'outrigger_voice_turn_seconds',
    'Duration of the stages of voice turns',
    [0.05, 0.1, 0.2, 0.3, 0.5, 0.85, 1, 2, 5, 10, 30],
  );
  const seconds = histogram(
    meter,
    'outrigger_run_seconds',
    'Time from the acceptance of a run to its end',
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 300],
  );
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  return {
    /** All metrics in the text format of Prometheus. */
    text: async () => serializer.serialize((await reader.collect()).resourceMetrics),
    requests: {
      observe: (labels: { operation: string; status: string }, value: number) => requests.record(value, labels),
    },
    webhooks: { count: (labels: { outcome: string }) => webhookAttempts.add(1, labels) },
    trunks: { count: (labels: { outcome: string }) => trunkAttempts.add(1, labels) },
    models: {
      // Workspaces and model names are not labels, because users can create any number of them.
      call({ outcome, ms, usage, cost, ...labels }: CountedModelCall) {
        modelCalls.add(1, { ...labels, outcome });
        if (outcome === 'answered') modelSeconds.record(ms / 1000, labels);
        modelTokens.add(usage.inputTokens, { ...labels, direction: 'input' });
        modelTokens.add(usage.outputTokens, { ...labels, direction: 'output' });
        if (cost !== null) modelCost.add(cost.micros, { ...labels, currency: cost.currency });
      },
      breaker: (change: string) => breakerChanges.add(1, { change }),
      speech({ seconds: duration, ...labels }: { stage: string; outcome: string; seconds: number }) {
        speechCalls.add(1, labels);
        speechSeconds.record(duration, labels);
      },
      voiceTurn({ outcome, latencyMs }: { outcome: string; latencyMs: Readonly<Record<string, number>> }) {
        voiceTurns.add(1, { outcome });
        for (const [stage, ms] of Object.entries(latencyMs)) voiceSeconds.record(ms / 1_000, { stage });
      },
      /** @param count reads the numbers from the database. */
      countBreakersBy: (count: () => Promise<{ open: number; halfOpen: number }>) => measureBreakers(meter, count),
    },
    runs: {
      observe(labels: { status: string }, value: number) {
        finished.add(1, labels);
        seconds.record(value, labels);
      },
    },
    async [Symbol.asyncDispose]() {
      processMetrics[Symbol.dispose]();
      await provider.shutdown();
    },
  };
}

/** One model call with its outcome. */
interface CountedModelCall {
  provider: string;
  /** Owner of the model. */
  owner: 'hub' | 'workspace';
  outcome: string;
  ms: number;
  usage: { inputTokens: number; outputTokens: number };
  cost: { currency: string; micros: number } | null;
}

export type Metrics = ReturnType<typeof createMetrics>;

const histogram = (meter: Meter, name: string, description: string, explicitBucketBoundaries: number[]) =>
  meter.createHistogram(name, { description, advice: { explicitBucketBoundaries } });

const counter = (meter: Meter, name: string, description: string) =>
  meter.createCounter(name, { description, valueType: ValueType.INT });

function measureBreakers(meter: Meter, count: () => Promise<{ open: number; halfOpen: number }>): void {
  meter
    .createObservableGauge('outrigger_model_breakers', {
      description: 'Model circuit breakers of all workspaces that are not closed',
    })
    .addCallback(async (result) => {
      // An unavailable database must not delay the other metrics.
      const counted = await Promise.race([count(), sleep(breakerCountTimeoutMs, null, { ref: false })]).catch(
        () => null,
      );
      if (counted === null) return;
      result.observe(counted.open, { state: 'open' });
      result.observe(counted.halfOpen, { state: 'half_open' });
    });
}

function measureConnections(meter: Meter, db: Database): void {
  meter
    .createObservableGauge('outrigger_database_connections', {
      description: 'Database connections of this process',
    })
    .addCallback((result) => {
      const { total, idle, waiting } = db.load;
      result.observe(total - idle, { state: 'used' });
      result.observe(idle, { state: 'idle' });
      result.observe(waiting, { state: 'waited_for' });
    });
}
