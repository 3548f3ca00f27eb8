import type { IncomingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import type { Operation, OperationInput, OperationResult, Resource } from '../../../../shared/contract/define.ts';
import type { MemoryReservation } from '../../process/memory-budget.ts';
import type { PrincipalOf } from '../auth/principal.ts';
import type { Conclude } from './idempotency.ts';

/** For answers and bodies that are not JSON. */
export interface RawExchange {
  request: Request;
  response: Response;
}

/** A request as a handler gets it: parsed by the contract, its caller known. */
export type OperationRequest<Shape> = OperationInput<Shape> & {
  principal: PrincipalOf<Shape>;
  /** Makes sure that the caller still is who they were known as. Of no use but where the route confirms for itself. */
  confirm: () => Promise<unknown>;
  /** Writes what an operation did that waited outside (`waitsForThirdParty`): in one transaction with the answer under its `Idempotency-Key`, if it has one. */
  conclude: Conclude;
  /** Finds out anew whether the caller still may; for what takes its time before it is done. @throws AppError 401, 403 or 404. */
  recheck: () => Promise<unknown>;
  requestId: string;
  /** Aborts when the caller goes away and when the hub stops. */
  signal: AbortSignal;
  /** Aborts when the caller loses the right to a stream or a download; never for other operations. */
  accessRevoked: AbortSignal;
  /** The caller's address, behind trusted proxies. */
  address: string;
  /** Where the caller reached this hub, such as `https://hub.example.org`. */
  baseUrl: string;
  headers: IncomingHttpHeaders;
  /** The bytes of a JSON body as they came, for an operation that proves its calls by them; empty for others. */
  rawBody: Buffer;
  /** Memory for the bytes of a body that the handler itself reads, until the request is answered. */
  incomingMemory: MemoryReservation;
  /** Memory for a body that the handler itself parses, until the request is answered. */
  bodyMemory: MemoryReservation;
  raw: RawExchange;
};

/** What is known of a request with a large body before the body is parsed. */
export interface UnparsedRequest<Shape = Operation> {
  principal: PrincipalOf<Shape>;
  /** As in the path, not validated. */
  params: Record<string, string>;
  headers: IncomingHttpHeaders;
  /** Null before the body is read. */
  rawBody: Buffer | null;
}

/** A handler for each operation of a resource; a missing one is a type error. */
export type Handlers<Operations extends Resource> = {
  [Id in keyof Operations]: (request: OperationRequest<Operations[Id]>) => Promise<OperationResult<Operations[Id]>>;
};

export interface Route {
  operation: Operation;
  /** Whether a device that is known from before is served at once: its handler writes nothing before it has confirmed it, or looks at that as it writes. */
  confirmsCaller?: boolean;
  /** Finds the workspace of a caller whose credential names none; null when there is none. */
  workspaceOf?: ((request: OperationRequest<Operation>) => Promise<string | null>) | undefined;
  /** Checks a credential that only the operation can check: before a large body is read, and again before it is parsed. @throws AppError 401 or 403. */
  verifyCredential?: ((request: UnparsedRequest) => Promise<string | undefined>) | undefined;
  handle(request: OperationRequest<Operation>): Promise<unknown>;
}

/**
 * Binds the operations of a resource to their handlers.
 * @param options.confirmsCaller operations that confirm their callers themselves.
 * @param options.workspaceOf how an operation finds the workspace of a caller whose credential names none. The connections of
 *   a request with an `Idempotency-Key` count for this workspace.
 * @param options.verifyCredential how an operation checks a credential that only it can check, before a large body is read and before it is parsed; answers the
 * workspace that the credential belongs to, if the caller has none.
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

/** Has aliases answered by the operations that they stand for. @throws Error when one of those is not among the routes. */
export const implementAliases = (aliases: Resource, routes: readonly Route[]): Route[] =>
  Object.values(aliases).map((operation) => ({ operation, handle: routeOf(routes, operation.aliasOf ?? '').handle }));

/** The route of an operation. @throws Error when there is none. */
export function routeOf(routes: readonly Route[], id: string): Route {
  const route = routes.find(({ operation }) => operation.id === id);
  if (route === undefined) throw new Error(`the operation ${id} has no route`);
  return route;
}
