import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';

/**
 * Each operation is declared once, in `shared/contract`. The declaration defines the route, the validation of requests
 * and responses, the OpenAPI document, the typed client and the conformance test.
 */

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Kinds of credentials that an operation accepts:
 * - `public`: none
 * - `token`: an API key
 * - `session`: a signed-in user
 * - `hook`: an API key or a webhook token
 * - `channel`: an API key, the secret of a channel or the signature of its provider
 * - `pairing`: a device with a pairing code
 * - `device`: a paired device
 * - `visitor`: a visitor of a chat
 * - `platform`: the platform admin key
 */
export type Caller =
  | 'public'
  | 'token'
  | 'session'
  | 'hook'
  | 'channel'
  | 'pairing'
  | 'device'
  | 'visitor'
  | 'platform';

export const products = ['chat', 'ai', 'automations', 'voice'] as const;
export type Product = (typeof products)[number];

export const permissions = [
  'chat:write',
  'chat:read',
  'visitors:read',
  'webhooks:manage',
  'ai:invoke',
  'ai:speak',
  'ai:voice',
  'knowledge:manage',
  'usage:read',
  'automations:manage',
  'automations:read',
  'automations:run',
  'approvals:decide',
  'voice:read',
  'voice:export',
  'connections:manage',
] as const;
export type Permission = (typeof permissions)[number];

/** Permissions that an API key of each product can have. */
export const productPermissions: Record<Product, readonly Permission[]> = {
  chat: ['chat:write', 'chat:read', 'visitors:read', 'webhooks:manage'],
  ai: ['ai:invoke', 'ai:speak', 'ai:voice', 'knowledge:manage', 'usage:read'],
  automations: ['automations:manage', 'automations:read', 'automations:run', 'approvals:decide'],
  voice: ['voice:read', 'voice:export', 'connections:manage'],
};

/** What an API key with the permission may do. */
export const permissionSummaries: Record<Permission, string> = {
  'chat:write': 'write to Live Chat conversations',
  'chat:read': 'read Live Chat conversations',
  'visitors:read': 'read Live Chat visitors',
  'webhooks:manage': 'manage outbound webhooks',
  'ai:invoke': 'call models',
  'ai:speak': 'request answers of the AI agent for speech output, as text',
  'ai:voice': 'use voice conversations with the AI agent, over HTTP and WebSocket',
  'knowledge:manage': 'read and replace the AI knowledge',
  'usage:read': 'read model and speech usage, and usage events for billing',
  'automations:manage':
    'manage everything in Automations; includes automations:read, automations:run and step approvals, but not system.run approvals',
  'automations:read': 'read everything in Automations',
  'automations:run': 'start, cancel, retry and replay runs, run skills and sequences, call inbound hooks',
  'approvals:decide': 'list and decide approvals, including system.run approvals of runs that others started',
  'voice:read': 'read call records',
  'voice:export': 'export call records',
  'connections:manage': 'manage carrier connections',
};

/**
 * Permissions that another permission includes. Deciding a `system.run` approval requires `approvals:decide` itself.
 */
const containedPermissions: Partial<Record<Permission, readonly Permission[]>> = {
  'automations:manage': ['automations:read', 'automations:run', 'approvals:decide'],
};

/** Permissions of a key that is created without any: all of its product, without those that another one includes. */
export const defaultPermissions = (product: Product): Permission[] =>
  productPermissions[product].filter(
    (permission) =>
      !productPermissions[product].some((other) => containedPermissions[other]?.includes(permission) === true),
  );

/** Entitlements that a workspace can have. */
export const entitlementNames = [
  'conversations_suite',
  'ai_agent',
  'automations',
  'business_calling',
  'business_email',
  'marketing',
  'business_phone',
] as const;
export type Entitlement = (typeof entitlementNames)[number];

/** What each entitlement enables. */
export const entitlementSummaries: Record<Entitlement, string> = {
  conversations_suite: 'Live Chat: widget, inbox and API',
  ai_agent: 'AI answers, suggestions and AI runs',
  automations: 'Workflows, companion nodes and everything else in Automations',
  business_calling: 'Call records and SIP',
  business_email: 'Skills that send email',
  marketing: 'Contact lists and campaigns',
  business_phone: 'Voice conversations with the AI agent; also requires `ai_agent`',
};

/** The entitlement that the API of each product requires. */
export const productEntitlement: Record<Product, Entitlement> = {
  chat: 'conversations_suite',
  ai: 'ai_agent',
  automations: 'automations',
  voice: 'business_calling',
};

/** The product that a permission belongs to. */
export const productOf = (permission: Permission): Product =>
  products.find((product) => productPermissions[product].includes(permission)) as Product;

export const roles = ['admin', 'agent'] as const;
export type Role = (typeof roles)[number];

interface OperationShape {
  method: HttpMethod;
  /** Path with `{name}` parameters. */
  path: string;
  tag: string;
  summary: string;
  description?: string;
  /** Id of the operation whose handler also serves this one. */
  aliasOf?: string;
  /** Accepted callers. A token needs `permission`, a session needs `role`. */
  callers: readonly [Caller, ...Caller[]];
  permission?: Permission;
  /** A second permission that is sufficient on its own for a token. */
  alsoPermission?: Permission;
  /** Minimum role of a session caller; `agent` means any member. */
  role?: Role;
  /**
   * Entitlements that the workspace must have, for every caller; all of them are required.
   * When omitted, a session needs the entitlement of the permission's product.
   */
  entitlement?: Entitlement | readonly Entitlement[];
  /** Refuses keys of environment `test`, because the operation changes what live runs use. */
  liveOnly?: true;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Accepts `If-Match` with the version of the resource. The code is that of the error for an outdated version. */
  ifMatch?: 'version_conflict' | 'precondition_failed';
  /** Whether the body may be omitted; the schema then parses `{}`. */
  bodyOptional?: boolean;
  /** Maximum size of the body in bytes; 1 MiB when omitted. */
  bodyLimitBytes?: number;
  /** Besides JSON, accepts `multipart/form-data`, which the handler reads from the request. */
  multipart?: boolean;
  /** The body is binary; the handler reads it from the request. */
  upload?: boolean;
  /** Content types of a body without a schema; the handler reads it from the request. */
  bodyTypes?: readonly string[];
  response: z.ZodType;
  /**
   * The request upgrades to a WebSocket with this subprotocol; the response is 101.
   * `otherProtocols` also allows another subprotocol or none.
   * `maxFrameBytes` limits the size of a frame.
   * `tokenInQuery` also accepts the session token as the query parameter `token`.
   */
  socket?: { protocol: string; otherProtocols?: boolean; maxFrameBytes: number; tokenInQuery?: boolean };
  /**
   * Whether the response to a GET may be compressed. Only for responses without secrets and without text that people
   * outside the workspace can choose: with both, the compressed length could reveal the secret (BREACH).
   */
  compressible?: true;
  /** Content types of a response that is not JSON; the handler writes the response. */
  binaryResponse?: string | readonly string[];
  /** The schema of a `binaryResponse` of type `application/json`. */
  binaryJson?: z.ZodType;
  /** Whether the operation supports `Range: bytes=` requests, answered with 206. */
  ranges?: true;
  /** Schema of the data of each server-sent event. */
  streamedEvent?: z.ZodType;
  /** Whether the events have ids, so that `Last-Event-ID` resumes the stream. */
  resumable?: boolean;
  /** Error codes of this operation besides those that its callers and inputs imply. */
  errors?: readonly ErrorCode[];
  /** Rate limit per IP address, for routes without authentication. */
  ipLimit?: 'sign-in' | 'claim' | 'hook' | 'chat' | 'picture';
  /**
   * The handler waits for a third party, such as a model. With an `Idempotency-Key`, its work is then not one
   * transaction: the key is leased while the handler waits, and `conclude` stores the result together with the key.
   */
  waitsForThirdParty?: boolean;
  /** Maximum time for which the handler keeps the request open, in seconds. */
  maxOpenSeconds?: number;
}

export type Operation<Shape extends OperationShape = OperationShape> = Shape & { id: string };

export type Resource = Record<string, Operation>;

/** All entitlements that the workspace of the caller must have. */
export const entitlementsOf = ({ entitlement, permission }: Operation): readonly Entitlement[] =>
  [entitlement ?? (permission === undefined ? [] : productEntitlement[productOf(permission)])].flat();

/** Permissions of which a token needs one: that of the operation, or one that includes it. */
export function acceptedPermissions({ permission, alsoPermission }: Operation): readonly Permission[] {
  const own = [permission, alsoPermission].filter((each) => each !== undefined);
  return permissions.filter((permissionOfKey) =>
    own.some((each) => each === permissionOfKey || containedPermissions[permissionOfKey]?.includes(each) === true),
  );
}

/** Whether an operation accepts one of the kinds of callers. */
export const allowsCaller = ({ callers }: Operation, ...kinds: readonly Caller[]): boolean =>
  callers.some((caller) => kinds.includes(caller));

/** Declares the operations of one resource. Each key is an operation id, unique in the API. */
export function defineResource<const Shapes extends Record<string, OperationShape>>(
  shapes: Shapes,
): { [Id in keyof Shapes]: Shapes[Id] & { id: Id & string } } {
  return Object.fromEntries(Object.entries(shapes).map(([id, shape]) => [id, { ...shape, id }])) as {
    [Id in keyof Shapes]: Shapes[Id] & { id: Id & string };
  };
}

type OutputOf<Schema, Otherwise> = Schema extends z.ZodType ? z.output<Schema> : Otherwise;
type InputOf<Schema, Otherwise> = Schema extends z.ZodType ? z.input<Schema> : Otherwise;
type Member<Shape, Key extends string> = Shape extends Record<Key, infer Schema> ? Schema : undefined;
type Nothing = Record<never, never>;

/** Parsed input of a handler. */
export interface OperationInput<Shape> {
  params: OutputOf<Member<Shape, 'params'>, Nothing>;
  query: OutputOf<Member<Shape, 'query'>, Nothing>;
  body: OutputOf<Member<Shape, 'body'>, undefined>;
}

/** Result of a handler, before serialization. */
export type OperationResult<Shape> = Shape extends { response: infer Schema } ? InputOf<Schema, never> : never;

/** Parsed response that a client receives. */
export type OperationAnswer<Shape> = Shape extends { response: infer Schema } ? OutputOf<Schema, never> : never;

/** Input that a client passes. */
export interface OperationCall<Shape> {
  params: InputOf<Member<Shape, 'params'>, Nothing | undefined>;
  query: InputOf<Member<Shape, 'query'>, Nothing | undefined>;
  body: InputOf<Member<Shape, 'body'>, undefined>;
}
