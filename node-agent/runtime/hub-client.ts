import type { z } from 'zod';
import { nodes } from '../../shared/contract/nodes.ts';
import type { Operation, OperationAnswer, OperationCall } from '../../shared/contract/define.ts';

/** An answer of the hub that is no success, or none at all (`status` 0). */
export class HubError extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, code: string, message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'HubError';
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** The hub does not know this device any more: asking again is pointless. */
  get isRevocation(): boolean {
    return this.status === 401 || this.status === 404;
  }
}

type NodeOperations = typeof nodes;

export interface CallOptions {
  signal: AbortSignal;
  timeoutMs: number;
  /** Instead of the JSON body. */
  form?: FormData;
}

/** An answer, and how far the hub's clock is ahead of ours, in milliseconds. */
export interface HubAnswer<Body> {
  body: Body;
  clockAheadMs: number;
}

/** Speaks the device operations of the contract with a hub. */
export class HubClient {
  readonly #hub: string;
  readonly #secret: string | null;

  constructor(hub: string, secret: string | null) {
    this.#hub = hub.replace(/\/+$/, '');
    this.#secret = secret;
  }

  /** @throws HubError, or the signal's reason. */
  async call<Id extends keyof NodeOperations>(id: Id, input: Partial<OperationCall<NodeOperations[Id]>>, options: CallOptions): Promise<HubAnswer<OperationAnswer<NodeOperations[Id]>>> {
    const operation: Operation = nodes[id];
    const timeout = AbortSignal.timeout(options.timeoutMs);
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.#url(operation, input), {
        method: operation.method,
        headers: { ...(this.#secret === null ? {} : { authorization: `Bearer ${this.#secret}` }), ...(input.body === undefined || options.form !== undefined ? {} : { 'content-type': 'application/json' }) },
        body: options.form ?? (input.body === undefined ? null : JSON.stringify(input.body)),
        signal: AbortSignal.any([options.signal, timeout]),
        // A hub has no reason to send its devices elsewhere, and the secret must not go along.
        redirect: 'error',
      });
      text = await response.text();
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      const cause = (error as { cause?: { code?: string; message?: string } }).cause;
      const reason = timeout.aborted ? `no answer within ${options.timeoutMs / 1000} s` : (cause?.code ?? cause?.message ?? (error as Error).message);
      throw new HubError(0, 'unreachable', `The hub at ${this.#hub} can't be reached: ${reason}`, { cause: error });
    }
    const json = parseJson(text) as { code?: string; message?: string } | undefined;
    if (!response.ok) {
      const retryAfter = Number(response.headers.get('retry-after'));
      throw new HubError(response.status, json?.code ?? 'unknown', json?.message ?? `The hub answered ${response.status}.`, Number.isFinite(retryAfter) && retryAfter > 0 ? { retryAfterSeconds: retryAfter } : {});
    }
    const parsed = (operation.response as z.ZodType).safeParse(json);
    if (!parsed.success) throw new HubError(response.status, 'unexpected_answer', `The answer of ${this.#hub} is not a hub's; is the address right?`);
    const date = Date.parse(response.headers.get('date') ?? '');
    return { body: parsed.data as OperationAnswer<NodeOperations[Id]>, clockAheadMs: Number.isNaN(date) ? 0 : date - Date.now() };
  }

  #url(operation: Operation, { params, query }: { params?: unknown; query?: unknown }): string {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(String((params as Record<string, unknown>)[name])));
    const search = new URLSearchParams(Object.entries((query ?? {}) as Record<string, unknown>).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as [string, string]])));
    return `${this.#hub}${path}${search.size === 0 ? '' : `?${search.toString()}`}`;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
