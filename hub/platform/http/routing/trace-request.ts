import type { Request, Response } from 'express';
import type { Operation } from '../../../../shared/contract/define.ts';
import { parseTraceParent, withinSpan } from '../../observability/tracing/trace-context.ts';
import type { Tracing } from '../../observability/tracing/tracing.ts';
import type { Principal } from '../auth/principal.ts';

interface TracedRequest {
  operation: Operation;
  principal: Principal;
  request: Request;
  response: Response;
  /** By the clock of `performance`. */
  startedAt: number;
}

/**
 * Runs a request in a span, as a child of the caller's span. The span is recorded when the response is closed. Requests
 * without a credential are not traced. Requests of devices are traced only within a trace of the device, because their
 * polls would be most of the spans.
 */
export function traceRequest(
  tracing: Tracing,
  { operation, principal, request, response, startedAt }: TracedRequest,
  work: () => Promise<void>,
): Promise<void> {
  const parent = parseTraceParent(request.headers['traceparent']);
  if (!mayTrace(principal) || (principal.kind === 'device' && parent === null)) return work();
  const context = tracing.newContext(parent);
  response.once('close', () => {
    // The operation verifies the token of a hook, so a refused call is unauthenticated.
    if (principal.kind === 'webhook-token' && response.statusCode >= 400) return;
    tracing.record({
      name: `${operation.method} ${operation.path}`,
      kind: 'server',
      context,
      parentSpanId: parent?.spanId ?? null,
      startedAt: performance.timeOrigin + startedAt,
      endedAt: Date.now(),
      attributes: {
        'http.request.method': operation.method,
        'http.route': operation.path,
        'http.response.status_code': response.statusCode,
        'outrigger.operation': operation.id,
        'outrigger.workspace': 'tenantId' in principal ? principal.tenantId : undefined,
      },
      failed: response.statusCode >= 500,
    });
  });
  return withinSpan(context, work);
}

const mayTrace = ({ kind }: Principal) =>
  kind === 'token' || kind === 'session' || kind === 'webhook-token' || kind === 'device';
