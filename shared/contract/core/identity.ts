import { z } from 'zod';
import {
  deleted,
  id,
  instant,
  invisibleName,
  isVisibleName,
  listQuery,
  memberPicture,
  name,
  named,
  page,
  text,
  timestamp,
} from '../common.ts';
import { defineResource, entitlementNames, entitlementSummaries, permissions, products, roles } from '../define.ts';

const tag = 'Workspaces and people';

export const email = z
  .email('must be an email address')
  .max(254)
  .transform((value) => value.toLowerCase())
  .describe('Email address with which the member signs in, stored in lower case');
export const password = text(12, 256).describe('At least 12 characters');
const role = z.enum(roles, 'must be admin or agent').describe('`admin` manages the workspace; `agent` works in it');

export const session = named(
  'SignedIn',
  z.object({
    token: z.string().describe('The workspace JWT'),
    expiresAt: timestamp,
    tenantId: id.describe('Id of the workspace'),
    user: z
      .object({
        id: id.describe('Id of the member'),
        email: z.string().describe('Email address with which the member signs in'),
        role,
      })
      .describe('Member who is signed in'),
  }),
);

export const displayName = z
  .string()
  .trim()
  .min(1, 'must not be empty; null removes the display name')
  .max(100, 'must have at most 100 characters')
  .refine(isVisibleName, `${invisibleName}; null removes the display name`)
  .refine(
    (value) => value.isWellFormed() && !/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u.test(value),
    'must not contain control characters or characters that change the direction of the text',
  )
  .nullable()
  .describe('Name that visitors and colleagues see instead of your email address; null removes it');

/** Languages of the dashboard. */
export const languages = ['en', 'de', 'ar'] as const;

const preferences = named(
  'Preferences',
  z.strictObject({
    language: z
      .enum(languages, `must be one of ${languages.join(', ')}, or null`)
      .nullable()
      .describe('Language of the dashboard; null takes that of the browser'),
    enterSends: z.boolean().describe('Whether Enter sends a reply in the inbox; otherwise Ctrl+Enter does'),
  }),
);
export type Preferences = z.output<typeof preferences>;

const profile = named(
  'MemberProfile',
  z
    .object({
      id: id.describe('Id of the member'),
      email: z.string().describe('Email address with which the member signs in; visitors never see it'),
      role,
      displayName: z.string().nullable().describe('Name that visitors see; with null, visitors see a neutral word'),
      picture: memberPicture,
      preferences: preferences.describe('How the dashboard behaves for this member'),
      hasPassword: z
        .boolean()
        .describe('Whether the member can sign in with a password; false for an account that only sign-in links open'),
    })
    .describe('The member who is signed in'),
);

const tenantParams = z.strictObject({ tenantId: id });

export const environments = ['live', 'test'] as const;

const environmentDescription =
  'Live Chat: `test` keys see and change only test visitors and conversations. Automations: `test` keys share the data of the workspace. Their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent. They cannot change live workflows, live runs and their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy, live sessions, installed packs). Node commands and model calls are real in both environments';

export const apiToken = named(
  'ApiToken',
  z.object({
    id: id.describe('Id of the key'),
    name: z.string().describe('Display name, at most 200 characters'),
    product: z.enum(products).describe('Product whose API the key can call'),
    environment: z.enum(environments).describe(environmentDescription),
    permissions: z.array(z.enum(permissions)).describe('Permissions of the key'),
    keyHint: z.string().describe('Visible part of the key, without its secret'),
    ipAllowlist: z
      .array(z.string())
      .describe('CIDR blocks or addresses from which the key is accepted; any address when empty'),
    expiresAt: timestamp.nullable(),
    lastUsedAt: timestamp.nullable(),
    createdAt: timestamp,
  }),
);

export const member = named(
  'Member',
  z.object({
    id: id.describe('Id of the member'),
    email: z.string().describe('Email address with which the member signs in; visitors never see it'),
    role,
    displayName: z.string().nullable().describe('Name that visitors see; with null, visitors see a neutral word'),
    picture: memberPicture,
    createdAt: timestamp,
    lastSignInAt: timestamp
      .nullable()
      .optional()
      .describe(
        'Last sign-in; for admins only. Null when there was none in the last six months or since the password was set.',
      ),
  }),
);

const entitlements = named(
  'Entitlements',
  z.strictObject(
    Object.fromEntries(
      entitlementNames.map((entitlement) => [entitlement, z.boolean().describe(entitlementSummaries[entitlement])]),
    ) as Record<(typeof entitlementNames)[number], z.ZodBoolean>,
  ),
);

export const identity = defineResource({
  signUp: {
    tag,
    callers: ['public'],
    method: 'POST',
    path: '/auth/signup',
    summary: 'Create a workspace and its first admin',
    description:
      'Disabled unless the operator sets `SIGN_UP=open`. The operator creates workspaces with `outrigger workspace create` and `outrigger user create`.',
    body: z.strictObject({
      email,
      password,
      workspaceName: name.describe('Name of the new workspace, 1 to 200 characters; unique on the hub'),
    }),
    response: session,
    errors: ['sign_up_closed', 'email_taken', 'workspace_name_taken'],
    ipLimit: 'sign-in',
  },
  logIn: {
    tag,
    callers: ['public'],
    method: 'POST',
    path: '/auth/login',
    summary: 'Sign in',
    description:
      'Returns a JWT that is valid for `SESSION_HOURS` (24 by default). Unknown accounts and wrong passwords get the same error; attempts are limited per account and IP address.',
    body: z.strictObject({ email, password: text(1, 256).describe('Password of the member') }),
    response: session,
    errors: ['invalid_credentials'],
    ipLimit: 'sign-in',
  },
  redeemSignInLink: {
    tag,
    callers: ['public'],
    method: 'POST',
    path: '/auth/link',
    summary: 'Sign in with a one-time link',
    description:
      'A code works once and expires after one day; `outrigger link` creates it. Only the newest five codes of a user are valid.',
    body: z.strictObject({ code: text(1, 200).describe('Code from the one-time link') }),
    response: session,
    errors: ['invalid_credentials'],
    ipLimit: 'sign-in',
  },
  readMe: {
    tag,
    callers: ['session'],
    role: 'agent',
    method: 'GET',
    path: '/auth/me',
    summary: 'Get the signed-in user',
    description: 'Includes your preferences and the id of the workspace, which paths under `/tenants/{tenantId}` need.',
    response: z.object({
      tenantId: id.describe('Id of the workspace'),
      workspaceName: z.string().describe('Name of the workspace'),
      user: profile,
    }),
  },
  updateMe: {
    tag,
    callers: ['session'],
    role: 'agent',
    method: 'PATCH',
    path: '/auth/me',
    summary: 'Update your profile',
    description:
      'Visitors see the display name in chats, also on your earlier messages. Without one, they see a neutral word such as "Support". Live connections show a new name after they reconnect.',
    body: named(
      'UpdateProfile',
      z
        .strictObject({
          displayName: displayName.optional(),
          preferences: preferences.partial().optional().describe('The preferences to change; others stay as they are'),
        })
        .refine((changes) => Object.keys(changes).length > 0, 'must have displayName or preferences'),
      { displayName: 'Ada Lovelace', preferences: { language: 'de' } },
    ),
    response: z.object({ user: profile }),
  },
  renameWorkspace: {
    tag,
    callers: ['session'],
    role: 'admin',
    method: 'PATCH',
    path: '/tenants/{tenantId}',
    summary: 'Rename the workspace',
    description: 'The command line of the hub finds a workspace by its name: scripts must use the new one.',
    params: tenantParams,
    body: named(
      'RenameWorkspace',
      z.strictObject({ name: name.describe('New name, 1 to 200 characters; unique on the hub') }),
      { name: 'Example Ltd' },
    ),
    response: z.object({ id: id.describe('Id of the workspace'), name: z.string().describe('The new name') }),
    errors: ['workspace_name_taken'],
  },
  logOut: {
    tag,
    callers: ['session'],
    role: 'agent',
    method: 'POST',
    path: '/auth/logout',
    summary: 'Sign out',
    description: 'The JWT is revoked immediately, and the push notifications of the browser end.',
    response: z.object({ signedOut: z.literal(true).describe('Always true: the session ended') }),
  },
  changePassword: {
    tag,
    callers: ['session'],
    role: 'agent',
    method: 'POST',
    path: '/auth/password',
    summary: 'Change your password',
    description:
      'Requires the current password. All other sessions, sign-in links and push notifications in other browsers end immediately. Wrong passwords count against the sign-in limit.',
    body: named(
      'ChangePassword',
      z.strictObject({
        currentPassword: text(1, 256).describe('Current password'),
        newPassword: password,
      }),
      { currentPassword: 'correct horse battery', newPassword: 'a longer passphrase' },
    ),
    response: z.object({ changed: z.literal(true).describe('Always true: the new password is valid now') }),
    errors: ['invalid_credentials'],
    ipLimit: 'sign-in',
  },
  addMember: {
    tag,
    callers: ['session'],
    role: 'admin',
    method: 'POST',
    path: '/tenants/{tenantId}/members',
    summary: 'Add a member',
    description:
      'The hub sends no mail, so you must pass the password on; with an invitation, the person chooses it. An email address can belong to only one workspace of the hub.',
    params: tenantParams,
    body: z.strictObject({ email, password, role: role.default('agent') }),
    response: z.object({
      id: id.describe('Id of the new member'),
      email: z.string().describe('Email address with which the member signs in'),
      role,
      createdAt: timestamp,
    }),
    errors: ['email_taken'],
  },
  listMembers: {
    tag,
    callers: ['session'],
    role: 'agent',
    method: 'GET',
    path: '/tenants/{tenantId}/members',
    summary: 'List members',
    description: 'Newest first. Admins also see the last sign-in of each member.',
    params: tenantParams,
    query: listQuery,
    response: page(member),
  },
  changeMember: {
    tag,
    callers: ['session'],
    role: 'admin',
    method: 'PATCH',
    path: '/tenants/{tenantId}/members/{userId}',
    summary: 'Change the role of a member',
    description:
      'The new role takes effect immediately on every process, including existing sessions and live connections. The last admin cannot lose the role (`conflict`).',
    params: z.strictObject({ tenantId: id, userId: id }),
    body: z.strictObject({ role: role.describe('`admin` or `agent`') }),
    response: z.object({
      id: id.describe('Id of the member'),
      email: z.string().describe('Email address with which the member signs in'),
      role,
      createdAt: timestamp,
    }),
    errors: ['conflict'],
  },
  removeMember: {
    tag,
    callers: ['session'],
    role: 'admin',
    method: 'DELETE',
    path: '/tenants/{tenantId}/members/{userId}',
    summary: 'Remove a member',
    description:
      'The member is signed out immediately and their streams end. The last admin cannot be removed (`conflict`). API keys belong to the workspace and stay valid, but the member may know the keys that they created. The response lists those keys; `revokeKeys` revokes them.',
    params: z.strictObject({ tenantId: id, userId: id }),
    query: z.strictObject({
      revokeKeys: z.enum(['true', 'false'], 'must be true or false').default('false'),
    }),
    response: named(
      'RemovedMember',
      deleted.extend({
        keys: z
          .array(apiToken.extend({ revoked: z.boolean().describe('Whether this request revoked the key') }))
          .describe('Valid keys that the member created'),
      }),
    ),
    errors: ['conflict'],
  },
  readToken: {
    tag: 'API tokens',
    callers: ['token'],
    method: 'GET',
    path: '/v1/me',
    summary: 'Get the calling API key',
    description: 'Available to keys of any product, without any entitlement.',
    response: named(
      'OwnToken',
      z.object({
        tenantId: id.describe('Id of the workspace'),
        workspaceName: z.string().describe('Name of the workspace'),
        tokenId: id.describe('Id of the key'),
        product: z.enum(products).describe('Product whose API the key can call'),
        environment: z.enum(environments).describe(environmentDescription),
        permissions: z.array(z.enum(permissions)).describe('Permissions of the key'),
        expiresAt: timestamp.nullable(),
      }),
    ),
  },
  createApiToken: {
    tag: 'API tokens',
    callers: ['session'],
    role: 'admin',
    method: 'POST',
    path: '/tenants/{tenantId}/tokens',
    summary: 'Create an API key',
    description: 'The response is the only one that contains the whole key.',
    params: tenantParams,
    body: named(
      'CreateApiToken',
      z.strictObject({
        name: name.describe('Display name, 1 to 200 characters'),
        product: z.enum(products).describe('Product whose API the key can call'),
        environment: z.enum(environments).default('live').describe(environmentDescription),
        permissions: z
          .array(z.enum(permissions))
          .min(1, 'must name at least one permission')
          .max(10)
          .describe('Permissions of the key, 1 to 10 of those of the product'),
        expiresAt: instant.optional().describe('When the key expires; never when omitted'),
        ipAllowlist: z
          .array(text(1, 60))
          .max(100)
          .optional()
          .describe('CIDR blocks or addresses, IPv4 and IPv6; any address when omitted'),
      }),
    ),
    response: named(
      'CreatedApiToken',
      apiToken.extend({
        tenantId: id.describe('Id of the workspace'),
        key: z.string().describe('The whole key, returned only once'),
      }),
    ),
  },
  listApiTokens: {
    tag: 'API tokens',
    callers: ['session'],
    role: 'admin',
    method: 'GET',
    path: '/tenants/{tenantId}/tokens',
    summary: 'List API keys',
    description:
      'Newest first, including expired keys, without revoked ones. Secrets are never returned; `keyHint` helps to recognize a key.',
    params: tenantParams,
    query: listQuery,
    response: page(apiToken),
  },
  deleteApiToken: {
    tag: 'API tokens',
    callers: ['session'],
    role: 'admin',
    method: 'DELETE',
    path: '/tenants/{tenantId}/tokens/{id}',
    summary: 'Revoke an API key',
    description: 'Takes effect immediately on every process.',
    params: z.strictObject({ tenantId: id, id }),
    response: deleted,
  },
  readEntitlements: {
    tag: 'Entitlements',
    callers: ['session'],
    role: 'agent',
    method: 'GET',
    path: '/growth/entitlements',
    summary: 'Get the entitlements of the workspace',
    description:
      'Returns every entitlement with true or false. Only the operator of the hub can change them, and a change takes effect immediately.',
    response: entitlements,
  },
  putEntitlements: {
    tag: 'Entitlements',
    callers: ['platform'],
    method: 'PUT',
    path: '/tenants/{tenantId}/entitlements',
    summary: 'Set the entitlements of a workspace (platform admin key)',
    description:
      'Without `automations`, nothing starts a run: no key, hook, channel, schedule, event, subagent or error workflow. A run in progress continues until it ends or waits for a person, a node, a time or another run; it then fails with `product_not_entitled`. A step of a product without its entitlement fails with the same code.',
    params: tenantParams,
    body: entitlements.partial(),
    response: entitlements,
  },
});
