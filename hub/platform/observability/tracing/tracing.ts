import { randomBytes } from 'node:crypto';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { logRecovery } from '../log-throttle.ts';
import type { Logger } from '../logger.ts';
import type { TraceContext } from './trace-context.ts';

export interface TracingSettings {
  /** URL of the collector without `/v1/traces`. */
  endpoint: string;
  headers: Record<string, string>;
  timeoutMs: number;
  serviceName: string;
  resource: Record<string, string>;
  /** Fraction of the traces that this hub starts and records, from 0 to 1. */
  ratio: number;
}

/** A span that has ended. Attributes hold ids, names, statuses and durations, never content of users. */
export interface FinishedSpan {
  name: string;
  kind: 'server' | 'client' | 'internal';
  context: TraceContext;
  /** Parent span; null for the root. */
  parentSpanId: string | null;
  startedAt: Date | number;
  endedAt: Date | number;
  attributes: Record<string, string | number | undefined>;
  failed: boolean;
}

/** Records finished spans and sends them in the background. Recording never blocks. */
export interface Tracing extends AsyncDisposable {
  record(span: FinishedSpan): void;
  /** Creates the context of a child span, or of the root of a new trace when `parent` is null. */
  newContext(parent: TraceContext | null): TraceContext;
  /** Whether a trace that begins here is recorded. All processes decide the same for one trace id. */
  isSampled(traceId: string): boolean;
}

/** Queued spans. Further spans are dropped. */
const maxQueuedSpans = 8_192;
const batchSize = 512;
const batchDelayMs = 1_000;
/** How long the shutdown of the hub waits for the last spans, in milliseconds. */
const shutdownFlushMs = 2_000;

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

/** Sends spans to the operator's collector with OTLP/JSON over HTTP. */
export function createTracing(settings: TracingSettings, logger: Logger): Tracing {
  // The ids of a span are set by its caller, so that child spans can refer to it before it is recorded.
  let next: TraceContext | null = null;
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ ...settings.resource, 'service.name': settings.serviceName }),
    sampler: new AlwaysOnSampler(),
    idGenerator: { generateTraceId: () => next?.traceId ?? '', generateSpanId: () => next?.spanId ?? '' },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: loggingExporter(settings, logger),
        maxQueueSize: maxQueuedSpans,
        maxExportBatchSize: batchSize,
        scheduledDelayMillis: batchDelayMs,
        exportTimeoutMillis: settings.timeoutMs + 1_000,
      }),
    ],
  });
  const tracer = provider.getTracer('outrigger');
  const isSampled = (traceId: string) => Number.parseInt(traceId.slice(-12), 16) / 2 ** 48 < settings.ratio;
  return {
    isSampled,
    newContext(parent) {
      const traceId = parent?.traceId ?? randomBytes(16).toString('hex');
      return { traceId, spanId: randomBytes(8).toString('hex'), sampled: parent?.sampled ?? isSampled(traceId) };
    },
    record({ name, kind, context, parentSpanId, startedAt, endedAt, attributes, failed }) {
      if (!context.sampled) return;
      next = context;
      const span = tracer.startSpan(
        name,
        { kind: kinds[kind], startTime: startedAt, attributes },
        parentSpanId === null
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId: context.traceId,
              spanId: parentSpanId,
              traceFlags: TraceFlags.SAMPLED,
            }),
      );
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(endedAt);
    },
    async [Symbol.asyncDispose]() {
      const timeout = Promise.withResolvers<void>();
      const timer = setTimeout(timeout.resolve, shutdownFlushMs);
      await Promise.race([provider.shutdown().catch(() => undefined), timeout.promise]);
      clearTimeout(timer);
    },
  };
}

/** Logs failed exports as an outage of the part `telemetry`, and its recovery. */
function loggingExporter({ endpoint, headers, timeoutMs }: TracingSettings, logger: Logger): SpanExporter {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/(?<!\/)\/+$/, '')}/v1/traces`,
    headers,
    timeoutMillis: timeoutMs,
    concurrencyLimit: 4,
  });
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error === undefined) logRecovery(logger, 'telemetry');
        else
          logger.warn(
            { part: 'telemetry', reason: result.error.message.slice(0, 200) },
            'spans could not be sent to the collector',
          );
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
