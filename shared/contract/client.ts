import type { z } from 'zod';
import type { ErrorDetail } from '../errors.ts';
import { api } from './api.ts';
import type { Api, OperationId } from './api.ts';
import type { Operation, OperationAnswer, OperationCall } from './define.ts';

/** What the client needs of `fetch`, so that it runs wherever there is one. */
export type Fetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string; signal?: unknown },
) => Promise<{
  ok: boolean;
  status: number;
  headers: { get(name: string): string | null };
  text(): Promise<string>;
}>;

/** An answer that is no success. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly details: ErrorDetail[];

  constructor(status: number, body: { code?: string; message?: string; requestId?: string; details?: ErrorDetail[] }) {
    super(body.message ?? `The hub answered ${status}.`);
    this.name = 'ApiError';
    this.status = status;
    this.code = body.code ?? 'unknown';
    this.requestId = body.requestId ?? null;
    this.details = body.details ?? [];
  }
}

export interface ClientOptions {
  /** Address of the hub. */
  baseUrl: string;
  fetch: Fetch;
  /** An API key, a workspace JWT or a device secret. */
  token?: string;
}

export interface CallOptions {
  headers?: Record<string, string>;
  signal?: unknown;
}

type Call<Id extends OperationId> = Partial<OperationCall<Api[Id]>>;

/** Calls every operation of the hub by its id, typed by the contract. */
export interface Client {
  /** @throws ApiError when the hub answers an error; ZodError when its answer is not what the contract says. */
  call<Id extends OperationId>(id: Id, input?: Call<Id>, options?: CallOptions): Promise<OperationAnswer<Api[Id]>>;
}

export function createClient({ baseUrl, fetch, token }: ClientOptions): Client {
  return {
    async call(id, input = {}, options = {}) {
      const operation: Operation = api[id];
      const { params, query, body } = input as {
        params?: Record<string, unknown>;
        query?: Record<string, unknown>;
        body?: unknown;
      };
      const path = operation.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
        encodeURIComponent(String(params?.[name])),
      );
      const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
        value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`],
      );
      const response = await fetch(
        `${baseUrl.replace(/\/+$/, '')}${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`,
        {
          method: operation.method,
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...options.headers,
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          ...(options.signal === undefined ? {} : { signal: options.signal }),
        },
      );
      const text = await response.text();
      let json: unknown;
      try {
        json = JSON.parse(text);
      } catch {
        json = {};
      }
      if (!response.ok) throw new ApiError(response.status, json as ConstructorParameters<typeof ApiError>[1]);
      return (operation.response as z.ZodType).parse(json) as OperationAnswer<Api[typeof id]>;
    },
  };
}
