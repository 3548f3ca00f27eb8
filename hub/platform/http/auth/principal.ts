import type { Entitlement, Permission, Product, Role } from '../../../../shared/contract/define.ts';
import type { Publisher } from '../../events/events.ts';

/** An authenticated API key. */
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

/** A signed-in user. */
export interface SessionIdentity {
  sessionId: string;
  tenantId: string;
  workspaceName: string;
  user: { id: string; email: string; role: Role; displayName: string | null };
  entitlements: Record<Entitlement, boolean>;
  expiresAt: Date;
}

/** An authenticated device. */
export interface DeviceIdentity {
  tenantId: string;
  nodeId: string;
  /** Base64; compared when the device is verified again. */
  secretHash: string;
}

/** An authenticated session of a chat visitor. */
export interface VisitorIdentity {
  sessionId: string;
  tenantId: string;
  visitorId: string;
  conversationId: string;
  environment: 'live' | 'test';
  expiresAt: Date;
}

/** The caller of an operation. */
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

/** Topic of access changes: a key, a session or an entitlement of the workspace may have ended. */
export const accessTopic = (tenantId: string) => `access:${tenantId}`;

/** Publishes an access change. Pass the transaction that changes the access. */
export const publishAccessChange = (to: Publisher, tenantId: string): void => to.publish(accessTopic(tenantId), {});

/** The actor and environment of a run or a change. Signed-in users act in the live environment. */
export function runCallerOf(principal: Principal): { actor: string; environment: 'live' | 'test' } {
  return { actor: actorOf(principal), environment: principal.kind === 'token' ? principal.environment : 'live' };
}

/**
 * The owner that received bytes count for: the workspace, or one owner for all callers of a kind. Anyone can become a
 * visitor or call without a credential, and must not use the memory of workspaces.
 */
export const memoryOwnerOf = (principal: Principal): string =>
  principal.kind === 'visitor' || !('tenantId' in principal) ? principal.kind : principal.tenantId;

/** Name of a caller in audit entries. */
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
