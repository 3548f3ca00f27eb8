import { infiniteQueryOptions, queryOptions, useMutation } from '@tanstack/react-query';
import { useRef } from 'react';
import { ApiError, createClient } from '../../../../shared/client/client.ts';
import type { CallOptions, Client, Input, JsonOperationId } from '../../../../shared/client/client.ts';
import { operations } from '../../../../shared/client/operations.ts';
import type { OperationId, Operations } from '../../../../shared/client/operations.ts';
import { background } from '../../../../shared/web/background.ts';
import { noteHubTime } from './now.ts';

/** The response of an operation. */
export type Answer<Id extends OperationId> = Operations[Id]['answer'];
export type { Input, JsonOperationId, OperationId };

/** Id of the user that the page shows. */
let userId: string | null = null;
export const actAs = (id: string) => {
  userId = id;
};

/**
 * `fetch` as the user that the page shows. The hub refuses the request if the browser is signed in as another user,
 * because all pages of a browser share its cookie.
 */
export const fetchAsUser = (url: string, init: Omit<RequestInit, 'headers'> & { headers: Record<string, string> }) =>
  fetch(url, {
    ...init,
    headers: { ...init.headers, ...(userId === null ? {} : { 'outrigger-session-user': userId }) },
  });

/** 128 random bits. `crypto.randomUUID` exists only on https and localhost. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Calls the API of this hub with the session cookie of the browser. Sends no `Idempotency-Key`. */
const reader = createClient<Response>({
  baseUrl: '',
  fetch: async (url, init) => {
    const sentAt = Date.now();
    const response = await fetchAsUser(url, init);
    noteHubTime(response.headers.get('date'), sentAt);
    return response;
  },
});

/**
 * POST operations without an `Idempotency-Key`. The hub stores a row for each key, and these operations are frequent and
 * have the same effect when they are repeated: a read mark never moves back, a status expires after 20 seconds, and a
 * subscription is renewed with the same endpoint.
 */
const repeatable: ReadonlySet<OperationId> = new Set<OperationId>([
  'readInboxConversation',
  'renewPushSubscription',
  'showInboxActivity',
]);

/** Options with an `Idempotency-Key` for a POST. A caller that repeats a request passes the key of its gesture. */
function withKey(id: OperationId, options: CallOptions = {}): CallOptions {
  if (operations[id][0] !== 'POST' || repeatable.has(id)) return options;
  return { ...options, headers: { 'idempotency-key': newKey(), ...options.headers } };
}

/** A call without the types of the operation, for code that is generic in it. */
type AnyCall = (id: JsonOperationId, input?: unknown, options?: CallOptions) => Promise<unknown>;
const readAny = reader.call as AnyCall;
const callAny: AnyCall = (id, input, options) => readAny(id, input, withKey(id, options));

/** Calls the API of this hub as the user that the page shows. Each `call` of a POST has an `Idempotency-Key`. */
export const client: Client<Response> = { call: callAny as Client<Response>['call'], open: reader.open };

/** The key under which a response is cached. */
export const keyOf = (id: OperationId, input: unknown = {}) => [id, input] as const;

/**
 * Reads one response. The cache key is the operation with its input. A read that is a POST has no `Idempotency-Key`: it
 * changes nothing, and the hub would store each response.
 */
export function query<Id extends JsonOperationId>(id: Id, input?: Input<Id>) {
  return queryOptions({
    queryKey: keyOf(id, input),
    queryFn: ({ signal }) => readAny(id, input, { signal }) as Promise<Answer<Id>>,
  });
}

interface Page {
  meta: { nextCursor: string | null };
}
type PageOperationId = { [Id in JsonOperationId]: Answer<Id> extends Page ? Id : never }[JsonOperationId];

/** Reads a list page by page. At most `maxPages` pages stay in memory. */
export function pagedQuery<Id extends PageOperationId>(id: Id, input?: Input<Id>, maxPages = 10) {
  return infiniteQueryOptions({
    queryKey: [...keyOf(id, input), 'pages'] as const,
    queryFn: ({ signal, pageParam }) => {
      const { query: filters, ...rest } = (input ?? {}) as { query?: object };
      const cursor = pageParam === null ? {} : { cursor: pageParam };
      return readAny(id, { ...rest, query: { ...filters, ...cursor } }, { signal }) as Promise<Answer<Id>>;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page: Page) => page.meta.nextCursor,
    getPreviousPageParam: () => undefined,
    maxPages,
  });
}

/**
 * Whether the same request may succeed when it is repeated: the hub was not reached, is overloaded, or is still working on
 * an earlier attempt.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof ApiError)) return error instanceof TypeError;
  return (
    error.code === 'idempotency_in_progress' || error.status === 429 || (error.status >= 500 && error.status !== 501)
  );
}

/** Milliseconds before an attempt is repeated. Follows `Retry-After`. */
export function retryDelay(attempt: number, error: unknown): number {
  if (error instanceof ApiError && error.retryAfterSeconds !== null) return error.retryAfterSeconds * 1000;
  return Math.min(500 * 2 ** attempt, 8_000);
}

export interface Gesture<Id extends OperationId> {
  input: Input<Id> | undefined;
  key: string;
  /** Whether the result of an earlier attempt is unknown. */
  isRepeated: boolean;
  /** Version that the user saw. The hub refuses the request if the object has changed since. */
  ifMatch: number | undefined;
}

/**
 * An operation that a person starts. Attempts after a lost connection carry the same `Idempotency-Key`, so that one
 * click has one effect.
 */
export function useAction<Id extends JsonOperationId>(
  id: Id,
  { onDone }: { onDone?: (answer: Answer<Id>, input: Input<Id> | undefined) => unknown } = {},
) {
  const [method] = operations[id];
  const mutation = useMutation<Answer<Id>, Error, Gesture<Id>>({
    mutationKey: [id],
    mutationFn: async (gesture) => {
      const { input, key, ifMatch } = gesture;
      try {
        return (await callAny(id, input, {
          headers: {
            ...(method === 'POST' ? { 'idempotency-key': key } : {}),
            ...(ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }),
          },
        })) as Answer<Id>;
      } catch (error) {
        // An earlier attempt has deleted it.
        if (method === 'DELETE' && gesture.isRepeated && error instanceof ApiError && error.status === 404)
          return {} as Answer<Id>;
        gesture.isRepeated ||= isTransient(error);
        throw error;
      }
    },
    retry: (failures, error) => failures < 3 && isTransient(error),
    retryDelay,
    onSuccess: async (answer, { input }) => {
      await onDone?.(answer, input);
    },
  });
  const running = useRef(new Map<string, Promise<Answer<Id>>>());
  /** Keys of actions whose result is unknown, because the connection was lost. Another click repeats such an action. */
  const unsettled = useRef(new Map<string, string>());
  const run = (input?: Input<Id>, ifMatch?: number): Promise<Answer<Id>> => {
    // The second click of a double click can arrive before the button is disabled.
    const gesture = JSON.stringify([input ?? null, ifMatch]);
    const unsettledKey = unsettled.current.get(gesture);
    const key = unsettledKey ?? newKey();
    const started =
      running.current.get(gesture) ??
      mutation
        .mutateAsync({ input, key, isRepeated: unsettledKey !== undefined, ifMatch })
        .then(
          (answer) => {
            unsettled.current.delete(gesture);
            return answer;
          },
          (error: unknown) => {
            if (isTransient(error)) unsettled.current.set(gesture, key);
            else unsettled.current.delete(gesture);
            throw error;
          },
        )
        .finally(() => running.current.delete(gesture));
    running.current.set(gesture, started);
    return started;
  };
  return {
    ...mutation,
    /** Starts the operation, unless the same is running. A failure is in `error`. */
    start: (input?: Input<Id>, ifMatch?: number) => background(run(input, ifMatch).catch(() => undefined)),
    /** Starts the operation, or joins the same that is running. @throws the failure. */
    run,
  };
}
