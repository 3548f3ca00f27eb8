import type { Entitlement, Permission, Product, Role } from '../../../../shared/contract/define.ts';
import type { Events } from '../../events/events.ts';

/** An API token that was presented and counts. */
export interface TokenIdentity {
  tokenId: string;
  tenantId: string;
  product: Product;
  environment: 'live' | 'test';
  permissions: Permission[];
  ipAllowlist: string[];
  entitlements: Record<Entitlement, boolean>;
  expiresAt: Date | null;
}

/** A person who is signed in. */
export interface SessionIdentity {
  sessionId: string;
  tenantId: string;
  workspaceName: string;
  user: { id: string; email: string; role: Role; displayName: string | null };
  entitlements: Record<Entitlement, boolean>;
  expiresAt: Date;
}

/** A device that proved its secret. */
export interface DeviceIdentity {
  tenantId: string;
  nodeId: string;
  /** As base64: for whoever confirms later that it still is the device's. */
  secretHash: string;
}

/** A visitor in a chat. */
export interface VisitorIdentity {
  sessionId: string;
  tenantId: string;
  visitorId: string;
  conversationId: string;
  environment: 'live' | 'test';
  expiresAt: Date;
}

/** Who calls an operation, as its declaration allows. */
export type Principal =
  | ({ kind: 'token' } & TokenIdentity)
  | ({ kind: 'session' } & SessionIdentity)
  | { kind: 'webhook-token'; token: string }
  | { kind: 'channel-call' }
  | ({ kind: 'device' } & DeviceIdentity)
  | ({ kind: 'visitor' } & VisitorIdentity)
  | { kind: 'public' };

type PrincipalKinds = {
  public: 'public';
  token: 'token';
  session: 'session';
  hook: 'token' | 'webhook-token';
  channel: 'token' | 'channel-call';
  pairing: 'public';
  device: 'device';
  visitor: 'visitor';
  platform: 'public';
};

export type PrincipalOf<Shape> = Shape extends { callers: readonly (infer Caller extends keyof PrincipalKinds)[] }
  ? Extract<Principal, { kind: PrincipalKinds[Caller] }>
  : Principal;

/** Topic on which it is told that a key, a session or an entitlement of a workspace ended. */
export const accessTopic = (tenantId: string) => `access:${tenantId}`;

/** Tells that one of them ended. */
export const publishAccessChange = (events: Events, tenantId: string): void =>
  void events.publish(accessTopic(tenantId), {});

/** Who runs or saves something, and in which environment; a person at the dashboard does so in the live one. */
export function runCallerOf(principal: Principal): { actor: string; environment: 'live' | 'test' } {
  return { actor: actorOf(principal), environment: principal.kind === 'token' ? principal.environment : 'live' };
}

/**
 * Whose memory the bytes use that a caller sends: a workspace's, or that of all callers of one kind together. Anyone can become a visitor or call
 * without a credential, and must not take the memory of workspaces.
 */
export const senderOf = (principal: Principal): string =>
  principal.kind === 'visitor' || !('tenantId' in principal) ? principal.kind : principal.tenantId;

/** How an audit entry names a caller. */
export function actorOf(principal: Principal): string {
  switch (principal.kind) {
    case 'token':
      return `token:${principal.tokenId}`;
    case 'session':
      return `user:${principal.user.id}`;
    case 'device':
      return `node:${principal.nodeId}`;
    case 'visitor':
      return `visitor:${principal.visitorId}`;
    default:
      return principal.kind;
  }
}
