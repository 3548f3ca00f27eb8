import { createHash, randomBytes } from 'node:crypto';
import { hash as hashPassword, verify as verifyPassword } from '@node-rs/argon2';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { jwtVerify, SignJWT } from 'jose';
import type { z } from 'zod';
import { identity as resource } from '../../../../shared/contract/core/identity.ts';
import { productPermissions } from '../../../../shared/contract/define.ts';
import type { Entitlement, Role } from '../../../../shared/contract/define.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { isAddressBlock } from '../../../platform/address-block.ts';
import { newApiKey, secretHash } from '../../../platform/api-keys.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import { violatedConstraint } from '../../../platform/db/database.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { tenants } from '../../../platform/db/tenancy.ts';
import type { Events } from '../../../platform/events/events.ts';
import { accessTopic } from '../../../platform/http/principal.ts';
import type { SessionIdentity, TokenIdentity } from '../../../platform/http/principal.ts';
import { newId } from '../../../platform/ids.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import { recordAudit } from '../audit/index.ts';
import { apiTokens, sessions, signInAddresses, signInCodes, users } from './schema.ts';
import { SignInLimits } from './sign-in-limits.ts';
import {
  findAdmin,
  findSession,
  findTenant,
  findUserByEmail,
  hasTenants,
  insertCode,
  insertSession,
  insertTenant,
  insertUser,
  listMembers,
  listTokens,
  listTokensOf,
  redeemCode,
  useToken,
} from './store.ts';
import type { Entitlements, FoundToken, TokenRow, UserRow } from './store.ts';

export interface IdentityDependencies {
  db: Database;
  events: Events;
  cursors: Cursors;
  /** Signs the workspace JWT. */
  sessionKey: Buffer;
  rateLimiter: RateLimiter;
  /** Tries to sign in to one account from one address, in a quarter of an hour. */
  signInsPerWindow: number;
  /** Whether a stranger may make a workspace. */
  signUp: 'closed' | 'open';
  sessionHours: number;
  defaultEntitlements: readonly Entitlement[];
}

type CreateTokenBody = z.output<typeof resource.createApiToken.body>;
type ListMembersQuery = z.output<typeof resource.listMembers.query>;
type ListTokensQuery = z.output<typeof resource.listApiTokens.query>;
type Session = z.input<typeof resource.logIn.response>;

const issuer = 'outrigger';
const codeHours = 24;
/** A hash that no password has; checking against it takes as long as checking a real one. */
const noPassword = '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

const codeHash = (code: string) => createHash('sha256').update(code).digest();

/** Workspaces, people, their sessions and tokens. */
export class Identity {
  readonly #deps: IdentityDependencies;
  readonly #limits: SignInLimits;

  constructor(dependencies: IdentityDependencies) {
    this.#deps = dependencies;
    const { db, rateLimiter, signInsPerWindow: perWindow, sessionKey: key } = dependencies;
    this.#limits = new SignInLimits({ db, rateLimiter, perWindow, key });
  }

  /** @throws AppError `sign_up_closed`, `email_taken`, `workspace_name_taken`. */
  async signUp(
    { email, password, workspaceName }: { email: string; password: string; workspaceName: string },
    address: string,
  ): Promise<Session> {
    if (this.#deps.signUp === 'closed')
      throw new AppError('sign_up_closed', 'Nobody can sign up here; ask whoever runs this hub for a workspace.');
    const passwordHash = await hashPassword(password);
    return this.#unique(() =>
      this.#deps.db.system(async (tx) => {
        const tenantId = await insertTenant(tx, workspaceName, this.#deps.defaultEntitlements);
        const user = await insertUser(tx, { tenantId, email, passwordHash, role: 'admin' });
        await recordAudit(tx, {
          tenantId,
          actor: `user:${user.id}`,
          action: 'workspace.created',
          targetType: 'workspace',
          targetId: tenantId,
          details: { name: workspaceName },
        });
        return this.#begin(tx, user, address);
      }),
    );
  }

  /**
   * @throws AppError `invalid_credentials`, in the same time whether or not there is such an account; `rate_limited` alike for both, after
   * too many tries, until the window ends. Links and sessions go on to work meanwhile, and so do addresses that are known.
   */
  async logIn({ email, password }: { email: string; password: string }, address: string): Promise<Session> {
    await this.#limits.assertMayTry(email, address);
    const user = await this.#deps.db.system((tx) => findUserByEmail(tx, email));
    const correct = await verifyPassword(user?.passwordHash || noPassword, password).catch(() => false);
    if (user === null || !correct)
      throw new AppError('invalid_credentials', 'The email address or the password is wrong.');
    return this.#deps.db.workspace(user.tenantId, (tx) => this.#begin(tx, user, address));
  }

  /** @throws AppError `invalid_credentials` for a code that is unknown, used or older than a day. */
  async redeemLink(code: string, address: string): Promise<Session> {
    return this.#deps.db.system(async (tx) => {
      const user = await redeemCode(tx, codeHash(code));
      if (user === null)
        throw new AppError(
          'invalid_credentials',
          'This sign-in link is wrong, used or too old; make a new one with: npm run outrigger -- link',
        );
      return this.#begin(tx, user, address);
    });
  }

  /** A one-time code that signs the first admin of a workspace in, for a day; with the sixth the oldest ends. @throws AppError `not_found`. */
  async createSignInCode(workspaceName: string): Promise<string> {
    const code = randomBytes(24).toString('base64url');
    await this.#deps.db.system(async (tx) => {
      const tenant = (await findTenant(tx, workspaceName)) ?? (await this.#refuseUnknown(tx, workspaceName));
      const admin = await findAdmin(tx, tenant.id);
      if (admin === null)
        throw new AppError(
          'not_found',
          `The workspace "${tenant.name}" has no admin; add one with: npm run outrigger -- user create --workspace "${tenant.name}" --role admin --email EMAIL`,
        );
      await insertCode(tx, admin, codeHash(code), codeHours);
    });
    return code;
  }

  async logOut({ tenantId, sessionId }: SessionIdentity): Promise<{ signedOut: true }> {
    await this.#deps.db.workspace(tenantId, (tx) =>
      tx
        .update(sessions)
        .set({ revokedAt: sql`now()` })
        .where(eq(sessions.id, sessionId)),
    );
    this.#tellAccess(tenantId);
    return { signedOut: true };
  }

  /** @throws AppError `email_taken`. */
  async addMember(
    tenantId: string,
    { email, password, role }: { email: string; password: string; role: Role },
    actor: string,
  ) {
    const passwordHash = await hashPassword(password);
    return this.#unique(() =>
      this.#deps.db.workspace(tenantId, async (tx) => {
        const user = await insertUser(tx, { tenantId, email, passwordHash, role });
        await recordAudit(tx, {
          tenantId,
          actor,
          action: 'member.added',
          targetType: 'user',
          targetId: user.id,
          details: { email, role },
        });
        return { id: user.id, email, role, createdAt: user.createdAt.toISOString() };
      }),
    );
  }

  /** The people of a workspace, newest first; when each last signed in is for admins. */
  listMembers(tenantId: string, query: ListMembersQuery, role: Role) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.workspace(tenantId, (tx) => listMembers(tx, tenantId, limit, before));
    return readPage(
      this.#deps.cursors,
      `members:${tenantId}`,
      query,
      read,
      ({ lastSignInAt, createdAt, ...member }) => ({
        ...member,
        createdAt: createdAt.toISOString(),
        ...(role === 'admin' ? { lastSignInAt: lastSignInAt?.toISOString() ?? null } : {}),
      }),
    );
  }

  /**
   * Takes a person out of a workspace; their sessions and sign-in links end with this. Keys are the workspace's, and what uses them goes on;
   * but whoever made one may know it, so those that they made and that still work are answered, revoked if that is wanted.
   * @throws AppError `not_found`, `conflict` for the last admin.
   */
  async removeMember(
    tenantId: string,
    whom: { email: string } | { id: string },
    actor: string,
    { revokeKeys = false } = {},
  ): Promise<{ id: string; deleted: true; keys: (ReturnType<typeof presentToken> & { revoked: boolean })[] }> {
    const { id, keys } = await this.#deps.db.workspace(tenantId, async (tx) => {
      // Two removals at once must not each leave the other's admin.
      const members = await tx.select().from(users).where(eq(users.tenantId, tenantId)).orderBy(users.id).for('update');
      const member = members.find((user) =>
        'id' in whom ? user.id === whom.id.toLowerCase() : user.email === whom.email.toLowerCase(),
      );
      if (member === undefined) throw noMember('id' in whom ? `member ${whom.id}` : whom.email);
      if (member.role === 'admin' && members.filter(({ role }) => role === 'admin').length === 1)
        throw new AppError('conflict', `${member.email} is the last admin of this workspace; add another one first.`);
      await tx.delete(users).where(eq(users.id, member.id));
      const known = await listTokensOf(tx, tenantId, `user:${member.id}`);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'member.removed',
        targetType: 'user',
        targetId: member.id,
        details: { email: member.email, role: member.role, keys: known.map((key) => key.id) },
      });
      if (revokeKeys) for (const key of known) await this.#revokeWithin(tx, tenantId, key.id, actor);
      return { id: member.id, keys: known };
    });
    this.#tellAccess(tenantId);
    return { id, deleted: true, keys: keys.map((key) => ({ ...presentToken(key), revoked: revokeKeys })) };
  }

  /** Gives a person another password; their sessions and sign-in links end with this. @throws AppError `not_found`. */
  async setPassword(
    tenantId: string,
    { email, password }: { email: string; password: string },
    actor: string,
  ): Promise<{ id: string; email: string }> {
    const passwordHash = await hashPassword(password);
    const changed = await this.#deps.db.workspace(tenantId, async (tx) => {
      const [user] = await tx
        .update(users)
        .set({ passwordHash })
        .where(and(eq(users.tenantId, tenantId), eq(users.email, email.toLowerCase())))
        .returning({ id: users.id, email: users.email });
      if (user === undefined) throw noMember(email);
      await tx.delete(sessions).where(eq(sessions.userId, user.id));
      await tx.delete(signInCodes).where(eq(signInCodes.userId, user.id));
      await tx.delete(signInAddresses).where(eq(signInAddresses.userId, user.id));
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'member.password_set',
        targetType: 'user',
        targetId: user.id,
        details: { email: user.email },
      });
      return user;
    });
    this.#tellAccess(tenantId);
    return changed;
  }

  /** @throws AppError `validation_failed` for permissions of another product, a bad CIDR block or a time that is past. */
  async createToken(tenantId: string, body: CreateTokenBody, actor: string) {
    checkToken(body);
    const { key, hint, secret } = newApiKey(body.product, body.environment);
    const row = await this.#deps.db.workspace(tenantId, async (tx) => {
      const [inserted] = await tx
        .insert(apiTokens)
        .values({
          id: newId(),
          tenantId,
          name: body.name,
          product: body.product,
          environment: body.environment,
          permissions: [...new Set(body.permissions)],
          keyHint: hint,
          secretHash: secretHash(secret),
          ipAllowlist: body.ipAllowlist ?? [],
          expiresAt: body.expiresAt === undefined ? null : new Date(body.expiresAt),
          createdBy: actor,
        })
        .returning();
      const created = inserted as TokenRow;
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'token.created',
        targetType: 'token',
        targetId: created.id,
        details: { name: body.name, product: body.product, environment: body.environment },
      });
      return created;
    });
    return { ...presentToken(row), key };
  }

  listTokens(tenantId: string, query: ListTokensQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.workspace(tenantId, (tx) => listTokens(tx, tenantId, limit, before));
    return readPage(this.#deps.cursors, `tokens:${tenantId}`, query, read, presentToken);
  }

  /** @throws AppError `not_found`. */
  async revokeToken(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    const wasRevoked = await this.#deps.db.workspace(tenantId, (tx) => this.#revokeWithin(tx, tenantId, id, actor));
    if (!wasRevoked) throw notFound('token', id);
    this.#tellAccess(tenantId);
    return { id, deleted: true };
  }

  async #revokeWithin(tx: Transaction, tenantId: string, id: string, actor: string): Promise<boolean> {
    const revoked = await tx
      .update(apiTokens)
      .set({ revokedAt: sql`now()` })
      .where(and(eq(apiTokens.tenantId, tenantId), eq(apiTokens.id, id), isNull(apiTokens.revokedAt)))
      .returning({ id: apiTokens.id });
    if (revoked.length > 0)
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'token.revoked',
        targetType: 'token',
        targetId: id,
        details: {},
      });
    return revoked.length > 0;
  }

  async readEntitlements(tenantId: string): Promise<Entitlements> {
    const [row] = await this.#deps.db.workspace(tenantId, (tx) =>
      tx.select({ entitlements: tenants.entitlements }).from(tenants).where(eq(tenants.id, tenantId)),
    );
    if (row === undefined) throw new AppError('not_found', `There is no workspace ${tenantId}.`);
    return row.entitlements;
  }

  /** @throws AppError `not_found`. */
  async putEntitlements(tenantId: string, changes: Partial<Entitlements>): Promise<Entitlements> {
    const entitlements = await this.#deps.db.workspace(tenantId, async (tx) => {
      const [row] = await tx
        .update(tenants)
        .set({ entitlements: sql`${tenants.entitlements} || ${JSON.stringify(changes)}::jsonb` })
        .where(eq(tenants.id, tenantId))
        .returning({ entitlements: tenants.entitlements });
      if (row === undefined) throw new AppError('not_found', `There is no workspace ${tenantId}.`);
      await recordAudit(tx, {
        tenantId,
        actor: 'platform',
        action: 'entitlements.changed',
        targetType: 'workspace',
        targetId: tenantId,
        details: changes,
      });
      return row.entitlements;
    });
    this.#tellAccess(tenantId);
    return entitlements;
  }

  /** @throws AppError `invalid_token`, `token_revoked`, `token_expired`. */
  async authenticateToken(secret: string): Promise<TokenIdentity> {
    const found: FoundToken | null = await useToken(this.#deps.db, secretHash(secret));
    if (found === null) throw new AppError('invalid_token', 'This API key is unknown.');
    if (found.revoked) throw new AppError('token_revoked', 'This API key was revoked.');
    if (found.expired) throw new AppError('token_expired', 'This API key has expired.');
    const {
      id,
      tenant_id: tenantId,
      product,
      environment,
      permissions,
      ip_allowlist: ipAllowlist,
      entitlements,
      expires_at: expiresAt,
    } = found;
    return { tokenId: id, tenantId, product, environment, permissions, ipAllowlist, entitlements, expiresAt };
  }

  /** @throws AppError `unauthenticated` when the JWT is not ours, too old or signed out. */
  async authenticateSession(token: string): Promise<SessionIdentity> {
    const sessionId = await this.#verify(token);
    const found = await this.#deps.db.system((tx) => findSession(tx, sessionId), { durable: false });
    if (found === null) throw notSignedIn();
    const { id, email, role, tenantId } = found.user;
    return {
      sessionId,
      tenantId,
      workspaceName: found.workspaceName,
      user: { id, email, role },
      entitlements: found.entitlements,
      expiresAt: found.expiresAt,
    };
  }

  /** Makes the demo workspace on the first start; answers whether it did. */
  async ensureDemoWorkspace(name: string): Promise<boolean> {
    return this.#deps.db.system(async (tx) => {
      await tx.execute(sql`select pg_advisory_xact_lock(hashtext('outrigger demo workspace'))`);
      if (await hasTenants(tx)) return false;
      const tenantId = await insertTenant(tx, name, this.#deps.defaultEntitlements);
      // Nobody knows a password of this account: it is entered by a one-time link.
      await insertUser(tx, { tenantId, email: `admin@${name}.invalid`, passwordHash: '', role: 'admin' });
      return true;
    });
  }

  /** Makes a workspace without a password, for the command line. @throws AppError `workspace_name_taken`. */
  async createWorkspace(name: string): Promise<{ id: string; name: string }> {
    return this.#unique(() =>
      this.#deps.db.system(async (tx) => {
        const id = await insertTenant(tx, name, this.#deps.defaultEntitlements);
        await insertUser(tx, { tenantId: id, email: `admin@${id}.invalid`, passwordHash: '', role: 'admin' });
        await recordAudit(tx, {
          tenantId: id,
          actor: 'cli',
          action: 'workspace.created',
          targetType: 'workspace',
          targetId: id,
          details: { name },
        });
        return { id, name };
      }),
    );
  }

  /** @throws AppError `not_found`, which says how to make it. */
  async findWorkspace(name: string): Promise<{ id: string; name: string }> {
    return this.#deps.db.system(async (tx) => (await findTenant(tx, name)) ?? this.#refuseUnknown(tx, name));
  }

  async #refuseUnknown(tx: Transaction, name: string): Promise<never> {
    const make = `npm run outrigger -- workspace create --name "${name}"`;
    if (await hasTenants(tx)) throw new AppError('not_found', `There is no workspace "${name}"; make it with: ${make}`);
    throw new AppError(
      'not_found',
      `There is no workspace yet: the first start of the hub (npm start) makes "demo" and prints a link to sign in to it. Without a start, make one with: ${make}`,
    );
  }

  #tellAccess(tenantId: string): void {
    void this.#deps.events.publish(accessTopic(tenantId), {});
  }

  async #begin(tx: Transaction, user: UserRow, address: string): Promise<Session> {
    const session = await insertSession(tx, user, this.#deps.sessionHours);
    await this.#limits.remember(tx, user, address);
    const token = await new SignJWT({ tenantId: user.tenantId, role: user.role })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(issuer)
      .setSubject(user.id)
      .setJti(session.id)
      .setIssuedAt()
      .setExpirationTime(Math.floor(session.expiresAt.getTime() / 1000))
      .sign(this.#deps.sessionKey);
    return {
      token,
      expiresAt: session.expiresAt.toISOString(),
      tenantId: user.tenantId,
      user: { id: user.id, email: user.email, role: user.role },
    };
  }

  async #verify(token: string): Promise<string> {
    try {
      const { payload } = await jwtVerify(token, this.#deps.sessionKey, { issuer, algorithms: ['HS256'] });
      if (typeof payload.jti === 'string') return payload.jti;
    } catch (error) {
      throw notSignedIn(error);
    }
    throw notSignedIn();
  }

  async #unique<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === 'users_email')
        throw new AppError('email_taken', 'Somebody has this email address already; sign in instead.', {
          cause: error,
          details: [{ path: 'body.email', message: 'is taken' }],
        });
      if (constraint === 'tenants_name')
        throw new AppError('workspace_name_taken', 'There is a workspace of this name already; choose another.', {
          cause: error,
          details: [{ path: 'body.workspaceName', message: 'is taken' }],
        });
      throw error;
    }
  }
}

function checkToken(body: CreateTokenBody): void {
  const refuse = (path: string, message: string) => {
    throw new AppError('validation_failed', `${path} ${message}.`, { details: [{ path, message }] });
  };
  for (const [index, permission] of body.permissions.entries()) {
    if (!productPermissions[body.product].includes(permission)) {
      refuse(
        `body.permissions[${index}]`,
        `is no permission of ${body.product}; it has ${productPermissions[body.product].join(', ')}`,
      );
    }
  }
  for (const [index, block] of (body.ipAllowlist ?? []).entries()) {
    if (!isAddressBlock(block))
      refuse(`body.ipAllowlist[${index}]`, 'must be an address or a CIDR block, such as 203.0.113.0/24');
  }
  if (body.expiresAt !== undefined && new Date(body.expiresAt).getTime() <= Date.now())
    refuse('body.expiresAt', 'must be in the future');
}

function presentToken(row: TokenRow) {
  const { id, name, product, environment, permissions, keyHint, ipAllowlist } = row;
  return {
    id,
    name,
    product,
    environment,
    permissions,
    keyHint,
    ipAllowlist,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}

function notSignedIn(cause?: unknown): AppError {
  return new AppError('unauthenticated', 'You are not signed in, or your session has ended; sign in again.', { cause });
}

function noMember(name: string): AppError {
  return new AppError('not_found', `There is no ${name.slice(0, 254)} in this workspace.`);
}
