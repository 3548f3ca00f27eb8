import { operations } from './operations.ts';
import type { Bytes, OperationId, Operations } from './operations.ts';

export type * from './operations.ts';

/** `AbortSignal`, if the runtime of the consumer has one. */
type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Instance } } ? Instance : unknown;

/** The part of `fetch` that the client uses, so that it runs in every runtime with `fetch`. */
export type Fetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string; signal?: Signal },
) => Promise<FetchResponse>;

export interface FetchResponse {
  ok: boolean;
  status: number;
  headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export interface ErrorDetail {
  /** Location in the request, such as `body.steps[2].input`. */
  path: string;
  message: string;
}

interface ErrorBody {
  code?: string;
  message?: string;
  requestId?: string;
  details?: ErrorDetail[];
}

/** An error response of the hub. */
export class ApiError extends Error {
  readonly status: number;
  /** Stable error code; `unknown` if a proxy answered instead of the hub. */
  readonly code: string;
  readonly requestId: string | null;
  readonly details: ErrorDetail[];
  /** Seconds to wait before the next attempt; null if the response has no `Retry-After`. */
  readonly retryAfterSeconds: number | null;

  constructor(status: number, body: ErrorBody, retryAfter: string | null = null) {
    super(body.message ?? `The hub answered ${status}.`);
    this.name = 'ApiError';
    this.status = status;
    this.code = body.code ?? 'unknown';
    this.requestId = body.requestId ?? null;
    this.details = body.details ?? [];
    this.retryAfterSeconds = retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : null;
  }
}

export interface ClientOptions<Answer extends FetchResponse> {
  /** Address of the hub. */
  baseUrl: string;
  fetch: (...request: Parameters<Fetch>) => Promise<Answer>;
  /** An API key, a workspace JWT or a device secret. */
  token?: string;
}

export interface CallOptions {
  headers?: Record<string, string>;
  signal?: Signal;
}

interface AnyInput {
  params?: object;
  query?: object;
  body?: unknown;
}

/** The input of an operation. */
export type Input<Id extends OperationId> = Exclude<Operations[Id]['input'], undefined>;
/** The arguments of a call. The input is optional if all of its fields are. */
type CallArguments<Id extends OperationId> = undefined extends Operations[Id]['input']
  ? [input?: Input<Id>, options?: CallOptions]
  : [input: Input<Id>, options?: CallOptions];

export type JsonOperationId = {
  [Id in OperationId]: Operations[Id]['answer'] extends Bytes ? never : Id;
}[OperationId];

/** Calls operations of the hub by id. Responses are typed but not validated. */
export interface Client<Answer extends FetchResponse = FetchResponse> {
  /** Returns the parsed JSON. @throws ApiError for an error response. */
  call<Id extends JsonOperationId>(id: Id, ...args: CallArguments<Id>): Promise<Operations[Id]['answer']>;
  /** Returns the response, for bytes and streams. @throws ApiError for an error response. */
  open<Id extends OperationId>(id: Id, ...args: CallArguments<Id>): Promise<Answer>;
}

/** Method and URL of an operation with its parameters. */
export function addressOf(
  baseUrl: string,
  id: OperationId,
  { params, query }: AnyInput,
): { method: string; url: string } {
  const [method, pattern] = operations[id];
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent(String((params as Record<string, unknown> | undefined)?.[name])),
  );
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`],
  );
  return {
    method,
    url: `${baseUrl.replace(/(?<!\/)\/+$/, '')}${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`,
  };
}

export function createClient<Answer extends FetchResponse>({
  baseUrl,
  fetch,
  token,
}: ClientOptions<Answer>): Client<Answer> {
  const open = async (id: OperationId, input: AnyInput = {}, options: CallOptions = {}): Promise<Answer> => {
    const { method, url } = addressOf(baseUrl, id, input);
    const { body } = input;
    const response = await fetch(url, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    if (response.ok) return response;
    throw new ApiError(
      response.status,
      (jsonOf(await response.text()) ?? {}) as ErrorBody,
      response.headers.get('retry-after'),
    );
  };
  return {
    open: open as Client<Answer>['open'],
    call: (async (id: OperationId, input?: AnyInput, options?: CallOptions) =>
      jsonOf(await (await open(id, input, options)).text())) as Client<Answer>['call'],
  };
}

function jsonOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : {};
  } catch {
    return {};
  }
}
