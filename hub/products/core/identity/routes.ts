import { originResource } from '../../../../shared/contract/core/allowed-origins.ts';
import { identity as resource } from '../../../../shared/contract/core/identity.ts';
import { passwordResetResource } from '../../../../shared/contract/core/password-resets.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Identity } from './index.ts';
import type { PasswordResets } from './password-resets.ts';

export const identityRoutes = (identity: Identity) =>
  implement(resource, {
    signUp: ({ body, address }) => identity.signUp(body, address),
    logIn: ({ body, address }) => identity.logIn(body, address),
    redeemSignInLink: ({ body, address }) => identity.redeemLink(body.code, address),
    readMe: async ({ principal: { tenantId, workspaceName, user } }) => ({
      tenantId,
      workspaceName,
      user: { ...user, picture: await identity.members.picture(tenantId, user.id) },
    }),
    updateMe: ({ principal, body }) => identity.members.updateProfile(principal.tenantId, principal.user.id, body),
    logOut: ({ principal }) => identity.logOut(principal),
    changePassword: ({ principal, body, address }) => identity.passwords.change(principal, body, address),
    addMember: ({ principal, body }) => identity.members.add(principal.tenantId, body, actorOf(principal)),
    listMembers: ({ principal, query }) => identity.members.list(principal.tenantId, query, principal.user.role),
    changeMember: ({ principal, params, body }) =>
      identity.members.setRole(principal.tenantId, params.userId, body.role, actorOf(principal)),
    removeMember: ({ principal, params, query }) =>
      identity.members.remove(principal.tenantId, { id: params.userId }, actorOf(principal), {
        revokeKeys: query.revokeKeys === 'true',
      }),
    readToken: ({ principal }) => identity.tokens.show(principal),
    createApiToken: ({ principal, body }) => identity.tokens.create(principal.tenantId, body, actorOf(principal)),
    listApiTokens: ({ principal, query }) => identity.tokens.list(principal.tenantId, query),
    deleteApiToken: ({ principal, params }) =>
      identity.tokens.revoke(principal.tenantId, params.id, actorOf(principal)),
    readEntitlements: ({ principal }) => identity.readEntitlements(principal.tenantId),
    putEntitlements: ({ params, body }) => identity.putEntitlements(params.tenantId, body),
  });

export const originRoutes = (identity: Identity) =>
  implement(originResource, {
    getAllowedOrigins: ({ principal }) => identity.origins.list(principal.tenantId),
    putAllowedOrigins: ({ principal, body }) =>
      identity.origins.set(principal.tenantId, body.origins, actorOf(principal)),
  });

export const passwordResetRoutes = (resets: PasswordResets) =>
  implement(passwordResetResource, {
    requestPasswordReset: ({ body }) => resets.request(body.email),
    resetPassword: ({ body }) => resets.reset(body),
  });
