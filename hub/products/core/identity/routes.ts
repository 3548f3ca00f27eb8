import type { IncomingHttpHeaders } from 'node:http';
import { originResource } from '../../../../shared/contract/core/allowed-origins.ts';
import { identity as resource } from '../../../../shared/contract/core/identity.ts';
import { invitations as invitationResource } from '../../../../shared/contract/core/invitations.ts';
import { ownSessions as ownSessionResource } from '../../../../shared/contract/core/own-sessions.ts';
import { passwordResetResource } from '../../../../shared/contract/core/password-resets.ts';
import { push as pushResource } from '../../../../shared/contract/core/push.ts';
import { savedFilters as savedFilterResource } from '../../../../shared/contract/core/saved-filters.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Identity } from './index.ts';
import type { Invitations } from './invitations.ts';
import type { OwnSessions } from './own-sessions.ts';
import type { PasswordResets } from './password-resets.ts';
import type { PushSubscriptions } from './push-subscriptions.ts';
import type { SavedFilters } from './saved-filters.ts';
import type { SignInOrigin } from './service.ts';

const originOf = ({ address, headers }: { address: string; headers: IncomingHttpHeaders }): SignInOrigin => ({
  address,
  userAgent: headers['user-agent'],
});

export const identityRoutes = (identity: Identity) =>
  implement(resource, {
    signUp: ({ body, ...request }) => identity.signUp(body, originOf(request)),
    logIn: ({ body, ...request }) => identity.logIn(body, originOf(request)),
    redeemSignInLink: ({ body, ...request }) => identity.redeemLink(body.code, originOf(request)),
    readMe: async ({ principal: { tenantId, workspaceName, user } }) => ({
      tenantId,
      workspaceName,
      user: await identity.members.profile(tenantId, user.id),
    }),
    updateMe: ({ principal, body }) => identity.members.updateProfile(principal.tenantId, principal.user.id, body),
    renameWorkspace: ({ principal, body }) => identity.rename(principal.tenantId, body.name, actorOf(principal)),
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

export const invitationRoutes = (invitations: Invitations) =>
  implement(invitationResource, {
    inviteMember: ({ principal, body, baseUrl }) =>
      invitations.create(principal.tenantId, body, { userId: principal.user.id, baseUrl }),
    listInvitations: ({ principal, query }) => invitations.list(principal.tenantId, query),
    revokeInvitation: ({ principal, params }) => invitations.revoke(principal.tenantId, params.id, actorOf(principal)),
    acceptInvitation: ({ body, ...request }) => invitations.accept(body, originOf(request)),
  });

export const ownSessionRoutes = (sessions: OwnSessions) =>
  implement(ownSessionResource, {
    listOwnSessions: ({ principal, query }) => sessions.list(principal, query),
    endOwnSession: ({ principal, params }) => sessions.end(principal, params.id),
    endOtherOwnSessions: ({ principal }) => sessions.endOthers(principal),
  });

export const pushRoutes = (subscriptions: PushSubscriptions) =>
  implement(pushResource, {
    readPushState: ({ principal }) => subscriptions.read(principal),
    createPushSubscription: ({ principal, body, headers }) =>
      subscriptions.create(principal, body, headers['user-agent']),
    renewPushSubscription: ({ principal, body, headers }) =>
      subscriptions.renew(principal, body, headers['user-agent']),
    deletePushSubscription: ({ principal, params }) => subscriptions.remove(principal, params.id),
  });

export const savedFilterRoutes = (filters: SavedFilters) =>
  implement(savedFilterResource, {
    readSavedFilters: ({ principal }) => filters.read(principal),
    saveFilter: ({ principal, body }) => filters.save(principal, body),
    deleteSavedFilter: ({ principal, params }) => filters.remove(principal, params.id),
  });
