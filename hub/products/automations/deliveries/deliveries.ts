import { AppError } from '../../../../shared/errors.ts';
import { toStorableText } from '../../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { sunk } from '../../../engine/skill.ts';
import type { SinkRow } from '../../../engine/skill.ts';
import type { Database } from '../../../platform/db/database.ts';
import { retryOnOutage } from '../../../platform/db/outage.ts';
import { EgressFailed, EgressRefused } from '../../../platform/egress/egress.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import { currentTraceParent } from '../../../platform/observability/tracing/trace-context.ts';
import { messageRecords } from '../logs/index.ts';
import type { MessageRecord } from '../logs/index.ts';

export interface DeliveryRequest {
  url: string;
  body?: JsonValue | undefined;
  headers?: Record<string, string> | undefined;
}

export interface DeliveryContext {
  tenantId: string;
  workflowId: string;
  runId: string;
  stepIndex: number;
  /** Length of the chain of runs that led to this delivery. */
  depth: number;
  environment: 'live' | 'test';
  idempotencyKey: string;
  signal: AbortSignal;
}

/** Passes the length of the chain of runs to inbound hooks of this hub, so that a loop over hooks ends. */
export const depthHeader = 'x-outrigger-depth';
/** Names the calling run, so that a run which the hook of the same workspace starts inherits its authors. */
export const runHeader = 'x-outrigger-run';

const timeoutMs = 15_000;
const maxResponseBytes = 256 * 1024;

/** Headers that the delivery sets. A workflow can't set them. */
const reservedHeaders = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'idempotency-key',
  'te',
  'upgrade',
  'expect',
  'trailer',
  depthHeader,
  runHeader,
  'keep-alive',
  'proxy-connection',
]);

function parseBody(text: string, contentType: string): JsonValue {
  if (!/\bjson\b/i.test(contentType)) return text;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

/** Calls web addresses for workflows. */
export class Deliveries {
  readonly #deps: { db: Database; egress: Egress };

  constructor(dependencies: { db: Database; egress: Egress }) {
    this.#deps = dependencies;
  }

  /**
   * POSTs JSON through the egress guard with a time limit of 15 s. In the test environment it only records the request.
   * @throws AppError `egress_refused`, or `skill_failed` when the address can't be reached or does not respond with
   * 2xx.
   */
  async deliver(
    request: DeliveryRequest,
    context: DeliveryContext,
  ): Promise<{ output: JsonValue; outputText: string; rows: SinkRow[] }> {
    const { db, egress } = this.#deps;
    const { url, body, headers = {} } = request;
    const reserved = Object.keys(headers).find((name) => reservedHeaders.has(name.toLowerCase()));
    if (reserved !== undefined)
      throw new AppError('validation_failed', `input.headers can't set ${reserved}: the hub sets this header.`);

    const { tenantId, workflowId, runId, stepIndex } = context;
    const record = (status: MessageRecord['status'], summary: JsonObject): MessageRecord => ({
      tenantId,
      workflowId,
      runId,
      stepIndex,
      channel: 'webhook',
      recipient: url,
      status,
      summary,
    });

    if (context.environment === 'test') {
      const output = { simulated: true, url };
      return {
        output,
        outputText: `simulated: POST ${url}`,
        rows: [sunk(messageRecords, record('simulated', { bytes: Buffer.byteLength(JSON.stringify(body ?? null)) }))],
      };
    }
    // A workflow may set its own trace context.
    const traceParent = Object.keys(headers).some((name) => name.toLowerCase() === 'traceparent')
      ? null
      : currentTraceParent();
    try {
      const response = await egress.fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Outrigger',
          ...headers,
          ...(traceParent === null ? {} : { traceparent: traceParent }),
          [depthHeader]: String(context.depth + 1),
          [runHeader]: context.runId,
          'idempotency-key': context.idempotencyKey,
        },
        body: JSON.stringify(body ?? null),
        signal: context.signal,
        timeoutMs,
        maxResponseBytes,
      });
      const text = response.body.toString('utf8').replaceAll('\u0000', '\uFFFD');
      if (response.status < 200 || response.status > 299) {
        throw new AppError(
          'skill_failed',
          `${new URL(url).host} answered ${response.status}${text === '' ? '' : `: ${text.slice(0, 300)}`}`,
        );
      }
      const output = { status: response.status, body: parseBody(text, response.headers['content-type'] ?? '') };
      return {
        output,
        outputText: text,
        rows: [sunk(messageRecords, record('delivered', { status: response.status }))],
      };
    } catch (error) {
      if (!context.signal.aborted) {
        const reason = error instanceof Error ? error.message.slice(0, 500) : String(error);
        await retryOnOutage(context.signal, () =>
          db.workspace(tenantId, (tx) =>
            messageRecords.insert(tx, [record('failed', { error: toStorableText(reason) })]),
          ),
        );
      }
      if (error instanceof EgressRefused) throw new AppError('egress_refused', error.message, { cause: error });
      if (error instanceof EgressFailed) throw new AppError('skill_failed', error.message, { cause: error });
      throw error;
    }
  }
}
