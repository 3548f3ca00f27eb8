import { z } from 'zod';
import { deleted, id, instant, listQuery, memberPicture, name, named, page, text, timestamp } from '../common.ts';
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

const displayName = z
  .string()
  .trim()
  .min(1, 'must not be empty; null removes the display name')
  .max(100, 'must have at most 100 characters')
  .refine(
    (value) => value.isWellFormed() && !/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u.test(value),
    'must not hold control characters or characters that change the direction of the text',
  )
  .nullable()
  .describe('What visitors and colleagues see instead of your email address; null removes it');

const profile = named(
  'MemberProfile',
  z
    .object({
      id: id.describe('Id of the member'),
      email: z.string().describe('Email address with which the member signs in; visitors never see it'),
      role,
      displayName: z.string().nullable().describe('What visitors see of you; null shows a neutral word'),
      picture: memberPicture,
    })
    .describe('The member who is signed in'),
);

const tenantParams = z.strictObject({ tenantId: id });

export const environments = ['live', 'test'] as const;

const environmentDescription =
  '`test` keys of Live Chat see and change test visitors and conversations only. `test` keys of Automations share the data of the workspace: their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent, and they cannot change live workflows, live runs, their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy). Commands of nodes and calls of models are real in both environments';

export const apiToken = named(
  'ApiToken',
  z.object({
    id: id.describe('Id of the key'),
    name: z.string().describe('Label for people, at most 200 characters'),
    product: z.enum(products).describe('Product whose API the key can call'),
    environment: z.enum(environments).describe(environmentDescription),
    permissions: z.array(z.enum(permissions)).describe('What the key may do'),
    keyHint: z.string().describe('The key without its secret'),
    ipAllowlist: z
      .array(z.string())
      .describe('CIDR blocks or addresses that may use the key; every address when empty'),
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
    displayName: z.string().nullable().describe('What visitors see of the member; null shows a neutral word'),
    picture: memberPicture,
    createdAt: timestamp,
    lastSignInAt: timestamp
      .nullable()
      .optional()
      .describe(
        'For admins only. Null where no sign-in is remembered: within half a year, or since the password was set.',
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
    summary: 'Make a workspace and its first admin',
    description:
      'Closed unless the operator opens it with `SIGN_UP=open`; the operator makes workspaces with `outrigger workspace create` and `outrigger user create`.',
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
    summary: 'Sign in with the code of a one-time link',
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
    summary: 'Who is signed in',
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
    summary: 'Change your own profile',
    description:
      'Visitors see the display name in chats, with your past messages as well; without one they see a neutral word such as "Support". Live connections show it after they reconnect.',
    body: z.strictObject({ displayName }),
    response: z.object({ user: profile }),
  },
  logOut: {
    tag,
    callers: ['session'],
    role: 'agent',
    method: 'POST',
    path: '/auth/logout',
    summary: 'Sign out: the JWT stops working at once',
    response: z.object({ signedOut: z.literal(true).describe('Always true: the session ended') }),
  },
  changePassword: {
    tag,
    callers: ['session'],
    role: 'agent',
    method: 'POST',
    path: '/auth/password',
    summary: 'Change your own password',
    description:
      'Requires the current password. All other sessions and sign-in links of the user end at once. Wrong passwords count as sign-ins.',
    body: named(
      'ChangePassword',
      z.strictObject({
        currentPassword: text(1, 256).describe('The password that is valid now'),
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
    summary: 'Add a person to the workspace',
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
    summary: 'List the people of the workspace',
    description: 'The newest first. Admins also see when each of them last signed in.',
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
      'The new role applies at once on every process, also to sessions and live connections. The last admin keeps the role: `conflict`.',
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
    summary: 'Take a person out of the workspace',
    description:
      'They are signed out at once, and what they follow live ends. The last admin stays: `conflict`. Keys are the workspace’s and go on working, but whoever made one may know it: the answer names those that they made and that still work, and `revokeKeys` revokes them as well.',
    params: z.strictObject({ tenantId: id, userId: id }),
    query: z.strictObject({
      revokeKeys: z.enum(['true', 'false'], 'must be true or false').default('false'),
    }),
    response: named(
      'RemovedMember',
      deleted.extend({
        keys: z
          .array(apiToken.extend({ revoked: z.boolean().describe('Whether this request revoked the key') }))
          .describe('Keys that they made and that worked'),
      }),
    ),
    errors: ['conflict'],
  },
  readToken: {
    tag: 'API tokens',
    callers: ['token'],
    method: 'GET',
    path: '/v1/me',
    summary: 'What this key is and may do',
    description: 'For a key of any product, whatever the workspace is entitled to.',
    response: named(
      'OwnToken',
      z.object({
        tenantId: id.describe('Id of the workspace'),
        workspaceName: z.string().describe('Name of the workspace'),
        tokenId: id.describe('Id of the key'),
        product: z.enum(products).describe('Product whose API the key can call'),
        environment: z.enum(environments).describe(environmentDescription),
        permissions: z.array(z.enum(permissions)).describe('What the key may do'),
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
    summary: 'Create an API token',
    description: 'The key is in this answer only.',
    params: tenantParams,
    body: named(
      'CreateApiToken',
      z.strictObject({
        name: name.describe('Label for people, 1 to 200 characters'),
        product: z.enum(products).describe('Product whose API the key can call'),
        environment: z.enum(environments).default('live').describe(environmentDescription),
        permissions: z
          .array(z.enum(permissions))
          .min(1, 'must name at least one permission')
          .max(10)
          .describe('What the key may do, 1 to 10 of the permissions of the product'),
        expiresAt: instant.optional().describe('Time from which the key is refused; it never expires when left out'),
        ipAllowlist: z.array(text(1, 60)).max(100).optional().describe('CIDR blocks or addresses, IPv4 and IPv6'),
      }),
    ),
    response: named(
      'CreatedApiToken',
      apiToken.extend({
        tenantId: id.describe('Id of the workspace'),
        key: z.string().describe('The whole key, shown only in this answer'),
      }),
    ),
  },
  listApiTokens: {
    tag: 'API tokens',
    callers: ['session'],
    role: 'admin',
    method: 'GET',
    path: '/tenants/{tenantId}/tokens',
    summary: 'List API tokens',
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
    summary: 'Revoke an API token, at once and everywhere',
    params: z.strictObject({ tenantId: id, id }),
    response: deleted,
  },
  readEntitlements: {
    tag: 'Entitlements',
    callers: ['session'],
    role: 'agent',
    method: 'GET',
    path: '/growth/entitlements',
    summary: 'What this workspace is entitled to',
    response: entitlements,
  },
  putEntitlements: {
    tag: 'Entitlements',
    callers: ['platform'],
    method: 'PUT',
    path: '/tenants/{tenantId}/entitlements',
    summary: 'Set what a workspace is entitled to (platform admin key)',
    description:
      'Without `automations` nothing starts a run any more: no key, hook, channel, schedule, event, subagent or error workflow. A run under way goes on to its end or to where it next waits (for a person, a node, a time or another run), and fails there with `product_not_entitled`; a step of a product that was taken away fails likewise.',
    params: tenantParams,
    body: entitlements.partial(),
    response: entitlements,
  },
});
