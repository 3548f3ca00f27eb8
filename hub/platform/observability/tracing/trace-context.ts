import { AsyncLocalStorage } from 'node:async_hooks';

/** Identifies a span to its child spans. */
export interface TraceContext {
  /** 32 hexadecimal digits, not all 0. */
  traceId: string;
  /** 16 hexadecimal digits, not all 0. */
  spanId: string;
  /** Whether the spans of this trace are recorded. */
  sampled: boolean;
}

const current = new AsyncLocalStorage<TraceContext>();

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses a `traceparent` header of W3C Trace Context; null when it is invalid. */
export function parseTraceParent(text: unknown): TraceContext | null {
  if (typeof text !== 'string' || text.length > 200) return null;
  const [, version, traceId = '', spanId = '', flags = '', more] = pattern.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

const formatTraceParent = ({ traceId, spanId, sampled }: TraceContext) =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;

/** The `traceparent` of the current span; null when tracing is off. */
export function currentTraceParent(): string | null {
  const context = current.getStore();
  return context === undefined ? null : formatTraceParent(context);
}

/** Runs work with a span as the current one, so that spans started within become its children. */
export const withinSpan = <Result>(context: TraceContext, work: () => Result): Result => current.run(context, work);
