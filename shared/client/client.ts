import { operations } from './operations.ts';
import type { Bytes, OperationId, Operations } from './operations.ts';

export type * from './operations.ts';

/** `AbortSignal`, where the consumer's runtime has one. */
type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Instance } } ? Instance : unknown;

/** What the client needs of `fetch`, so that it runs wherever there is one. */
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
  /** Where in the request, such as `body.steps[2].input`. */
  path: string;
  message: string;
}

interface ErrorBody {
  code?: string;
  message?: string;
  requestId?: string;
  details?: ErrorDetail[];
}

/** An answer that is no success. */
export class ApiError extends Error {
  readonly status: number;
  /** Stable; `unknown` when something before the hub answered. */
  readonly code: string;
  readonly requestId: string | null;
  readonly details: ErrorDetail[];
  /** When to try again, if the hub said so. */
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

/** The input of an operation, which may be left out where all of it may. */
export type Input<Id extends OperationId> = Exclude<Operations[Id]['input'], undefined>;
type Given<Id extends OperationId> = undefined extends Operations[Id]['input']
  ? [input?: Input<Id>, options?: CallOptions]
  : [input: Input<Id>, options?: CallOptions];

export type JsonOperationId = {
  [Id in OperationId]: Operations[Id]['answer'] extends Bytes ? never : Id;
}[OperationId];

/** Calls every operation of the hub by its id. Answers are typed, not checked: a hub is trusted to answer what it documents. */
export interface Client<Answer extends FetchResponse = FetchResponse> {
  /** @throws ApiError when the hub answers an error. */
  call<Id extends JsonOperationId>(id: Id, ...given: Given<Id>): Promise<Operations[Id]['answer']>;
  /** The answer itself, for bytes and streams. @throws ApiError when the hub answers an error. */
  open<Id extends OperationId>(id: Id, ...given: Given<Id>): Promise<Answer>;
}

/** Where an operation is called, by method and path. */
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
