import { entitlementNames } from '../../../../shared/contract/define.ts';
import type { Entitlement, Permission, Product, Role } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, gt, isNull, lt, sql } from '../../../platform/db/orm.ts';
import { tenants } from '../../../platform/db/tenancy.ts';
import { newId } from '../../../platform/ids.ts';
import { apiTokens, memberPictures, sessions, signInCodes, users } from './schema.ts';

export type Entitlements = Record<Entitlement, boolean>;
export type UserRow = typeof users.$inferSelect;
export type TokenRow = typeof apiTokens.$inferSelect;

export async function insertTenant(tx: Transaction, name: string, entitled: readonly Entitlement[]): Promise<string> {
  const id = newId();
  const entitlements = Object.fromEntries(
    entitlementNames.map((entitlement) => [entitlement, entitled.includes(entitlement)]),
  ) as Entitlements;
  await tx.insert(tenants).values({ id, name, entitlements });
  return id;
}

export async function findTenant(tx: Transaction, name: string): Promise<{ id: string; name: string } | null> {
  const [row] = await tx
    .select({ id: tenants.id, name: tenants.name })
    .from(tenants)
    .where(sql`lower(${tenants.name}) = lower(${name})`);
  return row ?? null;
}

export async function hasTenants(tx: Transaction): Promise<boolean> {
  return (await tx.select({ id: tenants.id }).from(tenants).limit(1)).length > 0;
}

export async function insertUser(
  tx: Transaction,
  user: { tenantId: string; email: string; passwordHash: string; role: Role; displayName?: string | null },
): Promise<UserRow> {
  const [row] = await tx
    .insert(users)
    .values({ id: newId(), ...user })
    .returning();
  return row as UserRow;
}

export async function findUserByEmail(tx: Transaction, email: string): Promise<UserRow | null> {
  const [row] = await tx.select().from(users).where(eq(users.email, email));
  return row ?? null;
}

export async function findAdmin(tx: Transaction, tenantId: string): Promise<UserRow | null> {
  const [row] = await tx
    .select()
    .from(users)
    .where(and(eq(users.tenantId, tenantId), eq(users.role, 'admin')))
    .orderBy(users.id)
    .limit(1);
  return row ?? null;
}

export const findMember = (tx: Transaction, tenantId: string, email: string | undefined) =>
  tx
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.tenantId, tenantId), email === undefined ? undefined : eq(users.email, email)))
    .orderBy(sql`${users.role} <> 'admin'`, users.id)
    .limit(1);

/** Members of a workspace, newest first, with the last sign-in as recorded by sessions and addresses. */
export async function listMembers(tx: Transaction, tenantId: string, limit: number, before: string | undefined) {
  return tx
    .select({
      id: users.id,
      email: users.email,
      role: users.role,
      displayName: users.displayName,
      pictureId: memberPictures.id,
      createdAt: users.createdAt,
      // An address is updated at most once a day, and ended sessions are deleted.
      lastSignInAt: sql<Date | null>`greatest((select max(used_at) from sign_in_addresses where user_id = users.id),
        (select max(created_at) from sessions where user_id = users.id))`.mapWith(sessions.createdAt),
    })
    .from(users)
    .leftJoin(memberPictures, eq(memberPictures.userId, users.id))
    .where(and(eq(users.tenantId, tenantId), before === undefined ? undefined : lt(users.id, before)))
    .orderBy(desc(users.id))
    .limit(limit);
}

export async function insertSession(
  tx: Transaction,
  user: UserRow,
  { hours, client }: { hours: number; client: string | null },
): Promise<{ id: string; expiresAt: Date }> {
  const [row] = await tx
    .insert(sessions)
    .values({
      id: newId(),
      tenantId: user.tenantId,
      userId: user.id,
      client,
      expiresAt: sql`now() + make_interval(hours => ${hours})`,
    })
    .returning({ id: sessions.id, expiresAt: sessions.expiresAt });
  return row as { id: string; expiresAt: Date };
}

/**
 * Reads a user and locks the row until the transaction ends. A change of the password, of the role or of the membership
 * waits for the lock, and the reader waits for a change in progress.
 */
export async function lockUser(tx: Transaction, id: string): Promise<UserRow | null> {
  const [row] = await tx.select().from(users).where(eq(users.id, id)).for('share');
  return row ?? null;
}

/**
 * Locks the user who creates a key or an account, so that the removal or the demotion of the user either waits for the
 * transaction or prevents it. Other actors are not checked.
 * @throws AppError `unauthenticated`, `role_required`.
 */
export async function assertStillAdmin(tx: Transaction, actor: string): Promise<void> {
  const [kind, userId] = actor.split(':');
  if (kind !== 'user' || userId === undefined) return;
  const user = await lockUser(tx, userId);
  if (user === null) throw new AppError('unauthenticated', 'You are no longer a member of this workspace.');
  if (user.role !== 'admin') throw new AppError('role_required', 'This requires the role admin.');
}

/** Redeems a one-time code. Null if the code is unknown, used or expired. */
export async function redeemCode(tx: Transaction, codeHash: Buffer): Promise<UserRow | null> {
  const valid = and(
    eq(signInCodes.codeHash, codeHash),
    isNull(signInCodes.usedAt),
    gt(signInCodes.expiresAt, sql`now()`),
  );
  const [found] = await tx.select({ userId: signInCodes.userId }).from(signInCodes).where(valid);
  if (found === undefined) return null;
  // A change of the password locks the user before it deletes the codes, so this order avoids a deadlock.
  const user = await lockUser(tx, found.userId);
  const used = await tx
    .update(signInCodes)
    .set({ usedAt: sql`now()` })
    .where(valid)
    .returning({ userId: signInCodes.userId });
  return used.length === 0 ? null : user;
}

/** Valid sign-in codes per user. */
const keptCodes = 5;

/** Stores a one-time code. Only the newest codes of a user stay valid. */
export async function insertCode(tx: Transaction, user: UserRow, codeHash: Buffer, hours: number): Promise<void> {
  await tx.insert(signInCodes).values({
    codeHash,
    tenantId: user.tenantId,
    userId: user.id,
    expiresAt: sql`now() + make_interval(hours => ${hours})`,
  });
  await tx.query(
    'prune_codes',
    'DELETE FROM sign_in_codes WHERE code_hash = ANY(ARRAY(SELECT code_hash FROM sign_in_codes WHERE user_id = $1 AND code_hash <> $2 ORDER BY created_at DESC OFFSET $3))',
    [user.id, codeHash, keptCodes - 1],
  );
}

export async function listTokens(
  tx: Transaction,
  tenantId: string,
  limit: number,
  before: string | undefined,
): Promise<TokenRow[]> {
  return tx
    .select()
    .from(apiTokens)
    .where(
      and(
        eq(apiTokens.tenantId, tenantId),
        isNull(apiTokens.revokedAt),
        before === undefined ? undefined : lt(apiTokens.id, before),
      ),
    )
    .orderBy(desc(apiTokens.id))
    .limit(limit);
}

/** Active tokens of a creator, newest first. */
export async function listTokensOf(tx: Transaction, tenantId: string, createdBy: string): Promise<TokenRow[]> {
  return tx
    .select()
    .from(apiTokens)
    .where(
      and(
        eq(apiTokens.tenantId, tenantId),
        eq(apiTokens.createdBy, createdBy),
        isNull(apiTokens.revokedAt),
        sql`coalesce(${apiTokens.expiresAt} > now(), true)`,
      ),
    )
    .orderBy(desc(apiTokens.id));
}

/** The data of a token that authenticates a request. */
export interface FoundToken {
  [column: string]: unknown;
  id: string;
  tenant_id: string;
  product: Product;
  environment: 'live' | 'test';
  permissions: Permission[];
  ip_allowlist: string[];
  expired: boolean;
  revoked: boolean;
  entitlements: Entitlements;
  expires_at: Date | null;
}

/**
 * Finds tokens by hash. The result is keyed by the hex hash.
 * The time of use is updated afterwards, at most once a minute per token, so that no request waits for it.
 */
export async function useTokens(db: Database, hashes: readonly Buffer[]): Promise<Map<string, FoundToken>> {
  const rows = await db.systemStatement<FoundToken & { hash: string; is_stale: boolean }>(
    'find_tokens',
    // JSON instead of an array: PostgreSQL plans the statement without an array length, so it can cache the plan.
    `SELECT g.hash, k.id, k.tenant_id, k.product, k.environment, k.permissions, k.ip_allowlist, k.expires_at, coalesce(k.expires_at <= now(), false) AS expired,
       k.revoked_at IS NOT NULL AS revoked, t.entitlements, coalesce(k.last_used_at < now() - interval '1 minute', true) AS is_stale
     FROM (SELECT value AS hash FROM jsonb_array_elements_text($1::jsonb)) g
     CROSS JOIN LATERAL (SELECT * FROM api_tokens WHERE secret_hash = decode(g.hash, 'hex') LIMIT 1) k JOIN tenants t ON t.id = k.tenant_id`,
    [JSON.stringify(hashes.map((hash) => hash.toString('hex')))],
  );
  const stale = rows.flatMap(({ id, is_stale: isStale }) => (isStale ? [id] : []));
  if (stale.length > 0) noteUse(db, stale).catch(() => undefined);
  return new Map(rows.map(({ hash, is_stale: _isStale, ...token }) => [hash, token as FoundToken]));
}

/** Skips rows locked by concurrent changes. A later request updates them, also after a failure. */
const noteUse = (db: Database, ids: readonly string[]) =>
  db.systemStatement(
    'note_tokens_used',
    `UPDATE api_tokens SET last_used_at = now()
     FROM (SELECT id FROM api_tokens WHERE id = ANY($1::uuid[]) AND coalesce(last_used_at < now() - interval '1 minute', true) FOR NO KEY UPDATE SKIP LOCKED) free WHERE api_tokens.id = free.id`,
    [ids],
  );

/** The data of a session that authenticates a request. */
export interface FoundSession {
  [column: string]: unknown;
  tenant_id: string;
  workspace_name: string;
  entitlements: Entitlements;
  expires_at: Date;
  user_id: string;
  email: string;
  role: Role;
  display_name: string | null;
}

/** Finds a session that has not ended, with its user. */
export async function findSession(db: Database, id: string): Promise<FoundSession | null> {
  const rows = await db.systemStatement<FoundSession>(
    'find_session',
    `SELECT u.tenant_id, t.name AS workspace_name, t.entitlements, s.expires_at, u.id AS user_id, u.email, u.role, u.display_name
     FROM sessions s JOIN users u ON u.id = s.user_id JOIN tenants t ON t.id = s.tenant_id
     WHERE s.id = $1 AND s.revoked_at IS NULL AND s.expires_at > now()`,
    [id],
  );
  return rows[0] ?? null;
}

/** Finds those of many sessions that have not ended. */
export const findSessions = (db: Database, ids: readonly string[]): Promise<(FoundSession & { id: string })[]> =>
  db.systemStatement(
    'find_sessions',
    `SELECT s.id, u.tenant_id, t.name AS workspace_name, t.entitlements, s.expires_at, u.id AS user_id, u.email, u.role, u.display_name
     FROM sessions s JOIN users u ON u.id = s.user_id JOIN tenants t ON t.id = s.tenant_id
     WHERE s.id = ANY ($1::uuid[]) AND s.revoked_at IS NULL AND s.expires_at > now()`,
    [ids],
  );
