import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';

/**
 * An operation is declared once, here in `shared/contract`. From its declaration come the route, validation both ways,
 * the OpenAPI document, the typed client and the conformance test.
 */

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Who may call: `public` nobody in particular, `token` an API token, `session` a signed-in person, `hook` an API token or a
 * webhook token, `channel` an API token, a channel's secret or its provider's signature, `pairing` a device that knows a pairing code, `device` a paired device,
 * `visitor` a person in a chat, `platform` the platform's admin key.
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

/** The permissions that a token of each product can carry. */
export const productPermissions: Record<Product, readonly Permission[]> = {
  chat: ['chat:write', 'chat:read', 'visitors:read', 'webhooks:manage'],
  ai: ['ai:invoke', 'ai:speak', 'ai:voice', 'knowledge:manage', 'usage:read'],
  automations: ['automations:manage', 'automations:read', 'automations:run', 'approvals:decide'],
  voice: ['voice:read', 'voice:export', 'connections:manage'],
};

/** What each permission lets a key do. */
export const permissionSummaries: Record<Permission, string> = {
  'chat:write': 'write to conversations of Live Chat',
  'chat:read': 'read conversations of Live Chat',
  'visitors:read': 'read visitors of Live Chat',
  'webhooks:manage': 'manage outbound webhooks',
  'ai:invoke': 'ask models',
  'ai:speak': 'ask the AI agent for spoken answers as text',
  'ai:voice': 'speak with the AI agent, by requests and by the voice WebSocket',
  'knowledge:manage': 'read and replace what the AI answers from',
  'usage:read': 'read the use of models and speech, and usage events for billing',
  'automations:manage':
    'everything in Automations, including automations:read, automations:run and decisions on step approvals, but not on system.run',
  'automations:read': 'read everything in Automations',
  'automations:run': 'start, cancel, retry and replay runs, run skills and sequences, call inbound hooks',
  'approvals:decide': 'list and decide approvals, including those of system.run that others started',
  'voice:read': 'read call records',
  'voice:export': 'export call records',
  'connections:manage': 'manage the connections of carriers',
};

/** Permissions that a permission contains. A `system.run` approval needs `approvals:decide` itself. */
const containedPermissions: Partial<Record<Permission, readonly Permission[]>> = {
  'automations:manage': ['automations:read', 'automations:run', 'approvals:decide'],
};

/** The permissions of a key for which none are named: all of its product, without those that another one contains. */
export const defaultPermissions = (product: Product): Permission[] =>
  productPermissions[product].filter(
    (permission) =>
      !productPermissions[product].some((other) => containedPermissions[other]?.includes(permission) === true),
  );

/** What a workspace can be entitled to. */
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

/** What each entitlement opens. */
export const entitlementSummaries: Record<Entitlement, string> = {
  conversations_suite: 'Live Chat: widget, inbox and its API',
  ai_agent: 'AI answers, suggestions and AI runs',
  automations: 'Workflows, companion nodes and everything else of Automations',
  business_calling: 'Call records and SIP',
  business_email: 'Skills that send email',
  marketing: 'Contact lists and campaigns',
  business_phone: 'Voice conversations with the AI agent; needs `ai_agent` as well',
};

/** The entitlement that each product's API needs. */
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
  /** Id of the operation that answers this one too. */
  aliasOf?: string;
  /** Who may call it; each brings what it needs: a token its permission, a session its role. */
  callers: readonly [Caller, ...Caller[]];
  permission?: Permission;
  /** Another permission that is enough for a token. */
  alsoPermission?: Permission;
  /** The least role of a session caller; `agent` means any member. */
  role?: Role;
  /** What the workspace must be entitled to, for every caller; all of several. Where it is left out, a session needs what the permission's product needs. */
  entitlement?: Entitlement | readonly Entitlement[];
  /** Keys of environment `test` may not call it: it changes what live runs use. */
  liveOnly?: true;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Takes `If-Match` with the version of what is changed, and answers with this code when that is not the newest. */
  ifMatch?: 'version_conflict' | 'precondition_failed';
  /** Whether a body may be left out; then the schema gets `{}`. */
  bodyOptional?: boolean;
  /** Greatest body, in bytes; 1 MiB unless said. */
  bodyLimitBytes?: number;
  /** `multipart/form-data` is read by the handler itself, beside JSON. */
  multipart?: boolean;
  /** The body is bytes, which the handler reads itself. */
  upload?: boolean;
  /** Content types of a body of any shape, which the handler reads itself. */
  bodyTypes?: readonly string[];
  response: z.ZodType;
  /**
   * The request must ask to become a WebSocket with this subprotocol; with `otherProtocols` also with another one or none. Answered with 101.
   * Frames have at most so many bytes.
   * With `tokenInQuery` a session may be named by the query's `token`.
   */
  socket?: { protocol: string; otherProtocols?: boolean; maxFrameBytes: number; tokenInQuery?: boolean };
  /**
   * Whether a GET may be answered compressed. Only for answers without secrets and without text that people outside the workspace can choose: together with
   * such text, the compressed length could show the rest (BREACH).
   */
  compressible?: true;
  /** Content type of an answer that is bytes rather than JSON, or those that it may have; the handler writes it. */
  binaryResponse?: string | readonly string[];
  /** The schema of a `binaryResponse` of type `application/json`. */
  binaryJson?: z.ZodType;
  /** Whether `Range: bytes=` reads a part of the bytes, answered with 206. */
  ranges?: true;
  /** What the data of each event of a stream holds. */
  streamedEvent?: z.ZodType;
  /** Whether the events of a stream have ids, after which `Last-Event-ID` goes on. */
  resumable?: boolean;
  /** Error codes that this operation answers beyond those that its caller and its inputs imply. */
  errors?: readonly ErrorCode[];
  /** Requests a minute from one address, for routes that a stranger can call. */
  ipLimit?: 'sign-in' | 'claim' | 'hook' | 'chat' | 'picture';
  /**
   * Its handler waits for somebody else's answer. With an `Idempotency-Key` its work is no transaction as a whole then: the key is held meanwhile, and the handler writes
   * what came of it by `conclude`, together with the key.
   */
  waitsForThirdParty?: boolean;
  /** Longest time that the handler may hold the request open, in seconds. */
  maxOpenSeconds?: number;
}

export type Operation<Shape extends OperationShape = OperationShape> = Shape & { id: string };

export type Resource = Record<string, Operation>;

/** What the workspace of whoever calls an operation must be entitled to: all of it. */
export const entitlementsOf = ({ entitlement, permission }: Operation): readonly Entitlement[] =>
  [entitlement ?? (permission === undefined ? [] : productEntitlement[productOf(permission)])].flat();

/** The permissions of which a token needs one to call an operation: its own, and those that contain it. */
export function acceptedPermissions({ permission, alsoPermission }: Operation): readonly Permission[] {
  const own = [permission, alsoPermission].filter((each) => each !== undefined);
  return permissions.filter((held) =>
    own.some((each) => each === held || containedPermissions[held]?.includes(each) === true),
  );
}

/** Whether an operation takes a kind of caller. */
export const allowsCaller = ({ callers }: Operation, ...kinds: readonly Caller[]): boolean =>
  callers.some((caller) => kinds.includes(caller));

/** Declares the operations of one resource; each key is the operation's id, unique over the whole API. */
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

/** What a handler receives, parsed. */
export interface OperationInput<Shape> {
  params: OutputOf<Member<Shape, 'params'>, Nothing>;
  query: OutputOf<Member<Shape, 'query'>, Nothing>;
  body: OutputOf<Member<Shape, 'body'>, undefined>;
}

/** What a handler answers, before it is serialised. */
export type OperationResult<Shape> = Shape extends { response: infer Schema } ? InputOf<Schema, never> : never;

/** What a client receives, parsed. */
export type OperationAnswer<Shape> = Shape extends { response: infer Schema } ? OutputOf<Schema, never> : never;

/** What a client passes. */
export interface OperationCall<Shape> {
  params: InputOf<Member<Shape, 'params'>, Nothing | undefined>;
  query: InputOf<Member<Shape, 'query'>, Nothing | undefined>;
  body: InputOf<Member<Shape, 'body'>, undefined>;
}
