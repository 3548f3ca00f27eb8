import type { Preferences } from '../../../../shared/contract/core/identity.ts';
import type { Permission, Product, Role } from '../../../../shared/contract/define.ts';
import { index, integer, pgTable, primaryKey, text, unique, uniqueIndex, uuid } from '../../../platform/db/orm.ts';
import { bytea, createdAt, instant, jsonb, policies, tenantId } from '../../../platform/db/tenancy.ts';

export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    email: text('email').notNull().unique('users_email'),
    passwordHash: text('password_hash').notNull(),
    role: text('role').$type<Role>().notNull(),
    /** Name that visitors see. Null shows a neutral word. */
    displayName: text('display_name'),
    /** What the member changed; see `Preferences` of the contract. */
    preferences: jsonb('preferences').$type<Partial<Preferences>>().notNull().default({}),
    createdAt: createdAt(),
  },
  (table) => [index('users_tenant').on(table.tenantId), ...policies()],
);

/**
 * Pictures of members, visible to visitors and members. A trigger schedules the removal of the file of a deleted row.
 */
export const memberPictures = pgTable(
  'member_pictures',
  {
    userId: uuid('user_id')
      .primaryKey()
      .references(() => users.id, { onDelete: 'cascade' }),
    tenantId: tenantId(),
    /** Random ID, new for each picture, because the public URL contains it. */
    id: uuid('id').notNull().unique('member_pictures_id'),
    contentType: text('content_type').notNull(),
    bytes: integer('bytes').notNull(),
    blobKey: text('blob_key').notNull(),
    createdAt: createdAt(),
  },
  (table) => [index('member_pictures_tenant').on(table.tenantId), ...policies()],
);

export const sessions = pgTable(
  'sessions',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** `User-Agent` of the sign-in, shortened. */
    client: text('client'),
    expiresAt: instant('expires_at').notNull(),
    revokedAt: instant('revoked_at'),
    createdAt: createdAt(),
  },
  (table) => [
    index('sessions_expiry').on(table.expiresAt),
    index('sessions_user').on(table.userId).concurrently(),
    ...policies(),
  ],
);

export const signInCodes = pgTable(
  'sign_in_codes',
  {
    codeHash: bytea('code_hash').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
    createdAt: createdAt(),
  },
  (table) => [
    index('sign_in_codes_expiry').on(table.expiresAt).concurrently(),
    index('sign_in_codes_user').on(table.userId, table.createdAt).concurrently(),
    ...policies(),
  ],
);

/**
 * Browsers that get notifications of a user. A subscription outlives the session that created it, but ends when the
 * session is signed out.
 */
export const pushSubscriptions = pgTable(
  'push_subscriptions',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** The session that created or last renewed the subscription; null after the session has expired. */
    sessionId: uuid('session_id').references(() => sessions.id, { onDelete: 'set null' }),
    /** URL at the push service. A browser has one, so it belongs to the user who subscribed last. */
    endpoint: text('endpoint').notNull().unique('push_subscriptions_endpoint'),
    p256dh: bytea('p256dh').notNull(),
    auth: bytea('auth').notNull(),
    /** `User-Agent` of the browser, shortened. */
    client: text('client'),
    createdAt: createdAt(),
    renewedAt: instant('renewed_at').notNull().defaultNow(),
    /** The first refusal by the push service since it last accepted a message; null without one. */
    refusedSince: instant('refused_since'),
    /** Since when nothing is sent any more, because of the refusals; null while notifications are sent. */
    stoppedAt: instant('stopped_at'),
  },
  (table) => [
    index('push_subscriptions_tenant').on(table.tenantId),
    index('push_subscriptions_user').on(table.userId),
    index('push_subscriptions_session').on(table.sessionId),
    index('push_subscriptions_renewed').on(table.renewedAt),
    ...policies(),
  ],
);

/** Filters of lists in the dashboard that a user saved under a name. */
export const savedFilters = pgTable(
  'saved_filters',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    path: text('path').notNull(),
    name: text('name').notNull(),
    query: text('query').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    unique('saved_filters_name').on(table.userId, table.path, table.name),
    index('saved_filters_tenant').on(table.tenantId),
    ...policies(),
  ],
);

/** Mailed password links. When a user sets a password with one link, all links of the user are deleted. */
export const passwordResets = pgTable(
  'password_resets',
  {
    tokenHash: bytea('token_hash').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('password_resets_expiry').on(table.expiresAt),
    index('password_resets_user').on(table.userId),
    ...policies(),
  ],
);

/** Links with which people join a workspace. An accepted invitation is deleted. */
export const invitations = pgTable(
  'invitations',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    email: text('email').notNull(),
    role: text('role').$type<Role>().notNull(),
    codeHash: bytea('code_hash').notNull().unique('invitations_code'),
    invitedBy: uuid('invited_by')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    uniqueIndex('invitations_email').on(table.tenantId, table.email),
    index('invitations_list').on(table.tenantId, table.id),
    index('invitations_expiry').on(table.expiresAt),
    index('invitations_inviter').on(table.invitedBy),
    ...policies(),
  ],
);

/**
 * Addresses from which a user signed in. Attempts from them stay possible when other addresses exhaust the limit of the
 * account.
 */
export const signInAddresses = pgTable(
  'sign_in_addresses',
  {
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Keyed hash of the address and the user, so that the table reveals no addresses. */
    addressHash: bytea('address_hash').notNull(),
    tenantId: tenantId(),
    usedAt: instant('used_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.addressHash] }),
    index('sign_in_addresses_age').on(table.usedAt),
    ...policies(),
  ],
);

/** Origins of other sites whose pages may call the API of this workspace from a browser. */
export const allowedOrigins = pgTable(
  'allowed_origins',
  {
    tenantId: tenantId(),
    origin: text('origin').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.origin] }),
    index('allowed_origins_origin').on(table.origin),
    ...policies(),
  ],
);

export const apiTokens = pgTable(
  'api_tokens',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    product: text('product').$type<Product>().notNull(),
    environment: text('environment').$type<'live' | 'test'>().notNull(),
    permissions: text('permissions').array().$type<Permission[]>().notNull(),
    keyHint: text('key_hint').notNull(),
    secretHash: bytea('secret_hash').notNull().unique('api_tokens_secret'),
    ipAllowlist: text('ip_allowlist').array().notNull(),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
    lastUsedAt: instant('last_used_at'),
    /** Creator in the notation of the audit log. The creator knows the secret. */
    createdBy: text('created_by'),
    createdAt: createdAt(),
  },
  (table) => [index('api_tokens_tenant').on(table.tenantId, table.id), ...policies()],
);
