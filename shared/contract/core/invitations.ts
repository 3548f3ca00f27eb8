import { z } from 'zod';
import { deleted, id, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource, roles } from '../define.ts';
import { displayName, email, password, session } from './identity.ts';

const tag = 'Workspaces and people';
const tenantParams = z.strictObject({ tenantId: id });
const role = z.enum(roles, 'must be admin or agent').describe('Role of the new member');

export const invitation = named(
  'Invitation',
  z.object({
    id: id.describe('Id of the invitation'),
    email: z.string().describe('Email address with which the new member will sign in'),
    role,
    invitedBy: id.describe('Id of the admin who invited'),
    expiresAt: timestamp,
    createdAt: timestamp,
  }),
);

export const invitations = defineResource({
  inviteMember: {
    tag,
    callers: ['session'],
    role: 'admin',
    method: 'POST',
    path: '/tenants/{tenantId}/invitations',
    summary: 'Invite a member by link',
    description:
      'Returns a link that works once and expires after 7 days. The invited person opens it, chooses a password and is signed in. Only this response contains the link; the hub keeps a hash. A second invitation of the same address replaces the first. The link stops working when the admin who created it is removed or becomes an agent.',
    params: tenantParams,
    body: named('InviteMember', z.strictObject({ email, role: role.default('agent') }), {
      email: 'bob@example.com',
      role: 'agent',
    }),
    response: named(
      'NewInvitation',
      invitation.extend({ url: z.url().describe('The link. Anyone who has it can join the workspace') }),
    ),
    errors: ['email_taken', 'workspace_limit_reached'],
  },
  listInvitations: {
    tag,
    callers: ['session'],
    role: 'admin',
    method: 'GET',
    path: '/tenants/{tenantId}/invitations',
    summary: 'List open invitations',
    description: 'Newest first. Accepted, revoked and expired invitations are not listed.',
    params: tenantParams,
    query: listQuery,
    response: page(invitation),
  },
  revokeInvitation: {
    tag,
    callers: ['session'],
    role: 'admin',
    method: 'DELETE',
    path: '/tenants/{tenantId}/invitations/{id}',
    summary: 'Revoke an invitation',
    description: 'The link stops working immediately. An accepted invitation is not found; remove the member instead.',
    params: z.strictObject({ tenantId: id, id }),
    response: deleted,
  },
  acceptInvitation: {
    tag,
    callers: ['public'],
    method: 'POST',
    path: '/auth/invitation',
    summary: 'Accept an invitation',
    description: 'Creates the account of the invited person and signs it in. The page behind the link does the same.',
    body: named(
      'AcceptInvitation',
      z.strictObject({
        code: text(1, 200).describe('The `code` in the address of the link'),
        password: password.describe('Password of the new account, with at least 12 characters'),
        displayName: displayName.optional(),
      }),
      { code: 'p2KkVb0mTg3Jw6uXh1R9cQ7sYdN4eZaL5oFiBtMxW8E', password: 'a longer passphrase' },
    ),
    response: session,
    errors: ['invalid_credentials', 'email_taken'],
    ipLimit: 'sign-in',
  },
});
