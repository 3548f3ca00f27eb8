import type { IncomingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import type { Operation, OperationInput, OperationResult, Resource } from '../../../../shared/contract/define.ts';
import type { MemoryReservation } from '../../process/memory-budget.ts';
import type { PrincipalOf } from '../auth/principal.ts';
import type { Conclude } from './idempotency.ts';

/** The Node.js request and response, for bodies that are not JSON. */
export interface RawExchange {
  request: Request;
  response: Response;
}

/** A request as a handler receives it: validated by the contract, with its caller. */
export type OperationRequest<Shape> = OperationInput<Shape> & {
  principal: PrincipalOf<Shape>;
  /** Verifies a caller that comes from a cache. Only routes with `confirmsCaller` need it. */
  confirm: () => Promise<unknown>;
  /**
   * Writes the result of an operation that waited for a third party (`waitsForThirdParty`). With an `Idempotency-Key`,
   * the result and the stored response are one transaction.
   */
  conclude: Conclude;
  /** Authenticates the caller again, for operations that take long. @throws AppError 401, 403 or 404. */
  recheck: () => Promise<unknown>;
  requestId: string;
  /** Aborts when the caller disconnects or loses access, and when the hub shuts down. */
  signal: AbortSignal;
  /** Aborts when the caller loses the right to a stream or a download; never for other operations. */
  accessRevoked: AbortSignal;
  /** The caller's address, behind trusted proxies. */
  address: string;
  /** URL under which the caller reached this hub, for example `https://hub.example.org`. */
  baseUrl: string;
  headers: IncomingHttpHeaders;
  /** The received bytes of a JSON body, for operations that verify a signature of the body; empty for others. */
  rawBody: Buffer;
  /** Memory for the bytes of a body that the handler itself reads, reserved until the response is sent. */
  incomingMemory: MemoryReservation;
  /** Memory for a body that the handler itself parses, reserved until the response is sent. */
  bodyMemory: MemoryReservation;
  raw: RawExchange;
};

/** A request whose large body is not parsed yet. */
export interface UnparsedRequest<Shape = Operation> {
  principal: PrincipalOf<Shape>;
  /** The path parameters, not validated. */
  params: Record<string, string>;
  headers: IncomingHttpHeaders;
  /** Null before the body is read. */
  rawBody: Buffer | null;
}

/** One handler for each operation of a resource. */
export type Handlers<Operations extends Resource> = {
  [Id in keyof Operations]: (request: OperationRequest<Operations[Id]>) => Promise<OperationResult<Operations[Id]>>;
};

export interface Route {
  operation: Operation;
  /**
   * Whether a device from the cache is served before its secret is verified. The handler then calls `confirm` before it
   * writes, or verifies the device in the statement that writes.
   */
  confirmsCaller?: boolean;
  /** Finds the workspace of a request whose credential does not name one; null when there is none. */
  workspaceOf?: ((request: OperationRequest<Operation>) => Promise<string | null>) | undefined;
  /**
   * Verifies a credential that only the operation can verify: before a large body is read, and again before the body is
   * parsed. Returns the workspace that the credential belongs to. @throws AppError 401 or 403.
   */
  verifyCredential?: ((request: UnparsedRequest) => Promise<string | undefined>) | undefined;
  handle(request: OperationRequest<Operation>): Promise<unknown>;
}

/**
 * Binds the operations of a resource to their handlers.
 * @param options.confirmsCaller operations that verify cached callers themselves.
 * @param options.workspaceOf see `Route`. The database connections of a request with an `Idempotency-Key` count for
 *   this workspace.
 * @param options.verifyCredential see `Route`.
 */
export function implement<Operations extends Resource>(
  resource: Operations,
  handlers: Handlers<Operations>,
  {
    confirmsCaller = [],
    workspaceOf = {},
    verifyCredential = {},
  }: {
    confirmsCaller?: readonly (keyof Operations)[];
    workspaceOf?: { [Id in keyof Operations]?: (request: OperationRequest<Operations[Id]>) => Promise<string | null> };
    verifyCredential?: {
      [Id in keyof Operations]?: (request: UnparsedRequest<Operations[Id]>) => Promise<string | undefined>;
    };
  } = {},
): Route[] {
  return Object.entries(resource).map(([id, operation]) => ({
    operation,
    confirmsCaller: confirmsCaller.includes(id),
    workspaceOf: workspaceOf[id] as unknown as Route['workspaceOf'],
    verifyCredential: verifyCredential[id] as unknown as Route['verifyCredential'],
    handle: handlers[id] as unknown as Route['handle'],
  }));
}

/** Binds aliases to the handlers of their operations. @throws Error when an operation is not among the routes. */
export const implementAliases = (aliases: Resource, routes: readonly Route[]): Route[] =>
  Object.values(aliases).map((operation) => ({ operation, handle: routeOf(routes, operation.aliasOf ?? '').handle }));

/** Returns the route of an operation. @throws Error when there is none. */
export function routeOf(routes: readonly Route[], id: string): Route {
  const route = routes.find(({ operation }) => operation.id === id);
  if (route === undefined) throw new Error(`the operation ${id} has no route`);
  return route;
}
