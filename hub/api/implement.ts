import type { IncomingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import type { Operation, OperationInput, OperationResult, Resource } from '../../shared/contract/define.ts';
import type { SessionIdentity, TokenIdentity } from '../modules/identity/index.ts';

/** Who calls an operation, as its declaration allows. */
export type Principal =
  | ({ kind: 'token' } & TokenIdentity)
  | ({ kind: 'session' } & SessionIdentity)
  | { kind: 'webhook-token'; token: string }
  | { kind: 'channel-call' }
  | { kind: 'device'; tenantId: string; nodeId: string }
  | { kind: 'public' };

type PrincipalKinds = {
  public: 'public';
  token: 'token';
  session: 'session';
  hook: 'token' | 'webhook-token';
  channel: 'token' | 'channel-call';
  pairing: 'public';
  device: 'device';
  platform: 'public';
};

export type PrincipalOf<Shape> = Shape extends { callers: readonly (infer Caller extends keyof PrincipalKinds)[] }
  ? Extract<Principal, { kind: PrincipalKinds[Caller] }>
  : Principal;

/** A request as a handler gets it: parsed by the contract, its caller known. */
export type OperationRequest<Shape> = OperationInput<Shape> & {
  principal: PrincipalOf<Shape>;
  requestId: string;
  /** Aborts when the caller goes away and when the hub stops. */
  signal: AbortSignal;
  /** Aborts when the caller loses the right to a stream or a download; never for other operations. */
  refused: AbortSignal;
  /** The caller's address, behind trusted proxies. */
  address: string;
  /** Where the caller reached this hub, such as `https://hub.example.org`. */
  baseUrl: string;
  headers: IncomingHttpHeaders;
  /** The bytes of a JSON body, as they came; empty without one. */
  rawBody: Buffer;
  /** For answers and bodies that are not JSON. */
  raw: { request: Request; response: Response };
};

/** A handler for each operation of a resource; a missing one is a type error. */
export type Handlers<Operations extends Resource> = {
  [Id in keyof Operations]: (request: OperationRequest<Operations[Id]>) => Promise<OperationResult<Operations[Id]>>;
};

export interface Route {
  operation: Operation;
  handle(request: OperationRequest<Operation>): Promise<unknown>;
}

/** Binds the operations of a resource to their handlers. */
export function implement<Operations extends Resource>(resource: Operations, handlers: Handlers<Operations>): Route[] {
  return Object.entries(resource).map(([id, operation]) => ({
    operation,
    handle: handlers[id] as unknown as Route['handle'],
  }));
}

/** Who runs or saves something, and in which environment; a person at the dashboard does so in the live one. */
export function runCallerOf(principal: Principal): { actor: string; environment: 'live' | 'test' } {
  return { actor: actorOf(principal), environment: principal.kind === 'token' ? principal.environment : 'live' };
}

/** How an audit entry names a caller. */
export function actorOf(principal: Principal): string {
  switch (principal.kind) {
    case 'token':
      return `token:${principal.tokenId}`;
    case 'session':
      return `user:${principal.user.id}`;
    case 'device':
      return `node:${principal.nodeId}`;
    default:
      return principal.kind;
  }
}
