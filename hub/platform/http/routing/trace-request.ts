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
 * Carries a request out as a span, which is recorded once it was answered: below the caller's own span when the caller proved who it is.
 * Strangers are not traced at all, and devices only within a trace of theirs: their polls would be most of what is sent.
 */
export function traceRequest(
  tracing: Tracing,
  { operation, principal, request, response, startedAt }: TracedRequest,
  work: () => Promise<void>,
): Promise<void> {
  const parent = parseTraceParent(request.headers['traceparent']);
  if (!mayTrace(principal) || (principal.kind === 'device' && parent === null)) return work();
  const below = tracing.newContext(parent);
  response.once('close', () => {
    // The token of a hook is judged by its operation: whoever was refused may be anybody.
    if (principal.kind === 'webhook-token' && response.statusCode >= 400) return;
    tracing.record({
      name: `${operation.method} ${operation.path}`,
      kind: 'server',
      context: below,
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
  return withinSpan(below, work);
}

const mayTrace = ({ kind }: Principal) =>
  kind === 'token' || kind === 'session' || kind === 'webhook-token' || kind === 'device';
